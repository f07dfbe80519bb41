/* What the answers to a release and to a downgrade mean. See operation.h. */
#include "base/clock.h"
#include "lock/hold.h"
#include "lock/operation.h"
#include "lock/repeats.h"

/*
 * Whether there is a count of this mode to release or downgrade; if not, reports and ends the
 * operation. A lost hold needs no request: a release only removes the count.
 */
static bool check_held(lki_operation *op, bool is_release, lk_mode mode) {
    lk_lock *lock = op->lock;
    unsigned held = mode == LK_WRITE ? lock->writes : lock->reads;
    if (held && !lock->lost)
        return true;
    if (!held) {
        lki_operation_report(op, LK_NOT_HELD, "this handle has no %s hold",
                             mode == LK_WRITE ? "write" : "read");
    } else {
        lki_operation_report(op, LK_LOST, NULL);
        if (is_release)
            lki_hold_released(lock, mode);
    }
    lki_operation_over(op);
    return false;
}

bool lki_release_last(const lk_lock *lock, const lki_operation *op, lk_mode *out) {
    size_t reads = 0, writes = 0;
    const lki_operation *ahead = lock->asked ? lock->asked : lock->pending;
    while (ahead && ahead != op) {
        if (ahead->kind == LKI_DO_RELEASE && !ahead->reported) {
            lk_mode mode = ahead->mode;
            bool is_open = ahead->of_last && ahead != lock->asked;
            if (!is_open || lki_order_last(&lock->order, reads, writes, &mode))
                ++*(mode == LK_WRITE ? &writes : &reads);
        }
        ahead = ahead == lock->asked ? lock->pending : ahead->next;
    }
    return lki_order_last(&lock->order, reads, writes, out);
}

/* lk_unlock: operations ahead of it change which count is the last, so choose when it begins. */
static bool choose_mode(lki_operation *op) {
    if (!op->of_last || op->state != LKI_PENDING || lki_release_last(op->lock, op, &op->mode))
        return true;
    lki_operation_report(op, LK_NOT_HELD,
                         "this handle has no hold that is not already being released");
    lki_operation_over(op);
    return false;
}

static void name_hold(lki_operation *op) {
    op->fence = op->lock->fence;
    op->first_fence = op->lock->first_fence;
}

bool lki_release_check(lki_operation *op) {
    if (!choose_mode(op))
        return false;
    if (!check_held(op, true, op->mode))
        return false;
    name_hold(op);
    return true;
}

bool lki_convert_check(lki_operation *op) {
    if (!check_held(op, false, LK_WRITE))
        return false;
    name_hold(op);
    return true;
}

static bool begin_alone(lk_lock *lock, lk_mode mode, uint64_t fence, bool is_untold) {
    lki_operation *release = lki_operation_new(lock, LKI_DO_RELEASE, mode);
    if (!release)
        return false;
    release->reported = true;
    release->fence = release->first_fence = fence;
    release->is_untold = is_untold;
    lki_operation_begin(release);
    lki_operation_release(release);
    return true;
}

bool lki_undo(lk_lock *lock, lk_mode mode, uint64_t fence) {
    return begin_alone(lock, mode, fence, true);
}

bool lki_release_begin(lk_lock *lock, lk_mode mode) {
    return begin_alone(lock, mode, lock->first_fence, false);
}

void lki_drop_begin(lk_lock *lock) {
    lki_operation *drop = lki_operation_new(lock, LKI_DO_DROP, LK_READ);
    if (!drop)
        return;
    drop->reported = true;
    lki_operation_begin(drop);
    lki_operation_release(drop);
}

static void finish(lki_operation *op, lk_status status) {
    lki_operation_report(op, status, NULL);
    lki_operation_over(op);
}

/*
 * SPEC 9.6: if the server has done the release, and the handle has no hold left, it answers
 * not-held to the repeated request. So the release succeeded, unless the hold may have expired
 * before, or another server answers: that may never have had the hold.
 */
