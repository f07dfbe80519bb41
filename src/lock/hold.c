/* See hold.h. */
#include "lock/hold.h"

#include "base/clock.h"
#include "lock/operation.h"

#include <assert.h>

enum { MARGIN_US = 2000, RENEWALS_PER_LEASE = 3 };

/* A provisional hold is claimed after 100 ms, or after a quarter of its time if that is less. */
enum { CLAIM_MS = 100, CLAIM_SHARE = 4 };

int64_t lki_lease_end_us(int64_t from_us, int64_t ms) {
    return from_us + ms * 990 - MARGIN_US;
}

static void plan_renewal(lk_lock *lock, int64_t from_us) {
    lock->renew_us =
        lock->manual_renew ? LKI_NEVER : from_us + lock->lease_ms * 1000 / RENEWALS_PER_LEASE;
}

/*
 * The keeper claims a provisional hold, after a while. Most holds are released before, and need no
 * claim. So a short hold costs one command less, and the woken caller returns without sending.
 */
static void plan_claim(lk_lock *lock) {
    int64_t now_us = lki_now_us(), soon_us = (lock->deadline_us - now_us) / CLAIM_SHARE;
    lock->renew_us = now_us + (soon_us < CLAIM_MS * 1000 ? soon_us : CLAIM_MS * 1000);
}

static void extend(lk_lock *lock, int64_t from_us, int64_t ms) {
    int64_t end_us = lki_lease_end_us(from_us, ms);
    if (end_us > lock->deadline_us)
        lock->deadline_us = end_us;
}

/* SPEC 3.1: a lock has the policy of the request that found it free. */
static void compare_policy(lk_lock *lock, unsigned flags) {
    lk_policy policy = lki_flags_policy(flags);
    if (policy != lock->policy)
        lki_log(lock->session, LK_LOG_INFO,
                "lock \"%s\": the handle asks for policy %s, but the lock has policy %s",
                lock->name, lki_policy_text(lock->policy), lki_policy_text(policy));
}

void lki_hold_granted(lk_lock *lock, lk_mode mode, const lki_answer *answer, int64_t from_us,
                      bool claimed) {
    bool is_new = lki_hold_begins(lock);
    if (is_new) {
        lock->hold_serial++;
        lock->deadline_us = 0;
        lock->first_fence = answer->fence;
        lock->granted_server_us = answer->server_us;
    }
    if (mode == LK_WRITE)
        lock->writes++;
    else
        lock->reads++;
    lki_order_push(&lock->order, mode);
    lock->fence = answer->fence;
    lock->last_fence = answer->fence;
    lock->abandoned = lki_flags_abandoned(answer->flags);
    lock->life = lock->server->life;
    lki_server_raise_floor(lock->server, answer->fence);
    compare_policy(lock, answer->flags);
    extend(lock, from_us, answer->ms);
    lock->unclaimed = is_new ? !claimed : lock->unclaimed && !claimed;
    if (claimed)
        plan_renewal(lock, from_us);
    else if (is_new) /* an upgrade keeps the lease of its hold (SPEC 4.3), and the next renewal */
        plan_claim(lock);
    lki_lock_changed(lock);
}

void lki_hold_renewed(lk_lock *lock, int64_t sent_us, int64_t ms) {
    int64_t wanted_us = lock->renew_us;
    lock->life = lock->server->life;
    lock->unclaimed = lock->renewal_in_doubt = false;
    extend(lock, sent_us, ms);
    plan_renewal(lock, sent_us);
    if (wanted_us > sent_us && wanted_us < lock->renew_us)
        lock->renew_us = wanted_us; /* it was requested after this renewal was sent */
    lki_lock_changed(lock);
}

static void end_hold(lk_lock *lock) {
    lock->hold_serial++;
    lock->deadline_us = 0;
    lock->renew_us = LKI_NEVER;
    lock->unclaimed = lock->renewal_in_doubt = false;
}

void lki_hold_released(lk_lock *lock, lk_mode mode) {
    unsigned *count = mode == LK_WRITE ? &lock->writes : &lock->reads;
    if (!*count)
        return; /* the count was removed before the server answered */
    --*count;
    lki_order_remove(&lock->order, mode);
    assert(lock->order.count == lock->reads + lock->writes);
    if (!lock->reads && !lock->writes) {
        end_hold(lock);
        lock->lost = lock->abandoned = false;
        lock->first_fence = lock->fence = 0;
    }
    lki_lock_changed(lock);
}

void lki_hold_downgraded(lk_lock *lock) {
    lock->reads++;
    lock->writes--;
    lki_order_downgrade(&lock->order);
    lki_lock_changed(lock);
}

static void call_on_lost(lki_callback *callback) {
    lk_lock *lock = (lk_lock *)(void *)((char *)callback - offsetof(struct lk_lock, lost_callback));
    lki_session *session = lock->session;
    pthread_mutex_lock(&session->monitor);
    while (lock->losses && lock->on_lost) {
        lk_lost_fn *on_lost = lock->on_lost;
        lock->losses--;
        pthread_mutex_unlock(&session->monitor);
        lki_fail(LK_LOST, "lock \"%s\" on %s: the hold was lost", lock->name,
                 session->topology->shown);
        on_lost(lock, lock->on_lost_arg);
        pthread_mutex_lock(&session->monitor);
    }
    lock->losses = 0;
    lock->callbacks--;
    pthread_cond_broadcast(&session->ended);
    lki_lock_release(lock);
    pthread_mutex_unlock(&session->monitor);
}

/* An acquire during a hold would add to that hold. If it is granted after all, it is undone. */
static void lose_acquire(lki_operation *op) {
    if (!op || op->kind != LKI_DO_ACQUIRE)
        return;
    lki_operation_report(op, LK_LOST, NULL);
    lki_operation_cancel(op, LK_LOST);
}

void lki_hold_lose(lk_lock *lock, const char *why) {
    if (!lki_lock_holds(lock))
        return;
    lock->lost = true;
    end_hold(lock);
    lki_log(lock->session, LK_LOG_WARNING, "lock \"%s\": lost: %s", lock->name, why);
    if (lock->on_lost && lock->losses++ == 0 && !lock->lost_callback.queued) {
        lock->lost_callback.run = call_on_lost;
        lock->lost_callback.about = lock;
        lock->callbacks++;
        lki_lock_retain(lock);
        lki_callbacks_add(&lock->session->callbacks, &lock->lost_callback);
    }
    lose_acquire(lock->asked);
    lose_acquire(lock->waiting);
    lki_lock_changed(lock);
}

/*
 * An upgraded hold has another fence than before. A server that was not there when the hold was
 * confirmed may have it as it was before the upgrade, and then does not know its present fence.
 */
void lki_hold_gone(lk_lock *lock) {
    bool may_be_earlier = lki_lock_holds(lock) && lock->first_fence != lock->fence &&
                          lock->life != lock->server->life;
    lki_hold_lose(lock, "the server no longer has the hold");
    if (may_be_earlier)
        lki_drop_begin(lock);
}

/* While the last release has no answer, the hold may be gone. So a grant counts as a new hold. */
bool lki_hold_begins(const lk_lock *lock) {
    return (!lock->reads && !lock->writes) || lki_hold_is_ending(lock);
}

bool lki_hold_is_ending(const lk_lock *lock) {
    const lki_operation *asked = lock->asked;
    return asked && asked->kind == LKI_DO_RELEASE && !asked->reported &&
           lock->reads + lock->writes == 1;
}
