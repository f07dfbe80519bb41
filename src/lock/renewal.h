/* Renews many holds, and refreshes many waiters, with one command. */
#ifndef LKI_RENEWAL_H
#define LKI_RENEWAL_H

#include "lock/lock.h"

/*
 * Sends the renewals of the handles linked by next_due, all of one server, in as many commands as
 * needed. If a command cannot be sent, its entries are due again soon.
 */
void lki_renewals_send(lki_server *, lk_lock *first, int64_t now_us);

/* When the hold or the waiter must be renewed; LKI_NEVER: not at present. */
int64_t lki_renewal_due_us(const lk_lock *);

/*
 * After the server told the position of the waiter and the ms to the next deadline, in the answer
 * to a request of sent_us: sets the next refresh, and notes that it was not granted before sent_us.
 */
void lki_waiter_schedule_refresh(lk_lock *, uint64_t position, int64_t ms, int64_t sent_us);

#endif
