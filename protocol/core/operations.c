/*
 * The operations that change a lock, except acquire: release, convert, renew, cancel and force
 * (SPEC 10.4 to 10.7, 10.9).
 */
#include "records.h"
#include "replies.h"
#include "settle.h"

/* release and convert (SPEC 10.4, 10.6): a hold gives up one of its counts. */

/* True, with the reply, when the request is refused: SPEC 9.4, then 9.5, then a missing count. */
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
    lkc_hold_count(lock, hold, reads, writes);
    hold->hold.last = req;
    hold->hold.last_by = (uint8_t)by;
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
    if (args->mode == LKC_WRITE && writes == 0 && args->told)
        lkc_mark_clear(lock, hold); /* SPEC 6.3 */
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
        if (hold->hold.writes == 0)
            lkc_mark_clear(lock, hold); /* SPEC 6.3 */
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

/* renew (SPEC 10.5): one entry. */

/* SPEC 5.1, 5.3. */
static void extend_hold(lkc_lock *lock, lkc_record *hold, uint64_t lease_us) {
    lkc_record_extend(lock, hold, lock->now_us + lease_us);
    hold->provisional = false;
}

/* `told`: the waiter whose place is in the reply, or NULL. */
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
        lkc_waiter_renew(lock, mine.waiter, args->lease_ms);
        if (mine.waiter->role == LKC_ROLE_WAITER) {
            *told = mine.waiter;
            return lkc_reply_queued(lock, mine.waiter);
        }
        mine.hold = mine.waiter; /* SPEC 5.6: the client missed a grant, and has another now */
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

/* cancel (SPEC 10.7). */

static lkc_reply cancel(lkc_lock *lock, const lkc_cancel_args *args) {
    lkc_pair mine = lkc_pair_find(lock, &args->handle);
    lkc_record *hold = mine.hold;
    if (mine.waiter && mine.waiter->wait.req == args->target) {
        if (mine.waiter->role == LKC_ROLE_MISSED)
            lkc_mark_withdraw(lock, mine.waiter); /* SPEC 5.6 */
        lkc_waiter_remove(lock, mine.waiter);
        lkc_record_free(lock, mine.waiter);
        if (hold && args->req > hold->hold.last) { /* SPEC 9.1 */
            hold->hold.last = args->req;
            hold->hold.last_by = LKC_BY_CANCEL;
        }
    } else if (hold &&
               (hold->hold.granted_for == args->target ||
                (hold->hold.last == args->target && hold->hold.last_by == LKC_BY_ACQUIRE))) {
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

/* force (SPEC 10.9). */

/* NULL when there is no such owner. The text is not empty. */
static const lkc_name *find_owner(const lkc_lock *lock, lkc_text text) {
    static const lkc_handle nobody; /* would stand for an empty text */
    char packed[LKC_HANDLE_PACKED];
    lkc_name_key key = lkc_owner_key(text, &nobody, packed);
    return lkc_names_find(&lock->owners, &key);
}

static size_t force(lkc_lock *lock, lkc_text text) {
    const lkc_name *owner = text.length > 0 ? find_owner(lock, text) : NULL;
    if (text.length > 0 && !owner)
        return 0;
    /* Count now: the name may be freed with the last hold of the owner. */
    size_t wanted = owner ? owner->count : lkc_tree_size(&lock->holds);
    size_t forced = 0, at = 0;
    lkc_loss loss = {false};
    while (forced < wanted) {
        lkc_record *hold = lkc_record_by_deadline(lkc_tree_at(&lock->holds, at));
        if (owner && hold->owner != owner) {
            at++;
        } else {
            lkc_hold_lose(lock, &loss, hold, lock->now_us, true);
            forced++;
        }
    }
    lkc_loss_end(lock, &loss);
    return forced;
}

lkc_outcome lkc_lock_force(lkc_lock *lock, uint64_t now_us, lkc_text owner, lkc_reply *reply) {
    lkc_operation_begin(lock, now_us);
    lock->granted_before_lost = lock->granted_tail; /* SPEC 10.10 */
    *reply = (lkc_reply){.answer = LKC_FORCED, .count = force(lock, owner)};
    lkc_operation_end(lock, NULL);
    return LKC_DONE;
}
