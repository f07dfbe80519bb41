/* renew, one entry (SPEC 10.5). */
#include "replies.h"
#include "requests.h"
#include "settle.h"

/* SPEC 5.1, 5.3. */
static void extend_hold(lkc_lock *lock, lkc_record *hold, uint64_t lease_us) {
    lkc_record_extend(lock, hold, lock->now_us + lease_us);
    hold->provisional = false;
}

/* `told`: the waiter whose place the answer tells, or NULL. */
static lkc_reply renew(lkc_lock *lock, const lkc_renew_args *args, const lkc_record **told) {
    lkc_pair mine = lkc_pair_find(lock, &args->handle);
    uint64_t lease_us = args->lease_ms * LKC_MS_US;
    *told = NULL;
    if (args->fence != 0) {
        if (!lkc_request_means(mine.hold, args->fence))
            return lkc_reply_of(LKC_NOT_HELD);
        extend_hold(lock, mine.hold, lease_us);
        return (lkc_reply){.answer = LKC_LEASE, .ms = lkc_left_ms(lock, mine.hold)};
    }
    if (mine.waiter && mine.waiter->wait.req == args->req) {
        uint64_t until_us = lock->now_us + lkc_min(lease_us, LKC_LIVENESS_US);
        lkc_record_extend(lock, mine.waiter, until_us); /* SPEC 5.4 */
        *told = mine.waiter;
        return lkc_reply_queued(lock, mine.waiter);
    }
    if (mine.hold && mine.hold->hold.granted_for == args->req) {
        extend_hold(lock, mine.hold, lease_us);
        return lkc_reply_granted(lock, mine.hold);
    }
    return lkc_reply_of(LKC_NOT_HELD);
}

lkc_outcome lkc_lock_renew(lkc_lock *lock, uint64_t now_us, const lkc_renew_args *args,
                           lkc_reply *reply) {
    const lkc_record *told;
    lkc_operation_begin(lock, now_us);
    *reply = renew(lock, args, &told);
    lkc_operation_end(lock, told);
    return LKC_DONE;
}
