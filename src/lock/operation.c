/*
 * The states of an operation, its report and its timeouts; see operation.h. What the answers mean
 * is in the file of each kind.
 */
#include "lock/operation.h"

#include "base/clock.h"
#include "base/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

lki_operation *lki_operation_new(lk_lock *lock, lki_kind kind, lk_mode mode) {
    bool is_acquire = kind == LKI_DO_ACQUIRE;
    size_t counts = (size_t)lock->order.count + lock->acquires + 1;
    lki_operation *op = NULL;
    if (!is_acquire || lki_order_reserve(&lock->order, counts)) /* so that a grant cannot fail */
        op = lki_new(sizeof *op);
    if (!op)
        return NULL;
    lock->acquires += is_acquire;
    op->references = 1;
    op->lock = lock;
    op->kind = kind;
    op->mode = mode;
    op->deadline_us = op->bound_us = LKI_NEVER;
    lki_lock_retain(lock);
    return op;
}

void lki_operation_retain(lki_operation *op) {
    op->references++;
}

void lki_operation_release(lki_operation *op) {
    if (--op->references > 0)
        return;
    op->lock->acquires -= op->kind == LKI_DO_ACQUIRE;
    lki_lock_release(op->lock);
    lki_free(op);
}

/* ------------------------------------------------------------------------------ states */

bool lki_operation_is_queued(const lki_operation *op) {
    return op->state == LKI_WAITING || op->state == LKI_CANCELING;
}

bool lki_operation_is_async_waiter(const lki_operation *op) {
    return lki_operation_is_queued(op) && !op->caller && !op->reported;
}

static bool is_allowed(lki_state from, lki_state to) {
    static const unsigned arrows[] = {
        [LKI_PENDING] = 1U << LKI_UNSENT | 1U << LKI_OVER,
        [LKI_UNSENT] = 1U << LKI_ASKED | 1U << LKI_CANCELING | 1U << LKI_OVER,
        [LKI_ASKED] = 1U << LKI_UNSENT | 1U << LKI_WAITING | 1U << LKI_SUBSCRIBING |
                      1U << LKI_CANCELING | 1U << LKI_CONFIRMING | 1U << LKI_OVER,
        [LKI_WAITING] =
            1U << LKI_UNSENT | 1U << LKI_CANCELING | 1U << LKI_CONFIRMING | 1U << LKI_OVER,
        [LKI_SUBSCRIBING] = 1U << LKI_UNSENT | 1U << LKI_OVER,
        [LKI_CANCELING] = 1U << LKI_CONFIRMING | 1U << LKI_OVER,
        [LKI_CONFIRMING] = 1U << LKI_CANCELING | 1U << LKI_UNSENT | 1U << LKI_OVER,
        [LKI_OVER] = 0,
    };
    return arrows[from] & 1U << to;
}

void lki_operation_recheck(const lki_operation *op) {
    if (!op || !op->caller)
        return;
    op->caller->recheck = true;
    lki_caller_notify(op->caller);
}

void lki_operation_set(lki_operation *op, lki_state state) {
    assert(is_allowed(op->state, state));
    (void)is_allowed;
    int all = -lki_operation_is_queued(op), async = -lki_operation_is_async_waiter(op);
    op->state = state;
    all += lki_operation_is_queued(op);
    async += lki_operation_is_async_waiter(op);
    lki_server_count_waiters(op->lock->server, all, async);
    lki_operation_recheck(op);
    lki_lock_changed(op->lock);
}

static void remove_from_list(lki_operation **first, const lki_operation *op) {
    for (lki_operation **link = first; *link; link = &(*link)->next) {
        if (*link == op) {
            *link = op->next;
            return;
        }
    }
}

/*
 * Reported operations go ahead of the others. If a later acquire came first, it could replace the
 * hold and get the same fence, and the release would then undo it. Reported operations keep their
 * order: the release of a downgraded hold comes after the downgrade. Drops come after the other
 * reported ones: a write that no caller got is released first, and leaves no abandoned mark.
 */
static lki_operation **place_of(const lki_operation *op) {
    lki_operation **at = &op->lock->pending;
    while (*at && (((*at)->reported && (*at)->kind != LKI_DO_DROP) || !op->reported))
        at = &(*at)->next;
    return at;
}

