/* renew, one entry (SPEC 10.5). */
#include "replies.h"
#include "requests.h"
#include "settle.h"

/* SPEC 5.1, 5.3. */
static void extend_hold(lki_lock *lock, lki_party *hold, uint64_t lease_us) {
    lki_party_extend(lock, hold, lock->now_us + lease_us);
    hold->provisional = false;
}

/* `told`: the waiter whose place the answer tells, or NULL. */
static lki_reply renew(lki_lock *lock, const lki_renew_args *args, const lki_party **told) {
    lki_pair mine = lki_pair_find(lock, &args->handle);
    uint64_t lease_us = args->lease_ms * LKI_MS_US;
    *told = NULL;
    if (args->fence != 0) {
        if (!lki_request_means(mine.hold, args->fence))
            return lki_reply_of(LKI_NOT_HELD);
        extend_hold(lock, mine.hold, lease_us);
        return (lki_reply){.answer = LKI_LEASE, .ms = lki_left_ms(lock, mine.hold)};
    }
    if (mine.waiter && mine.waiter->wait.req == args->req) {
        uint64_t until_us = lock->now_us + lki_min(lease_us, LKI_LIVENESS_US);
        lki_party_extend(lock, mine.waiter, until_us); /* SPEC 5.4 */
        *told = mine.waiter;
        return lki_reply_queued(lock, mine.waiter);
    }
    if (mine.hold && mine.hold->hold.granted_for == args->req) {
        extend_hold(lock, mine.hold, lease_us);
        return lki_reply_granted(lock, mine.hold);
    }
    return lki_reply_of(LKI_NOT_HELD);
}

lki_outcome lki_lock_renew(lki_lock *lock, uint64_t now_us, const lki_renew_args *args,
                           lki_reply *reply) {
    const lki_party *told;
    lki_operation_begin(lock, now_us);
    *reply = renew(lock, args, &told);
    lki_operation_end(lock, told);
    return LKI_DONE;
}
