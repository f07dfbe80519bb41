/*
 * Who and what appears in a run: handles of a few clients, their owners, groups, lock names, and
 * what they say of themselves. Fixed, so that a printed step says everything.
 */
#ifndef DIFFERENTIAL_CAST_H
#define DIFFERENTIAL_CAST_H

#include "core.h"

enum {
    CAST_REGULARS = 8, /* the first handles, which do most of it */
    CAST_HANDLES = 24, /* with the others, who make a crowd now and then */
    CAST_GROUPS = 3,
    CAST_LOCKS = 3,
    CAST_NOBODY = -1
};

/* A text that ends at its NUL, as bytes. */
lkc_text cast_text(const char *text);

/* `handle` is 0 to CAST_HANDLES - 1 from here on. */
lkc_text cast_handle(int handle);
const char *cast_label(int handle); /* a letter for the client and the handle's number: b2 */
int cast_find(const char *bytes, size_t length); /* the handle with this text, or CAST_NOBODY */

/* The owner argument of the handle's requests: some share one, and one is another's text. */
lkc_text cast_owner(int handle);
lkc_text cast_kin(void); /* the one that most share */

/* These take any number and come round again after the last. */
lkc_text cast_group(uint64_t number);
lkc_text cast_name(uint64_t number); /* names with braces, and those that SPEC 11.1 escapes */
lkc_text cast_who(uint64_t number);
size_t cast_name_count(void);

#endif