static void put_into_list(lki_operation *op) {
    lki_operation **at = place_of(op);
    op->next = *at;
    *at = op;
}

void lki_operation_put_ahead(lki_operation *op) {
    remove_from_list(&op->lock->pending, op);
    put_into_list(op);
}

void lki_operation_over(lki_operation *op) {
    lk_lock *lock = op->lock;
    assert(op->reported);
    if (op->state == LKI_PENDING)
        remove_from_list(&lock->pending, op);
    if (lock->asked == op)
        lock->asked = NULL;
    if (lock->waiting == op)
        lock->waiting = NULL;
    lki_operation_set(op, LKI_OVER);
    lock->locks->operations--;
    if (lock->session->closing)
        pthread_cond_broadcast(&lock->session->ended);
    lki_operation_release(op);
}

static int64_t timeout_after(const lki_operation *op, int64_t since_us) {
    return lki_after_ms(since_us, op->lock->session->settings.command_timeout_ms);
}

/* As latchkey.h says for each call: command_timeout_ms, after the end of wait_ms if it waits. */
static int64_t bound_of(const lki_operation *op, int64_t now_us) {
    bool waits = op->kind == LKI_DO_ACQUIRE && op->wait;
    return op->caller ? timeout_after(op, waits ? op->deadline_us : now_us) : LKI_NEVER;
}

void lki_operation_begin(lki_operation *op) {
    lk_lock *lock = op->lock;
    put_into_list(op);
    lki_operation_retain(op);
    lock->locks->operations++;
    op->silent_since_us = lki_now_us();
    op->bound_us = bound_of(op, op->silent_since_us);
    lki_lock_changed(lock);
}

/* ------------------------------------------------------------------------------ the report */

static void call_back(lki_callback *callback) {
    lki_operation *op =
        (lki_operation *)(void *)((char *)callback - offsetof(lki_operation, callback));
    lk_lock *lock = op->lock;
    lki_session *session = lock->session;
    lki_fail_with(&op->result);
    op->done(lock, op->result.status, op->done_arg);
    pthread_mutex_lock(&session->monitor);
    lock->callbacks--;
    pthread_cond_broadcast(&session->ended);
    lki_operation_release(op);
    pthread_mutex_unlock(&session->monitor);
}

static void explain(lki_operation *op, lk_status status, const char *text) {
    lki_error_set(&op->result, status, "lock \"%s\" on %s: %s", op->lock->name,
                  op->lock->session->topology->shown, text);
}

void lki_operation_report(lki_operation *op, lk_status status, const char *format, ...) {
    if (op->reported)
        return;
    if (status == LK_OK) {
        op->result = (lki_error){.status = LK_OK}; /* without the text of an earlier refusal */
    } else {
        char text[LKI_ERROR_MOST];
        va_list arguments;
        va_start(arguments, format);
        if (format)
            vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        explain(op, status, format ? text : lk_status_text(status));
    }
    lki_server_count_waiters(op->lock->server, 0, -lki_operation_is_async_waiter(op));
    op->reported = true;
    if (op->caller) {
        op->caller->done = true;
        lki_caller_notify(op->caller);
        op->caller = NULL;
    } else if (op->done) {
        op->callback.run = call_back;
        op->callback.about = op->lock;
        op->lock->callbacks++;
        lki_operation_retain(op);
        lki_callbacks_add(&op->lock->session->callbacks, &op->callback);
    }
}

/* ------------------------------------------------------------------------------ timeouts */

static const lki_wire *wire_of(const lki_operation *op) {
    return &op->lock->server->commands;
}

static int64_t later(int64_t a_us, int64_t b_us) {
    return a_us > b_us ? a_us : b_us;
}

static int64_t earlier(int64_t a_us, int64_t b_us) {
    return a_us < b_us ? a_us : b_us;
}

/* The operation whose answer a pending operation waits for; NULL: none. */
static const lki_operation *blocker_of(const lki_operation *op) {
    const lk_lock *lock = op->lock;
    if (op->state != LKI_PENDING)
        return NULL;
    if (lock->asked)
        return lock->asked;
    return lock->waiting && lock->waiting->state == LKI_CANCELING ? lock->waiting : NULL;
}

