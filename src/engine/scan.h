/* Lists the names of the locks on a server, with SCAN over their first keys. */
#ifndef LKI_SCAN_H
#define LKI_SCAN_H

#include "engine/form.h"

#include <hiredis/hiredis.h>

enum { LKI_CURSOR_SIZE = 24 };

/* Writes one SCAN, from a cursor ("0": start), for names that begin with `start` (may be empty). */
lki_sent lki_scan(lki_bytes *, const char *prefix, const char *cursor, const char *start,
                  size_t start_length);

/*
 * Calls `each` with every name in the reply, and sets the cursor of the next SCAN ("0": no more).
 * If `each` fails, returns its status. LK_INTERNAL: invalid reply.
 */
typedef lk_status lki_scan_fn(void *arg, const char *name, lki_error *);
lk_status lki_scan_read(const redisReply *, const char *prefix, char cursor[LKI_CURSOR_SIZE],
                        lki_scan_fn *each, void *arg, lki_error *);

#endif
