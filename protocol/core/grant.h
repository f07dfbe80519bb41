/*
 * Granting one request: who comes next (SPEC 3.5), who may hold together (2), the phase (3.6) and
 * fences (8). acquire.c and settle.c decide when to grant.
 */
#ifndef LKC_GRANT_H
#define LKC_GRANT_H

#include "lock.h"

/* The order of waiters. */

lkc_record *lkc_order_first(const lkc_lock *); /* NULL: nobody waits */
size_t lkc_order_place(const lkc_lock *, const lkc_record *waiter);

/* A walk along the waiters in order that skips expired ones. The caller sets the first two. */
typedef struct {
    uint64_t now_us;   /* 0: skips none */
    bool hide_upgrade; /* the upgrade is dropped with its hold (SPEC 4.6) */
    bool past_upgrade;
    size_t reader, writer; /* indices in the queues */
    size_t writers_shown;
} lkc_order_walk;

lkc_record *lkc_order_next(const lkc_lock *, lkc_order_walk *); /* NULL at the end */

/* SPEC 2.3. */
bool lkc_is_compatible(const lkc_lock *, const lkc_name *owner, const lkc_name *group, lkc_mode);

/* The part of a request that a grant needs. */
typedef struct {
    lkc_mode mode;
    uint64_t req;
    uint64_t floor;
    bool begins_life; /* SPEC 1.7 */
} lkc_grant;

/* Makes a record that has a deadline and is in no tree a hold with one count. */
void lkc_grant_new(lkc_lock *, lkc_record *, const lkc_grant *);

/* Adds one count to a hold. */
void lkc_grant_more(lkc_lock *, lkc_record *hold, const lkc_grant *);

/* SPEC 3.6. Must follow every direct grant and every settling. */
void lkc_phase_update(lkc_lock *);

#endif
