/*
 * What an operation says: the reply to its caller, and the events for others (SPEC 10.10). Events
 * are kept in the records, so nothing is allocated.
 */
#ifndef LKC_REPLIES_H
#define LKC_REPLIES_H

#include "lock.h"

/* The numbers in replies and events, as the lock is now. */
uint64_t lkc_left_ms(const lkc_lock *, const lkc_record *); /* to its deadline, rounded down */
uint64_t lkc_next_ms(const lkc_lock *);                     /* SPEC 5.5, rounded up */

lkc_reply lkc_reply_of(lkc_answer); /* for an answer without numbers */
lkc_reply lkc_reply_granted(const lkc_lock *, const lkc_record *hold);
lkc_reply lkc_reply_queued(const lkc_lock *, const lkc_record *waiter);

/* Forgets the events of the last operation, and frees the records that were kept for them. */
void lkc_events_clear(lkc_lock *);

/* A waiter was just granted. `anew`: the hold is new; otherwise it was upgraded. */
void lkc_events_granted(lkc_lock *, lkc_record *hold, bool anew);

#endif
