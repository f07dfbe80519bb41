/*
 * Every public function that returns lk_status, wrapped (ld --wrap) in a check of its status
 * against the list in latchkey.h. Link the object library lk_checked_calls, and every call of the
 * program is checked, those through pointers too. The callbacks of the async functions are checked
 * as well, against the list of the calls that block.
 */
#ifndef TEST_CHECKED_CALLS_H
#define TEST_CHECKED_CALLS_H

#include <stddef.h>

typedef struct {
    const char *name;
    void (*wrapper)(void); /* what the program calls by that name */
} checked_call;

extern const checked_call checked_calls[];
extern const size_t checked_call_count;

#endif
