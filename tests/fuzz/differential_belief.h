/*
 * What each handle believes of each lock: learned from the answers and messages of one form, so
 * that the steps that are made of it mean something. Light: it knows what was said, no rules.
 */
#ifndef DIFFERENTIAL_BELIEF_H
#define DIFFERENTIAL_BELIEF_H

#include "differential_cast.h"
#include "differential_pair.h"

enum { BELIEF_INSTANTS = 24 };

typedef struct {
    bool holds, provisional;
    unsigned reads, writes;
    uint64_t fence, old_fence; /* old: an earlier one, of this hold or of one that is gone */
    bool waits;
    lkc_wait_kind waits_for;
    uint64_t waits_req;
    uint64_t granted_req; /* the number of the last waiter that was granted */
    bool missed;          /* its provisional hold is gone; it may come back (SPEC 5.6) */
    uint64_t last_req;    /* of the last request that the lock may remember */
    lkc_op last_op;
    lkc_mode last_mode;
} belief_party;

typedef struct {
    lkc_text name;
    uint64_t fence;
    bool abandoned;
    unsigned holders, waiters;
    belief_party parties[CAST_HANDLES];
} belief_lock;

typedef struct {
    belief_lock locks[CAST_LOCKS];
    uint64_t instants[BELIEF_INSTANTS]; /* when something ends, perhaps; 0: none */
    size_t next_instant;
    uint64_t now_us, latest_us; /* of the last step, and of the latest */
} belief;

/* Nothing is known of these locks. */
void belief_begin(belief *, const lkc_text names[CAST_LOCKS]);

/* The lock with this name, or NULL. */
belief_lock *belief_find(belief *, lkc_text name);

/* Learns from a step that the pair has just run. */
void belief_learn(belief *, const step *, const form_pair *);

#endif
