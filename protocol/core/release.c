/* release and convert (SPEC 10.4, 10.6): a hold gives back one of its counts. */
#include "grant.h"
#include "replies.h"
#include "requests.h"
#include "settle.h"

/* SPEC 9.4, 9.5, and a hold without such a count; in this order. False: the request may go on. */
static bool refuse(const lki_pair *mine, uint64_t req, uint64_t fence, lki_mode mode,
                   lki_reply *reply) {
    const lki_party *hold = mine->hold;
    if (lki_request_is_stale(mine, req)) {
        *reply = lki_reply_of(LKI_STALE);
        return true;
    }
    if (!lki_request_means(hold, fence) ||
        (mode == LKI_READ ? hold->hold.reads : hold->hold.writes) == 0) {
        *reply = lki_reply_of(LKI_NOT_HELD);
        return true;
    }
    return false;
}

static void count(lki_lock *lock, lki_party *hold, unsigned reads, unsigned writes, uint64_t req,
                  lki_by by) {
    bool wrote = hold->hold.writes > 0;
    lki_hold_count(lock, hold, reads, writes);
    hold->hold.last = req;
    hold->hold.by = (uint8_t)by;
    if (wrote && writes == 0)
        lki_mark_clear(lock, hold); /* SPEC 6.3 */
}

static lki_reply released(unsigned reads, unsigned writes) {
    return (lki_reply){.answer = LKI_RELEASED, .reads = reads, .writes = writes};
}

static void end_hold(lki_lock *lock, lki_party *hold) {
    lki_hold_remove(lock, hold);
    lki_party_free(lock, hold);
    if (lock->upgrade && lock->upgrade->owner->count == 0)
        lki_upgrade_demote(lock); /* SPEC 4.5 */
}

static lki_reply release(lki_lock *lock, const lki_release_args *args) {
    lki_reply reply;
    lki_pair mine = lki_pair_find(lock, &args->handle);
    lki_party *hold = mine.hold;
    if (lki_request_repeats(&mine, args->req, LKI_BY_RELEASE))
        return released(hold->hold.reads, hold->hold.writes); /* SPEC 9.3 */
    if (refuse(&mine, args->req, args->fence, args->mode, &reply))
        return reply;
    unsigned reads = hold->hold.reads - (args->mode == LKI_READ ? 1U : 0U);
    unsigned writes = hold->hold.writes - (args->mode == LKI_WRITE ? 1U : 0U);
    count(lock, hold, reads, writes, args->req, LKI_BY_RELEASE);
    if (reads == 0 && writes == 0)
        end_hold(lock, hold);
    return released(reads, writes);
}

lki_outcome lki_lock_release(lki_lock *lock, uint64_t now_us, const lki_release_args *args,
                             lki_reply *reply) {
    lki_operation_begin(lock, now_us);
    *reply = release(lock, args);
    lki_operation_end(lock, NULL); /* SPEC 4.8: settles */
    return LKI_DONE;
}

static lki_outcome convert(lki_lock *lock, const lki_convert_args *args, lki_reply *reply) {
    lki_pair mine = lki_pair_find(lock, &args->handle);
    lki_party *hold = mine.hold;
    if (!lki_request_repeats(&mine, args->req, LKI_BY_CONVERT)) { /* SPEC 9.3 */
        if (refuse(&mine, args->req, args->fence, LKI_WRITE, reply))
            return LKI_DONE;
        if (hold->hold.reads == LKI_COUNT_MOST)
            return LKI_TOO_DEEP;
        count(lock, hold, hold->hold.reads + 1U, hold->hold.writes - 1U, args->req,
              LKI_BY_CONVERT); /* SPEC 4.7 */
    }
    *reply = lki_reply_granted(lock, hold);
    return LKI_DONE;
}

lki_outcome lki_lock_convert(lki_lock *lock, uint64_t now_us, const lki_convert_args *args,
                             lki_reply *reply) {
    lki_operation_begin(lock, now_us);
    lki_outcome outcome = convert(lock, args, reply);
    lki_operation_end(lock, NULL); /* SPEC 4.7: settles */
    return outcome;
}
