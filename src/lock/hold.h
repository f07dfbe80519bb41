/* The hold of a handle, and until when it is certain, by the clock of the client. */
#ifndef LKI_HOLD_H
#define LKI_HOLD_H

#include "engine/answer.h"
#include "lock/lock.h"

/* The end of a lease of `ms` from from_us, less a margin for clocks that differ: 1% and 2 ms. */
int64_t lki_lease_end_us(int64_t from_us, int64_t ms);

/*
 * Adds one count of this mode, and begins a hold if there is none. The lease began at from_us or
 * later. claimed false: a new hold is provisional.
 */
void lki_hold_granted(lk_lock *, lk_mode, const lki_answer *, int64_t from_us, bool claimed);

void lki_hold_renewed(lk_lock *, int64_t sent_us, int64_t ms);
void lki_hold_released(lk_lock *, lk_mode);     /* removes one count; the last one ends the hold */
void lki_hold_downgraded(lk_lock *);            /* turns a write, which must exist, into a read */
void lki_hold_lose(lk_lock *, const char *why); /* no effect without a hold */

/* The server answered not-held: the hold is lost. No effect without a hold. */
void lki_hold_gone(lk_lock *);

bool lki_hold_begins(const lk_lock *); /* whether the next grant begins a new hold */

/* Whether the last count is being released, so that the hold must not be renewed any more. */
bool lki_hold_is_ending(const lk_lock *);

#endif
