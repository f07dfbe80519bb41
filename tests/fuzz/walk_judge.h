/*
 * What must be so after every operation, and what must come of every state. The invariants of
 * SPEC 12 come from the core (check.c). The other checks here do not use the counts, the queues or
 * the rules of the core: they look at the holds and waiters themselves.
 */
#ifndef WALK_JUDGE_H
#define WALK_JUDGE_H

#include "walk_world.h"

/* What the handles had before an operation. */
typedef struct {
    struct {
        bool waits, holds, lives; /* lives: the hold has not expired */
        unsigned reads, writes;
        uint64_t fence, since_us;
    } of[WALK_HANDLES];
    uint64_t fence_most;
} walk_before;

void judge_look(const walk_world *, walk_before *);

/* NULL, or a sentence that says what is wrong after the request. */
const char *judge_request(const walk_world *, const walk_before *, const walk_request *);

/*
 * NULL, or a sentence: if all holders release, every waiter is granted; if everybody gives up and
 * time passes, nothing is left. The world is as before afterwards.
 */
const char *judge_future(walk_world *);

#endif
