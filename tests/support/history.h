/*
 * What holders believed, and when, in memory that processes share: threads note each instant at
 * which lk_valid() was true, as they go, so that a process that is killed leaves all that it noted.
 * history_check.h judges it.
 *
 * A thread asks lk_valid() between two looks at the clock: the handle was valid at some instant
 * from `before` to `after`; at which, nobody knows, because the thread may be stopped anywhere in
 * between. So of a hold the latest beginning and the earliest end are kept that can be proven:
 *
 *     from_ns   the look after the first true answer
 *     to_ns     the look before the last true answer
 *
 * The hold was valid at an instant not after from_ns, and at one not before to_ns. A hold of which
 * only one answer was true has to_ns < from_ns.
 *
 * Times are those of CLOCK_MONOTONIC, which all processes of a machine share.
 */
#ifndef TEST_HISTORY_H
#define TEST_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct history history;
typedef struct history_slot history_slot;

typedef struct {
    unsigned lock, client; /* numbers that the test gives them */
    bool writes;
    uint64_t fence;
    int64_t asked_ns; /* the hold was granted after this instant */
    int64_t from_ns, to_ns;
} history_hold;

int64_t history_now_ns(void);

/* An empty history with room for so many holds. Ends the test when there is no memory. */
history *history_new(size_t room);

/* The same history in another process, by its path; NULL when it is not there. */
const char *history_path(const history *);
history *history_open(const char *path);

void history_free(history *); /* of this process; NULL is fine */

/* A number that no other client of any process has. */
unsigned history_new_client(history *);

/* Tells all processes that it is time to end. */
void history_end(history *);
bool history_is_over(const history *);

/*
 * Begins to note a hold: `what` without its from_ns and to_ns. NULL: there is no room. Each slot is
 * one thread's.
 */
history_slot *history_begin(history *, history_hold what);

/* The hold was valid at an instant from before_ns to after_ns. */
void history_saw_valid(history_slot *, int64_t before_ns, int64_t after_ns);

/* All holds that were ever seen valid. To be freed. */
history_hold *history_read(const history *, size_t *count);

#endif
