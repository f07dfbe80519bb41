/* The request of an operation: sending it, and lost and refused answers. See operation.h. */
#include "base/clock.h"
#include "lock/hold.h"
#include "lock/operation.h"

#include <string.h>

enum { NO_MEMORY_RETRY_MS = 20, LATER_RETRY_MS = 50, REFUSED_RETRY_MS = 1000 };
enum { DROP_LEASE_MS = 100 };

/* ------------------------------------------------------------------------------ sending */

/*
 * A drop is an acquire of a read: the server replaces the handle's hold by it (SPEC 9.5). If that
 * read is granted, it is released.
 */
static lki_sent encode_acquire(const lki_operation *op, lki_bytes *out) {
    const lk_lock *lock = op->lock;
    lki_acquire_arguments arguments = {
        .handle = lock->handle,
        .req = op->request,
        .fence = op->fence,
        .mode = op->mode,
        .wait = op->wait && lki_server_hears(lock->server, lock->handle),
        .lease_ms = op->kind == LKI_DO_DROP ? DROP_LEASE_MS : lock->lease_ms,
        .policy = lock->policy,
        .floor = lock->server->floor,
        .owner = lock->given_owner ? lock->given_owner : "",
        .group = lock->group ? lock->group : "",
        .who = lock->session->settings.who};
    return lki_form_acquire(&lock->server->form, out, lki_lock_key(lock), &arguments);
}

static lki_sent encode(const lki_operation *op, lki_bytes *out) {
    const lk_lock *lock = op->lock;
    lki_form *form = &lock->server->form;
    lki_key key = lki_lock_key(lock);
    lki_renew_entry hold = {key, lock->handle, lock->fence, 0, op->lease_ms};
    lki_release_arguments release = {lock->handle, op->request, op->fence, op->mode,
                                     !op->is_untold};
    switch (op->kind) {
    case LKI_DO_ACQUIRE:
    case LKI_DO_DROP:
        return encode_acquire(op, out);
    case LKI_DO_RELEASE:
        return lki_form_release(form, out, key, &release);
    case LKI_DO_CONVERT:
        return lki_form_convert(form, out, key, lock->handle, op->request, op->fence);
    case LKI_DO_RENEW:
        break;
    }
    return lki_form_renew(form, out, &hold, 1);
}

static void answered(lki_request *, const redisReply *);

static void ask(lki_operation *op, int64_t now_us) {
    lk_lock *lock = op->lock;
    lki_link *link = &lock->server->commands.link;
    if (!op->request) {
        op->request = ++lock->last_request;
        op->first_sent_us = now_us;
        op->life = lock->server->life;
        op->queued_server_us = 0;
        op->asked_again = op->refresh_in_doubt = false;
        if (op->kind == LKI_DO_ACQUIRE)
            op->fence = lock->fence; /* if sent again, it must mean the same hold, or none */
    }
    lki_bytes *out = lki_lock_begin_request(lock);
    if (out)
        op->ask_sent = encode(op, out);
    op->ask.complete = answered;
    if (out && lki_link_commit(link, &op->ask, now_us) == LK_OK) {
        lki_operation_retain(op);
        lki_operation_set(op, LKI_ASKED);
    } else if (op->in_doubt || op->reported) {
        op->retry_us = lki_after_ms(now_us, NO_MEMORY_RETRY_MS);
    } else {
        lki_operation_report(op, LK_NOMEM, NULL);
        lki_operation_over(op);
    }
}

void lki_operation_send(lki_operation *op) {
    int64_t now_us = lki_now_us();
    if (!lki_lock_can_send(op->lock) || now_us < op->retry_us)
        return;
    if (op->kind == LKI_DO_RENEW && !lki_lock_holds(op->lock)) {
        lki_operation_report(op, LK_LOST, NULL);
        lki_operation_over(op);
    } else {
        ask(op, now_us);
    }
}

/* ------------------------------------------------------------------------------ answers */

/* The connection was lost before the answer: the server may have run the operation or not. */
static void cut(lki_operation *op) {
    if (op->state == LKI_ASKED)
        lki_operation_set(op, LKI_UNSENT);
    if (op->kind == LKI_DO_RENEW) {
        op->lock->renewal_in_doubt = lki_lock_holds(op->lock);
        return; /* a renewal can be repeated without harm */
    }
    op->in_doubt = op->asked_again = true;
    if (op->state == LKI_CANCELING)
        lki_acquire_report_cut(op);
}

/*
 * Takes a new request number, unless the server may know the present one: a cancel may have used a
 * greater one meanwhile.
 */