static bool was_done_already(const lki_operation *op) {
    const lk_lock *lock = op->lock;
    return op->in_doubt && op->life == lock->server->life && lock->reads + lock->writes == 1 &&
           lki_now_us() < lock->deadline_us;
}

/* For a server that takes the place of this one, and may not have heard of it. */
static void note_for_next_server(const lki_operation *op) {
    lk_lock *lock = op->lock;
    if (lock->session->topology->methods->watch)
        lki_repeats_note(&lock->locks->repeats, op);
}

void lki_release_answered(lki_operation *op, const lki_answer *answer) {
    lk_lock *lock = op->lock;
    lk_status status = LK_OK;
    if (answer->word == LKI_ANSWER_RELEASED)
        note_for_next_server(op);
    if (op->reported) {
        /*
         * One not-held answer means that the whole hold is gone: the other counts need no release.
         */
        bool is_unused = lock->freed || lock->session->closing;
        if (is_unused && answer->word == LKI_ANSWER_NOT_HELD && op->fence >= lock->first_fence &&
            op->fence <= lock->fence)
            lki_hold_gone(lock);
        finish(op, LK_OK);
        return;
    }
    switch (answer->word) {
    case LKI_ANSWER_RELEASED:
        break;
    case LKI_ANSWER_NOT_HELD: /* a fence below first_fence means an earlier hold, which is gone */
        if (!was_done_already(op) && op->fence >= lock->first_fence)
            lki_hold_gone(lock);
        break;
    default:
        lki_operation_report(op, LK_INTERNAL, "the server sent an invalid answer to release");
        lki_operation_over(op);
        return;
    }
    if (lock->lost)
        status = LK_LOST;
    lki_hold_released(lock, op->mode);
    finish(op, status);
}

void lki_convert_answered(lki_operation *op, const lki_answer *answer) {
    lk_lock *lock = op->lock;
    lk_status status = LK_OK;
    if (answer->word == LKI_ANSWER_GRANTED)
        note_for_next_server(op);
    if (op->reported) {
        if (answer->word == LKI_ANSWER_NOT_HELD)
            lki_hold_gone(lock);
        lki_operation_over(op);
        return;
    }
    if (answer->word == LKI_ANSWER_NOT_HELD)
        lki_hold_gone(lock);
    else if (answer->word != LKI_ANSWER_GRANTED)
        status = LK_INTERNAL;
    if (lock->lost || !lock->writes) /* also if another thread has unlocked it meanwhile */
        status = LK_LOST;
    if (status == LK_OK)
        lki_hold_downgraded(lock);
    finish(op, status);
}

/* The counts of this mode, without one that an unanswered release will remove. */
static unsigned counts_left(const lki_operation *op, lk_mode mode) {
    const lk_lock *lock = op->lock;
    const lki_operation *asked = lock->asked;
    unsigned counts = mode == LK_WRITE ? lock->writes : lock->reads;
    bool is_releasing = asked && asked != op && asked->kind == LKI_DO_RELEASE && !asked->reported &&
                        asked->mode == mode;
    return counts - (is_releasing && counts ? 1 : 0);
}

void lki_release_go_on_alone(lki_operation *op) {
    lk_lock *lock = op->lock;
    if (!choose_mode(op))
        return;
    lk_mode mode = op->kind == LKI_DO_CONVERT ? LK_WRITE : op->mode;
    if (!counts_left(op, mode) || lock->lost) {
        if (lock->lost && op->kind == LKI_DO_RELEASE)
            lki_hold_released(lock, mode);
        lki_operation_over(op);
        return;
    }
    if (op->state == LKI_PENDING) {
        name_hold(op);
        lki_operation_put_ahead(op);
    }
    op->fence = op->first_fence; /* a new master may have the hold as it was before an upgrade */
    if (op->kind == LKI_DO_CONVERT) {
        lki_hold_downgraded(lock);
        return;
    }
    lki_hold_released(lock, op->mode);
}
