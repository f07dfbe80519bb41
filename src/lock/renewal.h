/* Renewals of many holds and waiters in one command. */
#ifndef LKI_RENEWAL_H
#define LKI_RENEWAL_H

#include "lock/lock.h"

/*
 * Sends the renewals of the handles linked by next_due (all at one server), as many commands as it
 * takes. Those that cannot be sent are due again soon.
 */
void lki_renewals_send(lki_server *, lk_lock *first, int64_t now_us);

/* When its hold or its waiter must be renewed next, unless a renewal of it is on the way. */
int64_t lki_renewal_due_us(const lk_lock *);

/*
 * The server told the position of the waiter and the ms to the next deadline, in the answer to what was
 * sent at sent_us: sets its next renewal, and notes that it had not been granted by then.
 */
void lki_waiter_schedule_refresh(lk_lock *, uint64_t position, int64_t ms, int64_t sent_us);

#endif
