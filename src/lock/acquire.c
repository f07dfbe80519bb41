/* What the answers to an acquire and to its cancel mean. See operation.h. */
#include "base/clock.h"
#include "lock/hold.h"
#include "lock/operation.h"
#include "lock/renewal.h"

enum { CANCEL_RETRY_MS = 100 };

bool lki_acquire_check(lki_operation *op) {
    if (!op->lock->lost)
        return true;
    lki_operation_report(op, LK_LOST,
                         "the handle has lost its hold; unlock it, once for each acquire, before "
                         "you acquire it again");
    lki_operation_over(op);
    return false;
}

/* ------------------------------------------------------------------------------ granted */

/*
 * Releases a grant that no caller gets. Without memory for that, the operation stays in doubt: its
 * cancel, or a drop that is sent again, will get the grant as its answer once more.
 */
static void undo_grant(lki_operation *op, uint64_t fence) {
    if (lki_undo(op->lock, op->mode, fence)) {
        lki_operation_over(op);
        return;
    }
    op->in_doubt = true;
    op->retry_us = lki_after_ms(lki_now_us(), CANCEL_RETRY_MS);
    if (op->state == LKI_CONFIRMING) {
        op->cancel_status = op->result.status;
        lki_operation_set(op, LKI_CANCELING);
    } else if (op->kind == LKI_DO_ACQUIRE) {
        lki_operation_cancel(op, op->result.status);
    } else
        lki_operation_set(op, LKI_UNSENT);
}

static void granted(lki_operation *op, const lki_answer *answer, int64_t from_us, bool claimed) {
    lk_lock *lock = op->lock;
    if (lock->lost)
        lki_operation_report(op, LK_LOST, NULL);
    else if (lki_hold_begins(lock) && lki_lease_end_us(from_us, answer->ms) <= lki_now_us())
        lki_operation_report(op, op->state == LKI_CANCELING ? op->cancel_status : LK_UNAVAILABLE,
                             "the lock was granted, but the reply came after its lease of %lld ms "
                             "had expired",
                             (long long)answer->ms);
    if (op->reported) {
        undo_grant(op, answer->fence);
        return;
    }
    lki_hold_granted(lock, op->mode, answer, from_us, claimed);
    lki_operation_report(op, LK_OK, NULL);
    lki_operation_over(op);
}

/*
 * A grant that was not claimed is not confirmed: the claim would be. Only the answer to a cancel
 * can be one here; it came too late for the caller. A caller that cancelled does not wait for
 * replicas either.
 */
void lki_acquire_granted(lki_operation *op, const lki_answer *answer, int64_t from_us,
                         bool claimed) {
    bool needs_replicas = op->lock->session->settings.min_replicas;
    bool is_cancelled = op->state == LKI_CANCELING && op->cancel_status != LK_TIMEOUT;
    if (needs_replicas && (!claimed || is_cancelled))
        lki_operation_report(op, op->cancel_status, NULL);
    if (!lki_operation_confirm(op, answer, from_us))
        granted(op, answer, from_us, claimed);
}

void lki_acquire_confirmed(lki_operation *op, const lki_error *why) {
    lki_answer answer = op->unconfirmed;
    if (why)
        lki_operation_report(op, why->status, "the lock was granted and given back, because %s",
                             why->text);
    granted(op, &answer, op->from_us, true);
}

/* ------------------------------------------------------------------------------ answered */

static void queued(lki_operation *op, const lki_answer *answer) {
    lk_lock *lock = op->lock;
    int64_t now_us = lki_now_us();
    lock->asked = NULL;
    lock->waiting = op;
    op->in_doubt = false;
    op->silent_since_us = now_us;
    lki_waiter_schedule_refresh(lock, answer, op->ask.sent_us);
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
    /* It asked without waiting, because the client is not subscribed to messages yet. */
    lock->asked = NULL;
    lock->waiting = op;
    op->in_doubt = false;
    op->request = 0; /* other operations may use greater numbers before it asks again */
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
        lki_hold_gone(op->lock);
        lki_operation_report(op, LK_LOST, NULL);
        break;
    default:
        lki_operation_report(op, LK_INTERNAL, "the server sent an invalid answer to acquire");
        break;
    }
    lki_operation_over(op);
}

/* The hold is gone on the server. If the drop itself was granted, that read must be released. */
void lki_drop_answered(lki_operation *op, const lki_answer *answer) {
    if (answer->word == LKI_ANSWER_GRANTED)
        undo_grant(op, answer->fence);
    else
        lki_operation_over(op);
}

/* ------------------------------------------------------------------------------ cancelled */

void lki_acquire_report_cut(lki_operation *op) {
    lki_operation_report(op, op->cancel_status == LK_TIMEOUT ? LK_UNAVAILABLE : op->cancel_status,
                         "the connection was lost before the server answered");
    lki_lock_changed(op->lock);
}

static void cancel_refused(lki_operation *op, const char *text) {
    lki_elsewhere elsewhere;
    lki_refusal refusal = lki_server_refused(op->lock->server, op->cancel_sent, text, &elsewhere);
    lki_lock_note_refusal(op->lock, &refusal, &elsewhere);
    if (refusal.kind != LKI_REFUSED_RESEND)
        op->retry_us = lki_after_ms(lki_now_us(), CANCEL_RETRY_MS);
    if (refusal.kind == LKI_REFUSED_FINAL) {
        lki_operation_report(op, refusal.status, "%s; %s", text, refusal.advice);
        if (lki_now_us() >= lki_after_ms(op->silent_since_us, op->lock->lease_ms)) {
            lki_operation_over(op); /* by now the waiter has expired on the server */
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
    default: /* it may still be in the queue, so the cancel is sent again */
        lki_operation_report(op, LK_INTERNAL, "the server sent an invalid answer to cancel");
        op->retry_us = lki_after_ms(lki_now_us(), CANCEL_RETRY_MS);
        lki_lock_changed(op->lock);
        break;
    }
}

static void cancel_completed(lki_request *request, const redisReply *reply) {
    lki_operation *op =
        (lki_operation *)(void *)((char *)request - offsetof(lki_operation, cancel));
    if (op->state == LKI_OVER) {
        /* A message, or the answer to its request, has ended the operation meanwhile. */
    } else if (!reply) {
        lki_acquire_report_cut(op);
    } else {
        lki_answer answer = lki_answer_read(reply);
        if (answer.word != LKI_ANSWER_ERROR && answer.word != LKI_ANSWER_NONSENSE)
            lki_server_raise_floor(op->lock->server, answer.server_us);
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
    if (op->cancel.on_way || is_others_turn || !lki_lock_can_send(lock) || now_us < op->retry_us)
        return;
    lki_bytes *out = lki_lock_begin_request(lock);
    if (out)
        op->cancel_sent = lki_form_cancel(&lock->server->form, out, lki_lock_key(lock),
                                          lock->handle, ++lock->last_request, op->request);
    op->cancel.complete = cancel_completed;
    if (out && lki_link_commit(link, &op->cancel, now_us) == LK_OK)
        lki_operation_retain(op);
    else
        op->retry_us = lki_after_ms(now_us, CANCEL_RETRY_MS);
    lki_operation_recheck(op);
}
