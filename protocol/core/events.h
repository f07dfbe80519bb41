/* What an operation has to tell (SPEC 10.10), kept in the records themselves: nothing is allocated.
 */
#ifndef LKC_EVENTS_H
#define LKC_EVENTS_H

#include "lock.h"

/* Forgets the events of the last operation, and the records that lived on for them. */
void lkc_events_clear(lkc_lock *);

/* The hold was just granted to a waiter: `anew`, or as an upgrade of the hold. */
void lkc_events_granted(lkc_lock *, lkc_record *hold, bool anew);

#endif
