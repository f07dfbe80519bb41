/*
 * The records of a lock, and the trees and counts that go with them. What is granted, and to whom,
 * is decided elsewhere (grant.h, settle.h).
 */
#ifndef LKC_PARTIES_H
#define LKC_PARTIES_H

#include "state.h"

void lkc_parties_init(lkc_lock *);
void lkc_parties_free(lkc_lock *); /* all of them */

/*
 * A record in no tree yet, neither hold nor waiter, with its owner, group and who. The texts are
 * copied. NULL when memory runs out; nothing has changed then.
 */
lkc_party *lkc_party_new(lkc_lock *, const lkc_handle *, lkc_text owner, lkc_text group,
                         lkc_text who);

/* Ends a record that is in no tree; one with something to tell lives on until the next operation.
 */
void lkc_party_free(lkc_lock *, lkc_party *);
void lkc_party_recycle(lkc_lock *, lkc_party *); /* at once; for one that has given its names */

/* What a handle has on this lock: SPEC 1.2. */
typedef struct {
    lkc_party *hold, *waiter;
} lkc_pair;

lkc_pair lkc_pair_find(const lkc_lock *, const lkc_handle *);
uint64_t lkc_pair_last(const lkc_pair *); /* SPEC 9.1; 0 when it has nothing */

/* Moves a deadline, but never to an earlier instant (SPEC 5.1, 5.4). */
void lkc_party_extend(lkc_lock *, lkc_party *, uint64_t deadline_us);

/* Enters a record with its deadline as a hold without counts; the caller counts at once. */
void lkc_hold_add(lkc_lock *, lkc_party *);
void lkc_hold_count(lkc_lock *, lkc_party *, unsigned reads, unsigned writes);
void lkc_hold_remove(lkc_lock *, lkc_party *);

/* Enters a record with its deadline and request as a waiter, with the next ticket. */
void lkc_waiter_add(lkc_lock *, lkc_party *, bool upgrade);
void lkc_waiter_remove(lkc_lock *, lkc_party *);

/* The upgrade, whose handle has no hold now, becomes a writer-waiter with a new ticket. */
void lkc_upgrade_demote(lkc_lock *);

#endif
