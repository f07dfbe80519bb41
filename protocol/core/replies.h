/* The numbers that answers and messages carry. All are read from the lock as it stands. */
#ifndef LKI_REPLIES_H
#define LKI_REPLIES_H

#include "state.h"

uint64_t lki_left_ms(const lki_lock *, const lki_party *); /* to its deadline, rounded down */
uint64_t lki_next_ms(const lki_lock *);                    /* SPEC 5.5, rounded up */
unsigned lki_flags(const lki_lock *);                      /* SPEC 10.3 */

lki_reply lki_reply_of(lki_answer);
lki_reply lki_reply_granted(const lki_lock *, const lki_party *hold);
lki_reply lki_reply_queued(const lki_lock *, const lki_party *waiter);

#endif
