/* Giving back, and turning a write into a read. See operation.h. */
#include "base/clock.h"
#include "lock/hold.h"
#include "lock/operation.h"

/* A lost hold is given back without asking anybody: the server has none, or soon will not. */
static bool is_held(lki_operation *op, bool counts, lk_mode mode) {
    lk_lock *lock = op->lock;
    unsigned held = mode == LK_WRITE ? lock->writes : lock->reads;
    if (held && !lock->lost)
        return true;
    if (!held) {
        lki_operation_report(op, LK_NOT_HELD, "this handle has no %s hold",
                             mode == LK_WRITE ? "write" : "read");
    } else {
        lki_operation_report(op, LK_LOST, NULL);
        if (counts)
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

/* Operations ahead of it change which hold is the last: so that is decided when it begins. */
static bool choose_last(lki_operation *op) {
    if (!op->of_last || op->state != LKI_PENDING || lki_release_last(op->lock, op, &op->mode))
        return true;
    lki_operation_report(op, LK_NOT_HELD, "this handle has no hold that is not being given back");
    lki_operation_over(op);
    return false;
}

bool lki_release_check(lki_operation *op) {
    if (!choose_last(op))
        return false;
    if (!is_held(op, true, op->mode))
        return false;
    op->fence = op->lock->fence;
    return true;
}

bool lki_convert_check(lki_operation *op) {
    if (!is_held(op, false, LK_WRITE))
        return false;
    op->fence = op->lock->fence;
    return true;
}

static void finish(lki_operation *op, lk_status status) {
    lki_operation_report(op, status, NULL);
    lki_operation_over(op);
}

/*
 * A fence below those of the present hold is an earlier hold's, which is gone, as it was to be.
 *
 * SPEC 9.6: a server that has done it, and has nothing of the handle left, says not-held to the
 * second asking. That is done, if the hold cannot have run out before.
 */
static bool was_done_before(const lki_operation *op) {
    const lk_lock *lock = op->lock;
    return op->in_doubt && lock->reads + lock->writes == 1 && lki_now_us() < lock->deadline_us;
}

void lki_release_answered(lki_operation *op, const lki_answer *answer) {
    lk_lock *lock = op->lock;
    lk_status status = LK_OK;
    if (op->reported) {
        /* Of many counts that a handle gives back at its end, none is there if one is not. */
        bool is_unused = lock->freed || lock->session->closing;
        if (is_unused && answer->word == LKI_ANSWER_NOT_HELD && op->fence >= lock->first_fence &&
            op->fence <= lock->fence)
            lki_hold_lose(lock, "the server says that it is not held any more");
        finish(op, LK_OK);
        return;
    }
    switch (answer->word) {
    case LKI_ANSWER_RELEASED:
        break;
    case LKI_ANSWER_NOT_HELD:
        if (!was_done_before(op) && op->fence >= lock->first_fence)
            lki_hold_lose(lock, "the server says that it is not held any more");
        break;
    default:
        lki_operation_report(op, LK_INTERNAL, "the server's answer to release makes no sense");
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
    if (op->reported) {
        if (answer->word == LKI_ANSWER_NOT_HELD)
            lki_hold_lose(lock, "the server says that it is not held any more");
        lki_operation_over(op);
        return;
    }
    if (answer->word == LKI_ANSWER_NOT_HELD)
        lki_hold_lose(lock, "the server says that it is not held any more");
    else if (answer->word != LKI_ANSWER_GRANTED)
        status = LK_INTERNAL;
    if (lock->lost || !lock->writes) /* it may even have been unlocked meanwhile */
        status = LK_LOST;
    if (status == LK_OK)
        lki_hold_downgraded(lock);
    finish(op, status);
}

/* Of the counts of this kind, those that no release before this one is about to give back. */
static unsigned counts_left(const lki_operation *op, lk_mode mode) {
    const lk_lock *lock = op->lock;
    const lki_operation *asked = lock->asked;
    unsigned counts = mode == LK_WRITE ? lock->writes : lock->reads;
    bool is_spoken_for = asked && asked != op && asked->kind == LKI_DO_RELEASE &&
                         !asked->reported && asked->mode == mode;
    return counts - (is_spoken_for && counts ? 1 : 0);
}

void lki_operation_given_up(lki_operation *op) {
    lk_lock *lock = op->lock;
    if (!choose_last(op))
        return;
    lk_mode mode = op->kind == LKI_DO_CONVERT ? LK_WRITE : op->mode;
    if (!counts_left(op, mode) || lock->lost) {
        if (lock->lost && op->kind == LKI_DO_RELEASE)
            lki_hold_released(lock, mode);
        lki_operation_over(op);
        return;
    }
    if (op->state == LKI_PENDING) {
        op->fence = lock->fence;
        lki_operation_put_ahead(op);
    }
    if (op->kind == LKI_DO_CONVERT) {
        lki_hold_downgraded(lock);
        return;
    }
    lki_hold_released(lock, op->mode);
}
