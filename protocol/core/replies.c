/* See replies.h. */
#include "replies.h"
#include "grant.h"
#include "records.h"

/* Replies. */

uint64_t lkc_left_ms(const lkc_lock *lock, const lkc_record *record) {
    return (record->deadline_us - lock->now_us) / LKC_MS_US;
}

uint64_t lkc_next_ms(const lkc_lock *lock) {
    uint64_t earliest_us = UINT64_MAX;
    const lkc_record *hold = lkc_record_by_deadline(lkc_tree_head(&lock->holds));
    const lkc_record *waiter = lkc_record_by_deadline(lkc_tree_head(&lock->waiters));
    if (hold)
        earliest_us = hold->deadline_us;
    if (waiter)
        earliest_us = lkc_min(earliest_us, waiter->deadline_us);
    /* Rounded up: after this many ms something must have expired. */
    return (earliest_us - lock->now_us + LKC_MS_US - 1) / LKC_MS_US;
}

/* SPEC 10.3. */
static unsigned flags_of(const lkc_lock *lock) {
    unsigned abandoned = lock->marked ? LKC_FLAG_ABANDONED : 0; /* SPEC 6.2 */
    return abandoned | (unsigned)lock->policy << LKC_FLAG_POLICY_SHIFT;
}

lkc_reply lkc_reply_of(lkc_answer answer) {
    return (lkc_reply){.answer = answer};
}

lkc_reply lkc_reply_granted(const lkc_lock *lock, const lkc_record *hold) {
    return (lkc_reply){.answer = LKC_GRANTED,
                       .fence = hold->hold.fence,
                       .ms = lkc_left_ms(lock, hold),
                       .flags = flags_of(lock)};
}

lkc_reply lkc_reply_queued(const lkc_lock *lock, const lkc_record *waiter) {
    return (lkc_reply){
        .answer = LKC_QUEUED, .place = lkc_order_place(lock, waiter), .ms = lkc_next_ms(lock)};
}

/*
 * Events. A record that has an event and leaves the lock in the same operation is kept in the list
 * `gone_head`, in the order of leaving. Holds are lost in the order of their deadlines and handles,
 * as SPEC 10.10 wants it.
 *
 * A granted event describes the instant of the grant, even if the same operation then renews,
 * releases or drops the hold. The fence of the event needs no field of its own. For a new hold it
 * is the first fence. The fence of an upgraded hold does not change before the hold gives up its
 * last write.
 */

void lkc_events_clear(lkc_lock *lock) {
    for (lkc_record *record = lock->granted_head; record; record = record->next_granted)
        record->tells_granted = false;
    lock->granted_head = lock->granted_tail = lock->granted_before_lost = NULL;
    while (lock->gone_head) {
        lkc_record *record = lock->gone_head;
        lock->gone_head = record->next_gone;
        lkc_record_recycle(lock, record);
    }
    lock->gone_tail = NULL;
    lock->watch = NULL;
}

void lkc_events_granted(lkc_lock *lock, lkc_record *hold, bool anew) {
    assert(!hold->tells_granted);
    hold->tells_granted = true;
    hold->granted_anew = anew;
    hold->granted_ms = lkc_left_ms(lock, hold);
    hold->granted_flags = (uint8_t)flags_of(lock);
    hold->next_granted = NULL;
    if (lock->granted_tail)
        lock->granted_tail->next_granted = hold;
    else
        lock->granted_head = hold;
    lock->granted_tail = hold;
}

static void tell_granted(const lkc_lock *lock, const lkc_record *hold, lkc_event_fn *each,
                         void *context) {
    lkc_event event = {.kind = LKC_EVENT_GRANTED,
                       .handle = hold->handle,
                       .req = hold->hold.granted_for,
                       .fence = hold->granted_anew ? hold->hold.first_fence : hold->hold.fence,
                       .time_us = lock->now_us,
                       .ms = hold->granted_ms,
                       .flags = hold->granted_flags};
    each(&event, context);
}

static void tell_lost(const lkc_lock *lock, lkc_event_fn *each, void *context) {
    for (const lkc_record *record = lock->gone_head; record; record = record->next_gone) {
        if (!record->tells_lost)
            continue;
        lkc_event event = {.kind = LKC_EVENT_LOST,
                           .handle = record->handle,
                           .fence = record->hold.fence,
                           .time_us = lock->now_us};
        each(&event, context);
    }
}

void lkc_lock_events(const lkc_lock *lock, lkc_event_fn *each, void *context) {
    if (!lock->granted_before_lost)
        tell_lost(lock, each, context);
    for (const lkc_record *record = lock->granted_head; record; record = record->next_granted) {
        tell_granted(lock, record, each, context);
        if (record == lock->granted_before_lost)
            tell_lost(lock, each, context);
    }
    if (lock->watch) {
        lkc_event event = {.kind = LKC_EVENT_WATCH,
                           .handle = lock->watch->handle,
                           .req = lock->watch->wait.req,
                           .time_us = lock->now_us,
                           .ms = lkc_next_ms(lock)};
        each(&event, context);
    }
}
