/* Taking: what the answers to an acquire and to its cancel mean. See operation.h. */
#include "base/clock.h"
#include "lock/hold.h"
#include "lock/operation.h"
#include "lock/renewal.h"

enum { CANCEL_RETRY_MS = 100 };

bool lki_acquire_check(lki_operation *op) {
    if (!op->lock->lost)
        return true;
    lki_operation_report(op, LK_LOST,
                         "the handle has lost its hold; unlock it, once for each time it was "
                         "taken, before taking it again");
    lki_operation_over(op);
    return false;
}

/* ------------------------------------------------------------------------------ granted */

bool lki_undo(lk_lock *lock, lk_mode mode, uint64_t fence) {
    lki_operation *undo = lki_operation_new(lock, LKI_DO_RELEASE, mode);
    if (!undo)
        return false;
    undo->reported = true;
    undo->fence = fence;
    lki_operation_begin(undo);
    lki_operation_release(undo);
    return true;
}

/* Nobody is there to have it. Without memory for that now, the cancel finds it granted once more.
 */
static void take_back(lki_operation *op, uint64_t fence) {
    if (lki_undo(op->lock, op->mode, fence)) {
        lki_operation_over(op);
        return;
    }
    op->in_doubt = true;
    op->retry_us = lki_after_ms(lki_now_us(), CANCEL_RETRY_MS);
    if (op->kind == LKI_DO_ACQUIRE)
        lki_operation_leave(op, op->result.status);
    else
        lki_operation_set(op, LKI_UNSENT);
}

void lki_acquire_granted(lki_operation *op, const lki_answer *answer, int64_t from_us,
                         bool claimed) {
    lk_lock *lock = op->lock;
    if (lock->lost)
        lki_operation_report(op, LK_LOST, NULL);
    else if (lki_hold_begins(lock) && lki_lease_end_us(from_us, answer->ms) <= lki_now_us())
        lki_operation_report(op, op->state == LKI_CANCELING ? op->cancel_status : LK_UNAVAILABLE,
                             "it was granted, but the server's answer came when the lease of "
                             "%lld ms was over",
                             (long long)answer->ms);
    if (op->reported) {
        take_back(op, answer->fence);
        return;
    }
    lki_hold_granted(lock, op->mode, answer, from_us, claimed);
    lki_operation_report(op, LK_OK, NULL);
    lki_operation_over(op);
}

/* ------------------------------------------------------------------------------ answered */

static void queued(lki_operation *op, const lki_answer *answer) {
    lk_lock *lock = op->lock;
    int64_t now_us = lki_now_us();
    lock->asked = NULL;
    lock->waiting = op;
    op->in_doubt = false;
    op->silent_since_us = now_us;
    lki_waiter_schedule_refresh(lock, answer->position, answer->ms, op->ask.sent_us);
    if (op->state == LKI_ASKED)
        lki_operation_set(op, LKI_WAITING);
    lki_lock_changed(lock);
}

static void busy(lki_operation *op) {
    lk_lock *lock = op->lock;
    bool is_canceling = op->state == LKI_CANCELING;
    if (is_canceling || !op->wait) {
        lki_operation_report(op, is_canceling ? op->cancel_status : LK_BUSY, NULL);
        lki_operation_over(op);
        return;
    }
    /* Asked without waiting, because nobody could have heard a grant. */
    lock->asked = NULL;
    lock->waiting = op;
    op->in_doubt = false;
    op->request = 0; /* others may use greater ones before it asks again */
    op->silent_since_us = lki_now_us();
    lki_operation_set(op, LKI_SUBSCRIBING);
    lki_server_want_messages(lock->server);
}

void lki_acquire_answered(lki_operation *op, const lki_answer *answer) {
    switch (answer->word) {
    case LKI_ANSWER_GRANTED:
        lki_acquire_granted(op, answer, op->ask.sent_us, true);
        return;
    case LKI_ANSWER_QUEUED:
        queued(op, answer);
        return;
    case LKI_ANSWER_BUSY:
        busy(op);
        return;
    case LKI_ANSWER_DEADLOCK:
        lki_operation_report(op, LK_DEADLOCK, NULL);
        break;
    case LKI_ANSWER_NOT_HELD:
        lki_hold_lose(op->lock, "the server says that it is not held any more");
        lki_operation_report(op, LK_LOST, NULL);
        break;
    default:
        lki_operation_report(op, LK_INTERNAL, "the server's answer to acquire makes no sense");
        break;
    }
    lki_operation_over(op);
}