static void retry(lki_operation *op, int64_t ms) {
    if (!op->in_doubt)
        op->request = 0;
    op->retry_us = lki_after_ms(lki_now_us(), ms);
    lki_operation_set(op, LKI_UNSENT);
}

/* This request was not done. If an earlier one is in doubt, the cancel settles it. */
static void refused_while_canceling(lki_operation *op) {
    if (op->in_doubt)
        return;
    lki_operation_report(op, op->cancel_status, NULL);
    lki_operation_over(op);
}

/*
 * The server will not do it. The caller is told. An acquire is then over, unless it is in doubt. A
 * release, a downgrade and a drop are repeated until the lease must have expired.
 */
static void refused_for_good(lki_operation *op, const lki_refusal *refusal, const char *text) {
    bool is_release = op->kind == LKI_DO_RELEASE || op->kind == LKI_DO_CONVERT;
    bool was_reported = op->reported;
    lki_operation_report(op, refusal->status, "%s; %s", text, refusal->advice);
    if (is_release && !was_reported)
        lki_release_go_on_alone(op);
    if (op->state == LKI_OVER)
        return;
    int64_t end_us = lki_after_ms(op->silent_since_us, op->lock->lease_most_ms);
    bool goes_on = op->kind == LKI_DO_ACQUIRE ? op->in_doubt : op->kind != LKI_DO_RENEW;
    if (goes_on && lki_now_us() < end_us)
        retry(op, REFUSED_RETRY_MS);
    else
        lki_operation_over(op);
}

/* An error reply: this request was not done. If an earlier one is in doubt, it stays so. */
static void refused(lki_operation *op, const char *text) {
    lki_elsewhere elsewhere;
    lki_refusal refusal = lki_server_refused(op->lock->server, op->ask_sent, text, &elsewhere);
    lki_lock_note_refusal(op->lock, &refusal, &elsewhere);
    if (op->state == LKI_CANCELING) {
        refused_while_canceling(op);
        return;
    }
    switch (refusal.kind) {
    case LKI_REFUSED_RESEND:
        retry(op, 0);
        break;
    case LKI_REFUSED_LATER:
        lki_error_set(&op->result, refusal.status, "%s; %s", text, refusal.advice);
        retry(op, LATER_RETRY_MS);
        break;
    case LKI_REFUSED_TOO_DEEP:
        if (op->kind == LKI_DO_CONVERT && !op->reported) {
            lki_operation_report(op, refusal.status, "%s; %s", text, refusal.advice);
            lki_operation_over(op);
            break;
        } /* fall through */
    case LKI_REFUSED_FINAL:
        refused_for_good(op, &refusal, text);
        break;
    }
}

static void interpret(lki_operation *op, const lki_answer *answer) {
    switch (op->kind) {
    case LKI_DO_ACQUIRE:
        lki_acquire_answered(op, answer);
        break;
    case LKI_DO_RELEASE:
        lki_release_answered(op, answer);
        break;
    case LKI_DO_CONVERT:
        lki_convert_answered(op, answer);
        break;
    case LKI_DO_RENEW:
        lki_renew_answered(op, answer);
        break;
    case LKI_DO_DROP:
        lki_drop_answered(op, answer);
        break;
    }
}

/* The answer to lk_renew is the entry of its hold. */
static lki_answer read_answer(const lki_operation *op, const redisReply *reply) {
    lki_answer answer = lki_answer_read(reply);
    if (op->kind != LKI_DO_RENEW || answer.word == LKI_ANSWER_ERROR)
        return answer;
    uint64_t server_us = answer.server_us;
    answer = lki_answer_entry(reply, 0);
    answer.server_us = server_us;
    return answer;
}

static void answered(lki_request *request, const redisReply *reply) {
    lki_operation *op = (lki_operation *)(void *)((char *)request - offsetof(lki_operation, ask));
    if (op->state != LKI_ASKED && op->state != LKI_CANCELING) {
        /* A message, or the timeout of its caller, has ended the operation meanwhile. */
    } else if (!reply) {
        cut(op);
    } else {
        lki_answer answer = read_answer(op, reply);
        if (answer.word == LKI_ANSWER_ERROR) {
            refused(op, answer.text);
        } else if (answer.word == LKI_ANSWER_NONSENSE) {
            lki_operation_report(op, LK_INTERNAL, "the server sent an invalid reply");
            lki_operation_over(op);
        } else {
            lki_server_raise_floor(op->lock->server, answer.server_us);
            interpret(op, &answer);
            op->lock->locks->settled += op->state == LKI_OVER;
        }
    }
    lki_operation_release(op);
}
