/* See replies.h. */
#include "replies.h"
#include "order.h"

uint64_t lki_left_ms(const lki_lock *lock, const lki_party *party) {
    return (party->deadline_us - lock->now_us) / LKI_MS_US;
}

uint64_t lki_next_ms(const lki_lock *lock) {
    uint64_t earliest_us = UINT64_MAX;
    const lki_party *hold = lki_party_by_deadline(lki_tree_head(&lock->holds));
    const lki_party *waiter = lki_party_by_deadline(lki_tree_head(&lock->waiters));
    if (hold)
        earliest_us = hold->deadline_us;
    if (waiter)
        earliest_us = lki_min(earliest_us, waiter->deadline_us);
    /* Rounded up: who comes back after this many ms must find that something has run out. */
    return (earliest_us - lock->now_us + LKI_MS_US - 1) / LKI_MS_US;
}

unsigned lki_flags(const lki_lock *lock) {
    unsigned abandoned = lock->marked ? LKI_FLAG_ABANDONED : 0; /* SPEC 6.2 */
    return abandoned | (unsigned)lock->policy << LKI_FLAG_POLICY_SHIFT;
}

lki_reply lki_reply_of(lki_answer answer) {
    return (lki_reply){.answer = answer};
}

lki_reply lki_reply_granted(const lki_lock *lock, const lki_party *hold) {
    return (lki_reply){.answer = LKI_GRANTED,
                       .fence = hold->hold.fence,
                       .ms = lki_left_ms(lock, hold),
                       .flags = lki_flags(lock)};
}

lki_reply lki_reply_queued(const lki_lock *lock, const lki_party *waiter) {
    return (lki_reply){
        .answer = LKI_QUEUED, .place = lki_order_place(lock, waiter), .ms = lki_next_ms(lock)};
}
