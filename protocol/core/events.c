/*
 * See events.h. A record that has an event and goes in the same operation is kept in the list
 * `gone`, in the order of going. Holds are lost in the order of their deadlines and handles, so
 * this is also the order that SPEC 10.10 wants.
 *
 * What a granted event says is that of the instant of granting, even if the same operation goes on
 * to renew, release or drop the hold. Its fence needs no room: that of a new hold is its first one,
 * and that of an upgrade cannot change again before the hold has lost its last write.
 */
#include "events.h"
#include "records.h"
#include "replies.h"

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
    hold->granted_flags = (uint8_t)lkc_flags(lock);
    hold->next_granted = NULL;
    if (lock->granted_tail)
        lock->granted_tail->next_granted = hold;
    else
        lock->granted_head = hold;
    lock->granted_tail = hold;
}

static void tell_granted(const lkc_lock *lock, const lkc_record *record, lkc_event_fn *each,
                         void *context) {
    lkc_event event = {.kind = LKC_EVENT_GRANTED,
                       .handle = record->handle,
                       .req = record->hold.granted_for,
                       .fence =
                           record->granted_anew ? record->hold.first_fence : record->hold.fence,
                       .time_us = lock->now_us,
                       .ms = record->granted_ms,
                       .flags = record->granted_flags};
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
