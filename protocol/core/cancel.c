/* cancel (SPEC 10.7). */
#include "replies.h"
#include "requests.h"
#include "settle.h"

static lki_reply cancel(lki_lock *lock, const lki_cancel_args *args) {
    lki_pair mine = lki_pair_find(lock, &args->handle);
    lki_party *hold = mine.hold;
    if (mine.waiter && mine.waiter->wait.req == args->target) {
        lki_waiter_remove(lock, mine.waiter);
        lki_party_free(lock, mine.waiter);
        if (hold && args->req > hold->hold.last) { /* SPEC 9.1 */
            hold->hold.last = args->req;
            hold->hold.by = LKI_BY_CANCEL;
        }
    } else if (hold && (hold->hold.granted_for == args->target ||
                        (hold->hold.last == args->target && hold->hold.by == LKI_BY_ACQUIRE))) {
        return lki_reply_granted(lock, hold);
    }
    return lki_reply_of(LKI_CANCELLED);
}

lki_outcome lki_lock_cancel(lki_lock *lock, uint64_t now_us, const lki_cancel_args *args,
                            lki_reply *reply) {
    lki_operation_begin(lock, now_us);
    *reply = cancel(lock, args);
    lki_operation_end(lock, NULL);
    return LKI_DONE;
}
