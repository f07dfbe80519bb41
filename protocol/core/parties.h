/*
 * The records of a lock, and the trees and counts that go with them. What is granted, and to whom,
 * is decided elsewhere (grant.h, settle.h).
 */
#ifndef LKI_PARTIES_H
#define LKI_PARTIES_H

#include "state.h"

void lki_parties_init(lki_lock *);
void lki_parties_free(lki_lock *); /* all of them */

/*
 * A record in no tree yet, neither hold nor waiter, with its owner, group and who. The texts are
 * copied. NULL when memory runs out; nothing has changed then.
 */
lki_party *lki_party_new(lki_lock *, const lki_handle *, lki_text owner, lki_text group,
                         lki_text who);

/* Ends a record that is in no tree; one with something to tell lives on until the next operation.
 */
void lki_party_free(lki_lock *, lki_party *);
void lki_party_recycle(lki_lock *, lki_party *); /* at once; for one that has given its names */

/* What a handle has on this lock: SPEC 1.2. */
typedef struct {
    lki_party *hold, *waiter;
} lki_pair;

lki_pair lki_pair_find(const lki_lock *, const lki_handle *);
uint64_t lki_pair_last(const lki_pair *); /* SPEC 9.1; 0 when it has nothing */

/* Moves a deadline, but never to an earlier instant (SPEC 5.1, 5.4). */
void lki_party_extend(lki_lock *, lki_party *, uint64_t deadline_us);

/* Enters a record with its deadline as a hold without counts; the caller counts at once. */
void lki_hold_add(lki_lock *, lki_party *);
void lki_hold_count(lki_lock *, lki_party *, unsigned reads, unsigned writes);
void lki_hold_remove(lki_lock *, lki_party *);

/* Enters a record with its deadline and request as a waiter, with the next ticket. */
void lki_waiter_add(lki_lock *, lki_party *, bool upgrade);
void lki_waiter_remove(lki_lock *, lki_party *);

/* The upgrade, whose handle has no hold now, becomes a writer-waiter with a new ticket. */
void lki_upgrade_demote(lki_lock *);

#endif