static bool is_on_way(const lki_operation *op) {
    return op->ask.on_way || op->cancel.on_way || op->state == LKI_CONFIRMING;
}

/* When the server will have been silent about it, or not connected, for too long. */
static int64_t silence_end_us(const lki_operation *op) {
    int64_t down_us = wire_of(op)->down_since_us;
    const lki_operation *blocker = blocker_of(op);
    bool can_wait = op->state == LKI_PENDING || op->state == LKI_WAITING;
    if (is_on_way(op)) /* replies to earlier requests are signs of life */
        return timeout_after(op,
                             later(op->silent_since_us, lki_link_answered_us(&wire_of(op)->link)));
    if (!can_wait)
        return timeout_after(op, op->silent_since_us);
    if (blocker) { /* not before the blocker times out: a release must not precede its acquire */
        int64_t since_us = blocker->reported
                               ? blocker->blocking_since_us
                               : later(blocker->blocking_since_us, blocker->silent_since_us);
        return timeout_after(op, later(since_us, op->silent_since_us));
    }
    return down_us == LKI_NEVER ? LKI_NEVER
                                : timeout_after(op, later(down_us, op->silent_since_us));
}

static int64_t give_up_us(const lki_operation *op) {
    return later(op->grace_until_us, earlier(op->bound_us, silence_end_us(op)));
}

int64_t lki_operation_due_us(const lki_operation *op) {
    if (op->reported)
        return LKI_NEVER;
    int64_t give_up = give_up_us(op);
    bool is_ending = op->state == LKI_CANCELING || op->state == LKI_CONFIRMING;
    return is_ending || op->deadline_us > give_up ? give_up : op->deadline_us;
}

void lki_operation_time_up(lki_operation *op, int64_t now_us) {
    if (op->kind == LKI_DO_ACQUIRE && now_us >= op->deadline_us)
        lki_operation_cancel(op, LK_TIMEOUT);
    /* After SIGSTOP the reply may already be in the socket. */
    if (!op->grace_until_us && is_on_way(op) && now_us > give_up_us(op) + LKI_LATE_US)
        op->grace_until_us = now_us + LKI_GRACE_US;
    if (!op->reported && now_us >= give_up_us(op))
        lki_operation_abandon(op, LK_UNAVAILABLE);
}

/* Pending operations may now time out sooner than their callers planned to wake up. */
void lki_operation_note_blocking(lki_operation *op) {
    op->blocking_since_us = op->silent_since_us;
    for (const lki_operation *pending = op->lock->pending; pending; pending = pending->next)
        if (lki_operation_due_us(pending) < pending->asleep_until_us)
            lki_operation_recheck(pending);
}

/* LK_TIMEOUT means that the lock was busy. Without a connection, that is not known. */
static void report_cancel(lki_operation *op, lk_status status) {
    const lki_wire *wire = wire_of(op);
    if (status == LK_TIMEOUT && !lki_link_is_up(&wire->link))
        lki_operation_report(op, LK_UNAVAILABLE,
                             "the wait timed out, and the server is not connected (%s)",
                             wire->why.text);
    else
        lki_operation_report(op, status, NULL);
}

void lki_operation_cancel(lki_operation *op, lk_status status) {
    assert(op->kind == LKI_DO_ACQUIRE);
    if (op->state == LKI_CANCELING || op->state == LKI_OVER)
        return;
    if (op->state == LKI_CONFIRMING) { /* soon decided; a grant without a caller is undone */
        if (status != LK_TIMEOUT)
            lki_operation_report(op, status, NULL);
        return;
    }
    bool unknown_to_server = op->state == LKI_PENDING || op->state == LKI_SUBSCRIBING ||
                             (op->state == LKI_UNSENT && !op->in_doubt);
    if (unknown_to_server || !lki_link_is_up(&wire_of(op)->link))
        report_cancel(op, status);
    if (unknown_to_server) {
        lki_operation_over(op);
        return;
    }
    bool was_waiting = op->state == LKI_WAITING;
    op->cancel_status = status;
    op->silent_since_us = lki_now_us();
    lki_operation_set(op, LKI_CANCELING);
    if (was_waiting)
        lki_operation_note_blocking(op);
}

