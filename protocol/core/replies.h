/* The numbers that answers and messages carry. All are read from the lock as it stands. */
#ifndef LKC_REPLIES_H
#define LKC_REPLIES_H

#include "lock.h"

uint64_t lkc_left_ms(const lkc_lock *, const lkc_record *); /* to its deadline, rounded down */
uint64_t lkc_next_ms(const lkc_lock *);                     /* SPEC 5.5, rounded up */
unsigned lkc_flags(const lkc_lock *);                       /* SPEC 10.3 */

lkc_reply lkc_reply_of(lkc_answer);
lkc_reply lkc_reply_granted(const lkc_lock *, const lkc_record *hold);
lkc_reply lkc_reply_queued(const lkc_lock *, const lkc_record *waiter);

#endif
