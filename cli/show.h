/* A lock as `ls`, `inspect` and others show it: words for tables, objects for --json. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "latchkey.h"

#include <jansson.h>

/* "read", "write", or "-" when nobody holds it. */
const char *show_mode(const lk_info *);
int64_t show_oldest_wait_ms(const lk_info *); /* 0: nobody waits */

/* The fields that one line of --json has. NULL: no memory, or a name that is no UTF-8. */
json_t *show_summary(const lk_info *);
json_t *show_everything(const lk_info *);

/* One object, one line; frees it. Returns 0, or the code to end with. */
int show_json(json_t *);

#endif
