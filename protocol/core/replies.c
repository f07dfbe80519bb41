/* See replies.h. */
#include "replies.h"
#include "grant.h"

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
    /* Rounded up: who comes back after this many ms must find that something has run out. */
    return (earliest_us - lock->now_us + LKC_MS_US - 1) / LKC_MS_US;
}

unsigned lkc_flags(const lkc_lock *lock) {
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
                       .flags = lkc_flags(lock)};
}

lkc_reply lkc_reply_queued(const lkc_lock *lock, const lkc_record *waiter) {
    return (lkc_reply){
        .answer = LKC_QUEUED, .place = lkc_order_place(lock, waiter), .ms = lkc_next_ms(lock)};
}
