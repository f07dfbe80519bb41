/* release and convert (SPEC 10.4, 10.6): a hold gives back one of its counts. */
#include "grant.h"
#include "replies.h"
#include "requests.h"
#include "settle.h"

/* SPEC 9.4, 9.5, and a hold without such a count; in this order. False: the request may go on. */
static bool refuse(const lkc_pair *mine, uint64_t req, uint64_t fence, lkc_mode mode,
                   lkc_reply *reply) {
    const lkc_record *hold = mine->hold;
    if (lkc_request_is_stale(mine, req)) {
        *reply = lkc_reply_of(LKC_STALE);
        return true;
    }
    if (!lkc_request_means(hold, fence) ||
        (mode == LKC_READ ? hold->hold.reads : hold->hold.writes) == 0) {
        *reply = lkc_reply_of(LKC_NOT_HELD);
        return true;
    }
    return false;
}

static void count(lkc_lock *lock, lkc_record *hold, unsigned reads, unsigned writes, uint64_t req,
                  lkc_by by) {
    bool wrote = hold->hold.writes > 0;
    lkc_hold_count(lock, hold, reads, writes);
    hold->hold.last = req;
    hold->hold.by = (uint8_t)by;
    if (wrote && writes == 0)
        lkc_mark_clear(lock, hold); /* SPEC 6.3 */
}

static lkc_reply released(unsigned reads, unsigned writes) {
    return (lkc_reply){.answer = LKC_RELEASED, .reads = reads, .writes = writes};
}

static void end_hold(lkc_lock *lock, lkc_record *hold) {
    lkc_hold_remove(lock, hold);
    lkc_record_free(lock, hold);
    if (lock->upgrade && lock->upgrade->owner->count == 0)
        lkc_upgrade_demote(lock); /* SPEC 4.5 */
}

static lkc_reply release(lkc_lock *lock, const lkc_release_args *args) {
    lkc_reply reply;
    lkc_pair mine = lkc_pair_find(lock, &args->handle);
    lkc_record *hold = mine.hold;
    if (lkc_request_repeats(&mine, args->req, LKC_BY_RELEASE))
        return released(hold->hold.reads, hold->hold.writes); /* SPEC 9.3 */
    if (refuse(&mine, args->req, args->fence, args->mode, &reply))
        return reply;
    unsigned reads = hold->hold.reads - (args->mode == LKC_READ ? 1U : 0U);
    unsigned writes = hold->hold.writes - (args->mode == LKC_WRITE ? 1U : 0U);
    count(lock, hold, reads, writes, args->req, LKC_BY_RELEASE);
    if (reads == 0 && writes == 0)
        end_hold(lock, hold);
    return released(reads, writes);
}

lkc_outcome lkc_lock_release(lkc_lock *lock, uint64_t now_us, const lkc_release_args *args,
                             lkc_reply *reply) {
    lkc_operation_begin(lock, now_us);
    *reply = release(lock, args);
    lkc_operation_end(lock, NULL); /* SPEC 4.8: settles */
    return LKC_DONE;
}

static lkc_outcome convert(lkc_lock *lock, const lkc_convert_args *args, lkc_reply *reply) {
    lkc_pair mine = lkc_pair_find(lock, &args->handle);
    lkc_record *hold = mine.hold;
    if (!lkc_request_repeats(&mine, args->req, LKC_BY_CONVERT)) { /* SPEC 9.3 */
        if (refuse(&mine, args->req, args->fence, LKC_WRITE, reply))
            return LKC_DONE;
        if (hold->hold.reads == LKC_COUNT_MOST)
            return LKC_TOO_DEEP;
        count(lock, hold, hold->hold.reads + 1U, hold->hold.writes - 1U, args->req,
              LKC_BY_CONVERT); /* SPEC 4.7 */
    }
    *reply = lkc_reply_granted(lock, hold);
    return LKC_DONE;
}

lkc_outcome lkc_lock_convert(lkc_lock *lock, uint64_t now_us, const lkc_convert_args *args,
                             lkc_reply *reply) {
    lkc_operation_begin(lock, now_us);
    lkc_outcome outcome = convert(lock, args, reply);
    lkc_operation_end(lock, NULL); /* SPEC 4.7: settles */
    return outcome;
}
