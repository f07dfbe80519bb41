/* What `ls`, `inspect` and others show of a lock: words for tables, objects for --json. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "latchkey.h"

#include <jansson.h>
#include <stdio.h>

const char *show_mode(const lk_info *);        /* "read", "write"; "none": nobody holds it */
const char *show_state(const lk_info *);       /* for tables: the mode, "abandoned" or "-" */
const char *show_policy(const lk_info *);      /* as `run --policy` has it */
const char *show_wish(const lk_waiter_info *); /* "read", "write", "upgrade" */
int64_t show_oldest_wait_ms(const lk_info *);  /* 0: nobody waits */

/* Many lines: its state, and everybody who holds it or waits for it. */
void show_lock(const lk_info *, FILE *);

/* Any bytes, as JSON can have them: in what is no UTF-8, '?' stands for those above 127. */
json_t *show_text(const char *bytes);

/* The fields that one line of --json has. NULL: no memory. */
json_t *show_summary(const lk_info *);
json_t *show_holder(const lk_holder_info *);
json_t *show_everything(const lk_info *);

/* One object, one line on stdout; frees it. Returns 0, or the code to end with. */
int show_json(json_t *);

#endif
