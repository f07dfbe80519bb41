/* What a handle holds, and until when it surely does, by our clock. */
#ifndef LKI_HOLD_H
#define LKI_HOLD_H

#include "engine/answer.h"
#include "lock/lock.h"

/* A lease of `ms`, counted from from_us, less what clocks may differ: 1% and 2 ms. */
int64_t lki_lease_end_us(int64_t from_us, int64_t ms);

/* One more hold of this mode. */
void lki_hold_granted(lk_lock *, lk_mode, const lki_answer *, int64_t from_us, bool claimed);

void lki_hold_renewed(lk_lock *, int64_t sent_us, int64_t ms);
void lki_hold_released(lk_lock *, lk_mode); /* one of them; the last one ends the hold */
void lki_hold_downgraded(lk_lock *);        /* a write into a read; there is one */
void lki_hold_lose(lk_lock *, const char *why);

bool lki_hold_begins(const lk_lock *); /* with the next grant: it is no more of one that is there */

/* Whether its last count is being given back, so that it must not be renewed any more. */
bool lki_hold_is_ending(const lk_lock *);

#endif
