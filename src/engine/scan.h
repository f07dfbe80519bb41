/* The names of all locks of a server, by SCAN over their first keys. */
#ifndef LKI_SCAN_H
#define LKI_SCAN_H

#include "engine/form.h"

#include <hiredis/hiredis.h>

enum { LKI_CURSOR_SIZE = 24 };

/* One step, from a cursor ("0": the first); names begin with `start` (its length may be 0). */
lki_sent lki_scan(lki_bytes *, const char *prefix, const char *cursor, const char *start,
                  size_t start_length);

/*
 * Calls `each` with every name in the answer, and moves the cursor ("0": that was all). LK_INTERNAL:
 * the answer makes no sense. Any other status than LK_OK is that of `each`, which ends the reading.
 */
typedef lk_status lki_scan_fn(void *arg, const char *name, lki_error *);
lk_status lki_scan_read(const redisReply *, const char *prefix, char cursor[LKI_CURSOR_SIZE],
                        lki_scan_fn *each, void *arg, lki_error *);

#endif
