/*
 * inspect (SPEC 10.8). It changes nothing, so the lock still has the records that SPEC 5.2 would
 * drop. inspect leaves them out, and the upgrade that would be dropped with them.
 */
#include "grant.h"
#include "records.h"

/* The lock as SPEC 5.2 would leave it. */
typedef struct {
    uint64_t now_us;
    size_t expired_holds, expired_waiters; /* the first ones by deadline */
    bool hide_upgrade; /* it has not expired, but is dropped with a hold (SPEC 4.6) */
    bool marked;
} remaining;

static size_t count_expired(const lkc_tree *deadlines, uint64_t now_us) {
    size_t count = 0;
    const lkc_record *record;
    while ((record = lkc_record_by_deadline(lkc_tree_at(deadlines, count))) &&
           record->deadline_us <= now_us)
        count++;
    return count;
}

static void look_at_expired_holds(const lkc_lock *lock, remaining *left) {
    const lkc_record *upgrade = lock->upgrade;
    size_t of_upgrade = 0; /* expired holds of the upgrade's owner */
    bool own = false;
    for (size_t i = 0; i < left->expired_holds; i++) {
        const lkc_record *hold = lkc_record_by_deadline(lkc_tree_at(&lock->holds, i));
        left->marked = left->marked || hold->hold.writes > 0; /* SPEC 6.1 */
        if (upgrade && hold->owner == upgrade->owner) {
            of_upgrade++;
            own = own || lkc_handle_is(&hold->handle, &upgrade->handle);
        }
    }
    left->hide_upgrade = upgrade && upgrade->deadline_us > left->now_us &&
                         (own || of_upgrade == upgrade->owner->count);
}

static remaining look(const lkc_lock *lock, uint64_t now_us) {
    remaining left = {.now_us = now_us, .marked = lock->marked};
    left.expired_holds = count_expired(&lock->holds, now_us);
    left.expired_waiters = count_expired(&lock->waiters, now_us);
    look_at_expired_holds(lock, &left);
    return left;
}

static uint64_t left_ms(const lkc_record *record, uint64_t now_us) {
    return (record->deadline_us - now_us) / LKC_MS_US;
}

static uint64_t age_ms(const lkc_record *record, uint64_t now_us) {
    return now_us > record->since_us ? (now_us - record->since_us) / LKC_MS_US : 0;
}

static lkc_text who(const lkc_record *record) {
    return (lkc_text){record->who, record->who_length};
}

static void send_hold(const lkc_record *hold, uint64_t now_us, lkc_hold_row_fn *each,
                      void *context) {
    char owner[LKC_HANDLE_LENGTH + 1];
    lkc_hold_row row = {.handle = hold->handle,
                        .owner = lkc_name_text(hold->owner, owner),
                        .group = {hold->group->bytes, hold->group->length},
                        .who = who(hold),
                        .reads = hold->hold.reads,
                        .writes = hold->hold.writes,
                        .left_ms = left_ms(hold, now_us),
                        .held_ms = age_ms(hold, now_us),
                        .fence = hold->hold.fence,
                        .provisional = hold->provisional};
    each(&row, context);
}

static lkc_wait_kind wait_kind(const lkc_lock *lock, const lkc_record *waiter) {
    if (waiter == lock->upgrade)
        return LKC_WAITS_UPGRADE;
    return waiter->wait.mode == LKC_READ ? LKC_WAITS_READ : LKC_WAITS_WRITE;
}

static void send_waiter(const lkc_lock *lock, const lkc_record *waiter, uint64_t now_us,
                        lkc_waiter_row_fn *each, void *context) {
    char owner[LKC_HANDLE_LENGTH + 1];
    lkc_waiter_row row = {.handle = waiter->handle,
                          .owner = lkc_name_text(waiter->owner, owner),
                          .group = {waiter->group->bytes, waiter->group->length},
                          .who = who(waiter),
                          .mode = wait_kind(lock, waiter),
                          .left_ms = left_ms(waiter, now_us),
                          .waited_ms = age_ms(waiter, now_us),
                          .req = waiter->wait.req};
    each(&row, context);
}

static lkc_info summarize(const lkc_lock *lock, const remaining *left) {
    lkc_info info = {.policy = lock->policy, .fence = lock->fence, .abandoned = left->marked};
    info.holders = lkc_tree_size(&lock->holds) - left->expired_holds;
    info.waiters =
        lkc_tree_size(&lock->waiters) - left->expired_waiters - (left->hide_upgrade ? 1 : 0);
    info.alive = info.holders > 0 || info.waiters > 0;
    if (lkc_lock_expires_ms(lock) * LKC_MS_US <= left->now_us)
        info.abandoned = false; /* SPEC 7.3: the whole lock has expired */
    if (!info.alive && !info.abandoned && lock->fence <= left->now_us)
        info.fence = 0; /* SPEC 7.1 */
    return info;
}

void lkc_lock_inspect(const lkc_lock *lock, uint64_t now_us, size_t limit, lkc_info *info,
                      lkc_hold_row_fn *each_hold, lkc_waiter_row_fn *each_waiter, void *context) {
    remaining left = look(lock, now_us);
    *info = summarize(lock, &left);
    for (size_t i = 0; i < limit && i < info->holders; i++) {
        lkc_node *node = lkc_tree_at(&lock->holds, left.expired_holds + i);
        send_hold(lkc_record_by_deadline(node), now_us, each_hold, context);
    }
    lkc_order_walk walk = {.now_us = now_us, .hide_upgrade = left.hide_upgrade};
    for (size_t i = 0; i < limit && i < info->waiters; i++)
        send_waiter(lock, lkc_order_next(lock, &walk), now_us, each_waiter, context);
}
