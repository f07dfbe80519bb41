/* Converts the reply to `inspect` (SPEC 10.8) into an lk_info. */
#ifndef LKI_INSPECT_H
#define LKI_INSPECT_H

#include "base/error.h"

#include <hiredis/hiredis.h>

/* What the reply does not say; it is copied. */
typedef struct {
    const char *name;   /* of the lock */
    const char *server; /* the address of the server that replied */
} lki_inspected;

/* The info is one block of memory: free it with lki_free. LK_NOMEM; LK_INTERNAL: invalid reply. */
lk_status lki_inspect_read(const redisReply *, const lki_inspected *, lk_info **out, lki_error *);

#endif
