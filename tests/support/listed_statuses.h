/*
 * The statuses that the comments of latchkey.h list for each function, and the check that a
 * function returned one of them. The header is the manual: a status that it does not list is a
 * surprise to its readers.
 *
 * The list of a function is in the comment before it. The comment begins a line, and consecutive
 * declarations share it. Each status has a line of its own, indented by three spaces: the status,
 * two spaces or more, and when the function returns it. A status anywhere else in the comment is
 * not listed.
 */
#ifndef TEST_LISTED_STATUSES_H
#define TEST_LISTED_STATUSES_H

#include "latchkey.h"

#include <stddef.h>

enum { LISTED_FUNCTIONS_MOST = 64, LISTED_NAME_MOST = 63 };

typedef struct {
    char name[LISTED_NAME_MOST + 1];
    unsigned statuses; /* a bit for each: 1U << LK_BUSY */
} listed_function;

typedef struct {
    listed_function functions[LISTED_FUNCTIONS_MOST]; /* in the order of the header */
    size_t count;
} listed_functions;

/* Finds the functions that return lk_status in the text of a header. */
void listed_functions_read(listed_functions *out, const char *header);

/* Those of latchkey.h. Read before main(), so any thread may use them. */
const listed_functions *listed_functions_of_header(void);

/* One of them; NULL if latchkey.h does not have it. */
const listed_function *listed_function_find(const char *name);

/*
 * Returns the status if latchkey.h lists it for the function `as`. Otherwise says on stderr what
 * `what` returned, with the sentence of lk_last_error(), and aborts.
 */
lk_status listed_status_check(const char *what, const char *as, lk_status status);

#endif
