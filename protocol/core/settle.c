/* See settle.h. */
#include "settle.h"
#include "events.h"
#include "grant.h"
#include "order.h"
#include "parties.h"

/* Settling. */

static void grant_waiter(lki_lock *lock, lki_party *waiter) {
    lki_grant grant = {.mode = waiter->wait.mode, .req = waiter->wait.req};
    uint64_t lease_us = waiter->wait.lease_ms * LKI_MS_US;
    lki_party *hold = lki_pair_find(lock, &waiter->handle).hold;
    bool anew = !hold;
    lki_waiter_remove(lock, waiter);
    if (hold) {
        lki_grant_more(lock, hold, &grant); /* SPEC 4.3 */
        lki_party_free(lock, waiter);
    } else {
        hold = waiter;
        hold->provisional = true; /* SPEC 5.3 */
        hold->deadline_us = lock->now_us + lki_min(LKI_CLAIM_US, lease_us);
        lki_grant_new(lock, hold, &grant);
        lock->granted_provisionally = true;
    }
    hold->hold.granted_for = grant.req;
    lki_events_granted(lock, hold, anew);
}

static bool grant_first(lki_lock *lock) {
    lki_party *first = lki_order_first(lock);
    if (!first || !lki_is_compatible(lock, first->owner, first->group, first->wait.mode))
        return false;
    if (first->wait.mode == LKI_WRITE)
        lock->phase = LKI_PHASE_WRITE;
    grant_waiter(lock, first);
    return true;
}

/* SPEC 1.7, 7.1, 7.2. */
static void end_life(lki_lock *lock) {
    lock->policy = LKI_FAIR;
    lock->phase = LKI_PHASE_READ;
    lock->ticket = lock->floor = 0;
    if (lock->reading)
        lki_names_give(lock, &lock->groups, lock->reading);
    lock->reading = NULL;
    if (!lock->marked)
        lock->fence = lock->mark_fence = lock->mark_until_us = 0;
}

void lki_settle(lki_lock *lock) {
    lki_phase phase;
    do {
        while (grant_first(lock))
            continue;
        /* Another phase is another order: who is first in that must not be compatible either. */
        phase = lock->phase;
        lki_phase_update(lock);
    } while (lock->phase != phase);
    if (lki_lock_is_empty(lock))
        end_life(lock);
}

/* Dropping. */

void lki_hold_lose(lki_lock *lock, lki_loss *loss, lki_party *hold, uint64_t instant_us,
                   bool told) {
    if (hold->hold.writes > 0)
        lki_mark_leave(lock, instant_us);
    if (lock->upgrade && lki_handle_is(&lock->upgrade->handle, &hold->handle))
        loss->upgrade_too = true;
    lki_hold_remove(lock, hold);
    hold->tells_lost = told;
    lki_party_free(lock, hold);
}

void lki_loss_end(lki_lock *lock, const lki_loss *loss) {
    lki_party *upgrade = lock->upgrade;
    if (!upgrade || (!loss->upgrade_too && upgrade->owner->count > 0))
        return;
    lki_waiter_remove(lock, upgrade);
    lki_party_free(lock, upgrade);
}

static lki_party *run_out(const lki_lock *lock, const lki_tree *deadlines) {
    lki_party *party = lki_party_by_deadline(lki_tree_head(deadlines));
    return party && party->deadline_us <= lock->now_us ? party : NULL;
}

/* SPEC 7.3: is the instant past at which everything goes? The mark does not go otherwise. */
static bool has_expired(const lki_lock *lock) {
    return lki_lock_expires_ms(lock) * LKI_MS_US <= lock->now_us;
}

/* SPEC 5.2. */
static void drop_run_out(lki_lock *lock) {
    lki_party *party;
    lki_loss loss = {false};
    uint64_t latest_us = 0;
    bool expired = (lock->marked || run_out(lock, &lock->holds)) && has_expired(lock);
    while ((party = run_out(lock, &lock->holds))) {
        latest_us = lki_max(latest_us, party->deadline_us);
        lki_hold_lose(lock, &loss, party, party->deadline_us, false);
    }
    while ((party = run_out(lock, &lock->waiters))) {
        latest_us = lki_max(latest_us, party->deadline_us);
        lki_waiter_remove(lock, party);
        lki_party_free(lock, party);
    }
    lki_loss_end(lock, &loss);
    if (expired)
        lock->marked = false;
    if (lock->marked) /* SPEC 6.4 */
        lock->mark_until_us = lki_max(lock->mark_until_us, latest_us + LKI_MARK_US);
}

/* The frame. */

static void remember_first(lki_lock *lock) {
    const lki_party *first = lki_order_first(lock);
    lock->had_first = first;
    if (first) {
        lock->first_handle = first->handle;
        lock->first_req = first->wait.req;
    }
}

static bool is_as_remembered(const lki_lock *lock, const lki_party *first) {
    return lock->had_first && first->wait.req == lock->first_req &&
           lki_handle_is(&first->handle, &lock->first_handle);
}

void lki_operation_begin(lki_lock *lock, uint64_t now_us) {
    lki_events_clear(lock);
    lock->now_us = now_us;
    lock->granted_provisionally = false;
    remember_first(lock);
    drop_run_out(lock);
    lki_settle(lock);
}

void lki_operation_end(lki_lock *lock, const lki_party *told) {
    lki_settle(lock);
    if (lock->marked && has_expired(lock)) {
        lock->marked = false;
        end_life(lock);
    }
    const lki_party *first = lki_order_first(lock);
    if (first && first != told && (lock->granted_provisionally || !is_as_remembered(lock, first)))
        lock->watch = first; /* SPEC 5.5 */
}
