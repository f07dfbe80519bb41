/* Words for tables and objects for --json, as `ls`, `inspect` and others show a lock. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "latchkey.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* "1 lock", "2 locks": the word that goes with the number. */
static inline const char *word_for_count(size_t count, const char *one, const char *many) {
    return count == 1 ? one : many;
}

const char *show_mode(const lk_info *);   /* "read", "write", or "none" if nobody holds it */
const char *show_state(const lk_info *);  /* for tables: the mode, "abandoned" or "-" */
const char *show_policy(const lk_info *); /* as for `run --policy` */
const char *show_wait_mode(const lk_waiter_info *); /* "read", "write", "upgrade" */
int64_t show_oldest_wait_ms(const lk_info *);       /* 0: nobody waits */

/* Prints many lines: the state of the lock, its holders and its waiters. */
void show_lock(const lk_info *, FILE *);

/* A JSON string. If the bytes are not UTF-8, each byte above 127 becomes '?'. */
json_t *show_text(const char *bytes);

/* The objects of --json. NULL: no memory. */
json_t *show_summary(const lk_info *);
json_t *show_holder(const lk_holder_info *);
json_t *show_everything(const lk_info *);

/* Prints one object on one line, and frees it. Returns 0, or the exit code. */
int show_json(json_t *);

#endif
