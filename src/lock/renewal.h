/* Renews many holds, and refreshes many waiters, with one command. */
#ifndef LKI_RENEWAL_H
#define LKI_RENEWAL_H

#include "engine/answer.h"
#include "lock/lock.h"

/*
 * Sends the renewals of the handles linked by next_due, all of one server, in as many commands as
 * needed. If a command cannot be sent, its entries are due again soon.
 */
void lki_renewals_send(lki_server *, lk_lock *first, int64_t now_us);

/* When the hold or the waiter must be renewed; LKI_NEVER: not at present. */
int64_t lki_renewal_due_us(const lk_lock *);

/* After the answer `queued` to a request of sent_us: sets the next refresh of the waiter. */
void lki_waiter_schedule_refresh(lk_lock *, const lki_answer *queued, int64_t sent_us);

#endif