static void report_silence(lki_operation *op, lk_status status) {
    const lki_wire *wire = wire_of(op);
    if (op->state == LKI_SUBSCRIBING)
        wire = &op->lock->server->messages;
    char refusal[LKI_ERROR_MOST];
    memcpy(refusal, op->result.text, sizeof refusal);
    if (*refusal)
        lki_operation_report(op, status, "%s", refusal);
    else if (lki_link_is_up(&wire->link))
        lki_operation_report(op, status, "the server did not answer within %lld ms",
                             (long long)op->lock->session->settings.command_timeout_ms);
    else
        lki_operation_report(op, status, "%s",
                             *wire->why.text ? wire->why.text : "the server is not connected");
}

/*
 * The report says that the outcome is unknown; the caller gets no hold from this call. An acquire
 * is cancelled or undone. A release or downgrade goes on until the server has done it.
 */
void lki_operation_abandon(lki_operation *op, lk_status status) {
    bool is_release = op->kind == LKI_DO_RELEASE || op->kind == LKI_DO_CONVERT;
    if (is_release && op->lock->lost)
        lki_operation_report(op, LK_LOST, NULL);
    report_silence(op, status);
    switch (op->kind) {
    case LKI_DO_ACQUIRE:
        lki_operation_cancel(op, status);
        break;
    case LKI_DO_RENEW:
        if (op->ask.on_way)
            op->lock->renewal_in_doubt = lki_lock_holds(op->lock);
        lki_operation_over(op);
        break;
    case LKI_DO_RELEASE:
    case LKI_DO_CONVERT:
        lki_release_go_on_alone(op);
        break;
    case LKI_DO_DROP:
        break;
    }
}

/* ------------------------------------------------------------------------------ replicas */

static void confirmed(lki_confirmation *confirmation, const lki_error *why) {
    lki_operation *op =
        (lki_operation *)(void *)((char *)confirmation - offsetof(lki_operation, confirmation));
    if (op->state == LKI_CONFIRMING && op->kind == LKI_DO_RENEW)
        lki_renew_confirmed(op, why);
    else if (op->state == LKI_CONFIRMING)
        lki_acquire_confirmed(op, why);
    lki_lock_changed(op->lock);
    lki_operation_release(op);
}

bool lki_operation_confirm(lki_operation *op, const lki_answer *answer, int64_t from_us) {
    if (!op->lock->session->settings.min_replicas || op->reported)
        return false;
    op->unconfirmed = *answer;
    op->from_us = from_us;
    op->silent_since_us = lki_now_us();
    op->confirmation.done = confirmed;
    lki_operation_set(op, LKI_CONFIRMING);
    lki_operation_retain(op);
    lki_confirm(op->lock->server, &op->confirmation);
    return true;
}

/* ------------------------------------------------------------------------------ the caller */

static lki_link *link_to_wait_at(const lki_operation *op) {
    lki_server *server = op->lock->server;
    if (is_on_way(op))
        return &server->commands.link;
    return op->state == LKI_WAITING ? &server->messages.link : NULL;
}

lk_status lki_operation_await(lki_operation *op) {
    lki_session *session = op->lock->session;
    lki_caller caller;
    lki_caller_init(&caller);
    op->caller = &caller;
    lki_operation_begin(op);
    while (!caller.done) {
        lki_locks_drain(op->lock->locks);
        lki_link_flush(&op->lock->server->commands.link);
        if (caller.done)
            break;
        int64_t due_us = lki_operation_due_us(op), now_us = lki_now_us();
        op->asleep_until_us = due_us;
        caller.recheck = false;
        lki_link *link = link_to_wait_at(op);
        if (now_us >= due_us)
            lki_operation_time_up(op, now_us);
        else if (link && lki_link_is_up(link))
            lki_link_wait(link, &caller, due_us);
        else
            lki_caller_sleep(&caller, &session->monitor, due_us);
    }
    lki_caller_clear(&caller);
    return op->result.status;
}
