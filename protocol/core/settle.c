/* See settle.h. */
#include "settle.h"
#include "grant.h"
#include "records.h"
#include "replies.h"

/* Settling. */

static void grant_waiter(lkc_lock *lock, lkc_record *waiter) {
    lkc_grant grant = {.mode = waiter->wait.mode, .req = waiter->wait.req};
    uint64_t ticket = waiter->wait.ticket; /* read before the waiter becomes the hold */
    uint16_t liveness_ms = waiter->wait.liveness_ms;
    lkc_record *hold = lkc_pair_find(lock, &waiter->handle).hold;
    bool anew = !hold;
    lkc_waiter_remove(lock, waiter);
    if (hold) {
        lkc_grant_more(lock, hold, &grant); /* SPEC 4.3 */
        lkc_record_free(lock, waiter);
    } else {
        hold = waiter;
        hold->provisional = true; /* SPEC 5.3 */
        hold->deadline_us = lock->now_us + lkc_min(LKC_CLAIM_US, liveness_ms * LKC_MS_US);
        lkc_grant_new(lock, hold, &grant);
        hold->hold.ticket = ticket;
        hold->hold.liveness_ms = liveness_ms;
        lock->granted_provisionally = true;
    }
    hold->hold.granted_for = grant.req;
    lkc_events_granted(lock, hold, anew);
}

static bool grant_first(lkc_lock *lock) {
    lkc_record *first = lkc_order_first(lock);
    if (!first || !lkc_is_compatible(lock, first->owner, first->group, first->wait.mode))
        return false;
    if (first->wait.mode == LKC_WRITE)
        lock->phase = LKC_PHASE_WRITE;
    grant_waiter(lock, first);
    return true;
}

void lkc_settle(lkc_lock *lock) {
    lkc_phase phase;
    do {
        while (grant_first(lock))
            continue;
        /* A new phase is a new order, and its first waiter may be compatible. */
        phase = lock->phase;
        lkc_phase_update(lock);
    } while (lock->phase != phase);
    if (lkc_life_is_over(lock))
        lkc_life_end(lock);
}

void lkc_waiter_renew(lkc_lock *lock, lkc_record *waiter, uint32_t lease_ms) {
    uint64_t until_us = lock->now_us + lkc_liveness_us(lease_ms);
    if (waiter->role != LKC_ROLE_MISSED) {
        lkc_record_extend(lock, waiter, until_us); /* SPEC 5.4 */
        return;
    }
    lkc_mark_withdraw(lock, waiter);
    lkc_missed_return(lock, waiter, lkc_max(until_us, waiter->deadline_us)); /* SPEC 5.4, 5.6 */
    lkc_settle(lock);
}

/* Dropping. */

static uint64_t missed_until_us(const lkc_record *hold) {
    return hold->since_us + hold->hold.liveness_ms * LKC_MS_US; /* SPEC 5.6 */
}

void lkc_hold_lose(lkc_lock *lock, lkc_loss *loss, lkc_record *hold, uint64_t instant_us,
                   bool told) {
    if (hold->hold.writes > 0)
        lkc_mark_leave(lock, instant_us);
    if (lock->upgrade && lkc_handle_is(&lock->upgrade->handle, &hold->handle))
        loss->upgrade_too = true;
    lkc_hold_remove(lock, hold);
    hold->tells_lost = told;
    lkc_record_free(lock, hold);
}

void lkc_loss_end(lkc_lock *lock, const lkc_loss *loss) {
    lkc_record *upgrade = lock->upgrade;
    if (!upgrade || (!loss->upgrade_too && upgrade->owner->count > 0))
        return;
    lkc_waiter_remove(lock, upgrade);
    lkc_record_free(lock, upgrade);
}

/*
 * SPEC 5.6: whether the client of a hold that has expired missed the grant. Such a hold is still as
 * it was granted, and a waiter of that age would still live.
 */
