/* What `inspect` answers (SPEC 10.8), made into an lk_info. */
#ifndef LKI_INSPECT_H
#define LKI_INSPECT_H

#include "base/error.h"

#include <hiredis/hiredis.h>

/* LK_NOMEM, LK_INTERNAL. The info is one piece of memory: lki_free ends it. */
lk_status lki_inspect_read(const redisReply *, const char *name, lk_info **out, lki_error *);

#endif
