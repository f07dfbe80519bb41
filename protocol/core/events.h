/* What an operation has to tell (SPEC 10.10), kept in the records themselves: nothing is allocated.
 */
#ifndef LKI_EVENTS_H
#define LKI_EVENTS_H

#include "state.h"

/* Forgets the events of the last operation, and the records that lived on for them. */
void lki_events_clear(lki_lock *);

/* The hold was just granted to a waiter: `anew`, or as an upgrade of the hold. */
void lki_events_granted(lki_lock *, lki_party *hold, bool anew);

#endif