static bool was_missed(const lkc_lock *lock, const lkc_record *hold) {
    if (!hold->provisional || hold->hold.reads + hold->hold.writes != 1)
        return false;
    lkc_pair pair = lkc_pair_find(lock, &hold->handle);
    return lkc_request_repeats(&pair, hold->hold.granted_for, LKC_BY_ACQUIRE) &&
           missed_until_us(hold) > lock->now_us;
}

static void miss(lkc_lock *lock, lkc_record *hold) {
    bool writes = hold->hold.writes > 0, marked = lock->marked;
    if (writes)
        lkc_mark_leave(lock, hold->deadline_us); /* SPEC 6.1 */
    if (writes && !marked)
        lock->mark_of = hold->hold.ticket;
    lkc_hold_miss(lock, hold, missed_until_us(hold));
}

static void forget_missed(lkc_lock *lock, uint64_t until_us) {
    lkc_record *record;
    while ((record = lkc_record_by_deadline(lkc_tree_head(&lock->missed))) &&
           record->deadline_us <= until_us) {
        lkc_waiter_remove(lock, record);
        lkc_record_free(lock, record);
    }
}

/* NULL when nothing of the tree has expired. */
static lkc_record *first_expired(const lkc_lock *lock, const lkc_tree *deadlines) {
    lkc_record *record = lkc_record_by_deadline(lkc_tree_head(deadlines));
    return record && record->deadline_us <= lock->now_us ? record : NULL;
}

/* SPEC 5.2. */
static void drop_expired(lkc_lock *lock) {
    lkc_record *record;
    lkc_loss loss = {false};
    uint64_t latest_us = 0;
    bool all_expired =
        (lock->marked || first_expired(lock, &lock->holds)) && lkc_lock_has_expired(lock);
    forget_missed(lock, all_expired ? UINT64_MAX : lock->now_us); /* SPEC 5.6 */
    while ((record = first_expired(lock, &lock->holds))) {
        latest_us = lkc_max(latest_us, record->deadline_us);
        if (!all_expired && was_missed(lock, record))
            miss(lock, record);
        else
            lkc_hold_lose(lock, &loss, record, record->deadline_us, false);
    }
    while ((record = first_expired(lock, &lock->waiters))) {
        latest_us = lkc_max(latest_us, record->deadline_us);
        lkc_waiter_remove(lock, record);
        lkc_record_free(lock, record);
    }
    lkc_loss_end(lock, &loss);
    if (all_expired)
        lock->marked = false;
    if (lock->marked) /* SPEC 6.4 */
        lock->mark_until_us = lkc_max(lock->mark_until_us, latest_us + LKC_MARK_US);
}

/* The frame. */

static void remember_first(lkc_lock *lock) {
    const lkc_record *first = lkc_order_first(lock);
    lock->had_first = first;
    if (first) {
        lock->first_handle = first->handle;
        lock->first_req = first->wait.req;
    }
}

static bool is_as_remembered(const lkc_lock *lock, const lkc_record *first) {
    return lock->had_first && first->wait.req == lock->first_req &&
           lkc_handle_is(&first->handle, &lock->first_handle);
}

void lkc_operation_begin(lkc_lock *lock, uint64_t now_us) {
    lkc_events_clear(lock);
    lock->now_us = now_us;
    lock->granted_provisionally = false;
    remember_first(lock);
    drop_expired(lock);
    lkc_settle(lock);
}

void lkc_operation_end(lkc_lock *lock, const lkc_record *told) {
    lkc_settle(lock);
    if (lkc_lock_is_empty(lock)) { /* SPEC 5.6: missed waiters do not keep a life. */
        forget_missed(lock, UINT64_MAX);
        lkc_life_end(lock);
    }
    if (lock->marked && lkc_lock_has_expired(lock)) {
        lock->marked = false;
        lkc_life_end(lock);
    }
    const lkc_record *first = lkc_order_first(lock);
    if (first && first != told && (lock->granted_provisionally || !is_as_remembered(lock, first)))
        lock->watch = first; /* SPEC 5.5 */
}
