/* cancel (SPEC 10.7). */
#include "replies.h"
#include "requests.h"
#include "settle.h"

static lkc_reply cancel(lkc_lock *lock, const lkc_cancel_args *args) {
    lkc_pair mine = lkc_pair_find(lock, &args->handle);
    lkc_record *hold = mine.hold;
    if (mine.waiter && mine.waiter->wait.req == args->target) {
        lkc_waiter_remove(lock, mine.waiter);
        lkc_record_free(lock, mine.waiter);
        if (hold && args->req > hold->hold.last) { /* SPEC 9.1 */
            hold->hold.last = args->req;
            hold->hold.by = LKC_BY_CANCEL;
        }
    } else if (hold && (hold->hold.granted_for == args->target ||
                        (hold->hold.last == args->target && hold->hold.by == LKC_BY_ACQUIRE))) {
        return lkc_reply_granted(lock, hold);
    }
    return lkc_reply_of(LKC_CANCELLED);
}

lkc_outcome lkc_lock_cancel(lkc_lock *lock, uint64_t now_us, const lkc_cancel_args *args,
                            lkc_reply *reply) {
    lkc_operation_begin(lock, now_us);
    *reply = cancel(lock, args);
    lkc_operation_end(lock, NULL);
    return LKC_DONE;
}