/* Whatever the handle had there is gone; a read that came in its place is nobody's. */
void lki_drop_answered(lki_operation *op, const lki_answer *answer) {
    if (answer->word == LKI_ANSWER_GRANTED)
        take_back(op, answer->fence);
    else
        lki_operation_over(op);
}

/* ------------------------------------------------------------------------------ cancelled */

void lki_acquire_report_cut(lki_operation *op) {
    lki_operation_report(op, op->cancel_status == LK_TIMEOUT ? LK_UNAVAILABLE : op->cancel_status,
                         "the connection was lost before the server could say");
    lki_lock_changed(op->lock);
}

static void cancel_refused(lki_operation *op, const char *text) {
    lki_refusal refusal = lki_form_refused(&op->lock->server->form, op->cancel_sent, text);
    if (refusal.kind != LKI_REFUSED_RESEND)
        op->retry_us = lki_after_ms(lki_now_us(), CANCEL_RETRY_MS);
    if (refusal.kind == LKI_REFUSED_FINAL) {
        lki_operation_report(op, refusal.status, "%s; %s", text, refusal.advice);
        if (lki_now_us() >= lki_after_ms(op->silent_since_us, op->lock->lease_ms)) {
            lki_operation_over(op); /* whatever is left of it there has run out */
            return;
        }
    }
    lki_lock_changed(op->lock);
}

static void cancel_answered(lki_operation *op, const lki_answer *answer) {
    switch (answer->word) {
    case LKI_ANSWER_CANCELLED:
        lki_operation_report(op, op->cancel_status, NULL);
        lki_operation_over(op);
        break;
    case LKI_ANSWER_GRANTED:
        lki_acquire_granted(op, answer, op->cancel.sent_us, false);
        break;
    case LKI_ANSWER_ERROR:
        cancel_refused(op, answer->text);
        break;
    default: /* it may still wait there: the cancel is tried again until it is understood */
        lki_operation_report(op, LK_INTERNAL, "the server's answer to cancel makes no sense");
        op->retry_us = lki_after_ms(lki_now_us(), CANCEL_RETRY_MS);
        lki_lock_changed(op->lock);
        break;
    }
}

static void cancel_completed(lki_request *request, const redisReply *reply) {
    lki_operation *op =
        (lki_operation *)(void *)((char *)request - offsetof(lki_operation, cancel));
    if (op->state == LKI_OVER) {
        /* It was settled another way: by a message, or by the answer to its request. */
    } else if (!reply) {
        lki_acquire_report_cut(op);
    } else {
        lki_answer answer = lki_answer_read(reply);
        if (answer.word != LKI_ANSWER_ERROR && answer.word != LKI_ANSWER_NONSENSE)
            lki_locks_raise_floor(op->lock->locks, answer.server_us);
        cancel_answered(op, &answer);
        op->lock->locks->settled += op->state == LKI_OVER;
    }
    lki_operation_release(op);
}

void lki_acquire_send_cancel(lki_operation *op) {
    lk_lock *lock = op->lock;
    lki_link *link = &lock->server->commands.link;
    int64_t now_us = lki_now_us();
    bool is_others_turn = lock->asked && lock->asked != op;
    if (op->cancel.on_way || is_others_turn || !lki_link_is_up(link) || now_us < op->retry_us)
        return;
    op->cancel_sent = lki_form_cancel(&lock->server->form, lki_link_begin(link), lki_lock_key(lock),
                                      lock->handle, ++lock->last_request, op->request);
    op->cancel.complete = cancel_completed;
    if (lki_link_commit(link, &op->cancel, now_us) == LK_OK)
        lki_operation_retain(op);
    else
        op->retry_us = lki_after_ms(now_us, CANCEL_RETRY_MS);
    lki_operation_recheck(op);
}
