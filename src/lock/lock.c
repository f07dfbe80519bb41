/* A handle: its making and its end, and when what of it is due. See lock.h. */
#include "lock/lock.h"

#include "base/clock.h"
#include "base/memory.h"
#include "lock/hold.h"
#include "lock/operation.h"
#include "lock/renewal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------ making */

enum { GIVE_BACK_RETRY_MS = 20 };
static const int64_t lease_default_ms = 30000, lease_least_ms = 100, lease_most_ms = 86400000;

static lk_status check(const char *name, const lk_lock_options *options, lki_error *error) {
    size_t length = strlen(name);
    if (length < 1 || length > LKI_NAME_MOST)
        return lki_error_set(error, LK_INVALID, "the lock's name must be 1 to %d bytes, not %zu",
                             LKI_NAME_MOST, length);
    if (options->lease_ms &&
        (options->lease_ms < lease_least_ms || options->lease_ms > lease_most_ms))
        return lki_error_set(error, LK_INVALID,
                             "lock \"%s\": lease_ms must be %" PRId64 " to %" PRId64
                             ", not %" PRId64,
                             name, lease_least_ms, lease_most_ms, options->lease_ms);
    if ((unsigned)options->policy > LK_PREFER_READER)
        return lki_error_set(error, LK_INVALID, "lock \"%s\": policy is none", name);
    if (options->group && strlen(options->group) > LKI_GROUP_MOST)
        return lki_error_set(error, LK_INVALID, "lock \"%s\": group must be at most %d bytes", name,
                             LKI_GROUP_MOST);
    if (options->owner && (strlen(options->owner) < 1 || strlen(options->owner) > LKI_OWNER_MOST))
        return lki_error_set(error, LK_INVALID, "lock \"%s\": owner must be 1 to %d bytes", name,
                             LKI_OWNER_MOST);
    return LK_OK;
}

static void free_memory(lk_lock *lock) {
    lki_free(lock->given_owner);
    lki_free(lock->group);
    lki_order_clear(&lock->order);
    lki_free(lock);
}

static lk_lock *make(lki_locks *locks, const char *name, const lk_lock_options *options) {
    size_t length = strlen(name);
    lk_lock *lock = lki_new(sizeof *lock + length + 1);
    if (!lock)
        return NULL;
    memcpy(lock->name, name, length);
    if (!lki_copy_to(&lock->given_owner, options->owner) ||
        !lki_copy_to(&lock->group, options->group)) {
        free_memory(lock);
        return NULL;
    }
    lock->locks = locks;
    lock->session = locks->session;
    lock->server = lki_session_server(locks->session, name);
    lock->references = 1;
    lock->manual_renew = options->manual_renew;
    lock->policy = options->policy;
    lock->lease_ms = options->lease_ms ? options->lease_ms : lease_default_ms;
    lock->lease_most_ms = lock->lease_ms;
    lock->owner = lock->given_owner ? lock->given_owner : lock->handle;
    lock->on_lost = options->on_lost;
    lock->on_lost_arg = options->on_lost_arg;
    lock->renew_us = LKI_NEVER;
    lock->number = ++locks->last_number;
    snprintf(lock->handle, sizeof lock->handle, "%s-%012" PRIx64, locks->session->id, lock->number);
    return lock;
}

lk_status lki_lock_new(lki_locks *locks, const char *name, const lk_lock_options *given,
                       lk_lock **out, lki_error *error) {
    static const lk_lock_options defaults;
    const lk_lock_options *options = given ? given : &defaults;
    lk_status status = check(name, options, error);
    if (status == LK_OK && options->on_lost)
        status = lki_callbacks_start(&locks->session->callbacks, error);
    if (status != LK_OK)
        return status;
    lk_lock *lock = make(locks, name, options);
    if (!lock)
        return lki_error_no_memory(error);
    if (!lki_timers_reserve(&locks->timers, locks->table.count + 1) ||
        !lki_table_add(&locks->table, lock)) {
        free_memory(lock);
        return lki_error_no_memory(error);
    }
    lki_session_retain(locks->session);
    if (lock->on_lost)
        lki_server_want_messages_soon(lock->server); /* to hear of a hold that is forced */
    *out = lock;
    return LK_OK;
}

/* ------------------------------------------------------------------------------ the end */

void lki_lock_retain(lk_lock *lock) {
    lock->references++;
}

void lki_lock_release(lk_lock *lock) {
    lki_locks *locks = lock->locks;
    if (--lock->references > 0)
        return;
    lki_timers_set(&locks->timers, &lock->timer, LKI_NEVER);
    lki_table_remove(&locks->table, lock);
    free_memory(lock);
    locks->session->references--; /* whoever calls has another, and looks at what is left */
}

static void leave_all(lk_lock *lock) {
    lki_operation *leaving[] = {lock->asked, lock->waiting};
    for (lki_operation *op = lock->pending, *next; op; op = next) {
        next = op->next;
        if (op->kind == LKI_DO_ACQUIRE || op->kind == LKI_DO_RENEW) {
            lki_operation_report(op, LK_CANCELED, NULL);
            lki_operation_over(op);
        }
    }
    for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++) {
        lki_operation *op = leaving[i];
        if (!op || op->kind != LKI_DO_ACQUIRE)
            continue;
        lki_operation_retain(op);
        lki_operation_report(op, LK_CANCELED, NULL);
        lki_operation_leave(op, LK_CANCELED);
        lki_operation_release(op);
    }
}

static void cancel(lki_operation *op) {
    if (op && op->kind == LKI_DO_ACQUIRE)
        lki_operation_leave(op, LK_CANCELED);
}

void lki_lock_cancel(lk_lock *lock) {
    for (lki_operation *op = lock->pending, *next; op; op = next) {
        next = op->next;
        cancel(op);
    }
    cancel(lock->waiting);
    if (lock->asked && lock->asked->wait)
        cancel(lock->asked);
}

void lki_lock_shut(lk_lock *lock) {
    leave_all(lock);
    lki_lock_changed(lock);
}

static void release_if_awaited(lk_lock *lock) {
    if (!lock->awaiting_release)
        return;
    lock->awaiting_release = false;
    lki_lock_release(lock);
}

void lki_lock_end(lk_lock *lock) {
    while (lock->asked || lock->waiting || lock->pending) {
        lki_operation *op = lock->asked     ? lock->asked
                            : lock->waiting ? lock->waiting
                                            : lock->pending;
        lki_operation_report(op, LK_CANCELED, NULL);
        lki_operation_over(op);
    }
    release_if_awaited(lock);
}

static bool awaits_callback(const lki_operation *op) {
    return op && op->done && !op->reported;
}

/* A callback of one of its operations has not returned, or not even begun. */
static bool has_callbacks(const lk_lock *lock) {
    bool some = lock->callbacks || awaits_callback(lock->asked) || awaits_callback(lock->waiting);
    for (const lki_operation *op = lock->pending; op && !some; op = op->next)
        some = awaits_callback(op);
    return some;
}

void lki_lock_free(lk_lock *lock) {
    lki_session *session = lock->session;
    lock->freed = true;
    lock->on_lost = NULL;
    if (!session->closed) {
        lki_lock_shut(lock);
        lki_server_push(lock->server);
    }
    while (has_callbacks(lock) && !lki_callbacks_inside(&session->callbacks))
        if (!lki_callbacks_run_about(&session->callbacks, lock))
            pthread_cond_wait(&session->ended, &session->monitor);
    if (!session->closed && lki_lock_holds(lock))
        lock->awaiting_release = true;
    else
        lki_lock_release(lock);
}

/* ------------------------------------------------------------------------------ what begins */

lki_key lki_lock_key(const lk_lock *lock) {
    return (lki_key){lock->session->settings.prefix, lock->name};
}

bool lki_lock_holds(const lk_lock *lock) {
    return (lock->reads || lock->writes) && !lock->lost;
}

/*
 * What nobody uses any more is given back until the server cannot have it either: a renewal may
 * have reached it whose answer was lost.
 */
static int64_t runs_out_us(const lk_lock *lock) {
    bool is_used = !lock->freed && !lock->session->closing;
    return is_used ? lock->deadline_us : lki_after_ms(lock->deadline_us, lock->lease_ms);
}

static bool may_outlive_our_clock(const lk_lock *lock) {
    return lock->renewal_in_doubt || lock->renewing_hold || lock->asked;
}

/*
 * The server drops it as abandoned, so that others need not wait for a lease that nobody uses. It
 * alone: other handles may act for the same owner, and live.
 */
static void drop_in_server(lk_lock *lock) {
    lki_operation *drop = lki_operation_new(lock, LKI_DO_DROP, LK_READ);
    if (!drop)
        return;
    drop->reported = true;
    lki_operation_begin(drop);
    lki_operation_release(drop);
}

static void lose_if_run_out(lk_lock *lock, int64_t now_us) {
    if (!lki_lock_holds(lock) || now_us < runs_out_us(lock))
        return;
    bool outlives = may_outlive_our_clock(lock);
    lki_hold_lose(lock, "its lease ran out before it could be renewed");
    if (outlives)
        drop_in_server(lock);
}

static bool is_async_acquire(const lki_operation *op) {
    return op->kind == LKI_DO_ACQUIRE && !op->caller && !op->reported;
}

/* What is given back without a caller may be given back before it is there: it waits for that. */
static bool comes_later(const lk_lock *lock, const lki_operation *op) {
    const lki_operation *waiting[] = {lock->asked, lock->waiting};
    if (op->caller || op->reported)
        return false;
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        if (waiting[i] && is_async_acquire(waiting[i]))
            return true;
    for (const lki_operation *before = lock->pending; before != op; before = before->next)
        if (is_async_acquire(before))
            return true;
    return false;
}

static bool is_cancel_on_way(const lk_lock *lock) {
    return lock->waiting && lock->waiting->cancel.on_way;
}

static bool has_what_it_gives_back(const lk_lock *lock, const lki_operation *op) {
    if (op->of_last)
        return lock->reads || lock->writes;
    return op->kind == LKI_DO_CONVERT || op->mode == LK_WRITE ? lock->writes : lock->reads;
}

static bool may_begin(const lk_lock *lock, const lki_operation *op) {
    if (lock->lost && (op->kind == LKI_DO_ACQUIRE || op->kind == LKI_DO_RENEW))
        return true; /* nobody needs to be asked about that */
    if ((op->kind == LKI_DO_RELEASE || op->kind == LKI_DO_CONVERT) && !op->reported) {
        bool counts = has_what_it_gives_back(lock, op);
        if (counts && lock->lost)
            return true;
        if (!counts)
            return !comes_later(lock, op);
    }
    if (lock->asked || is_cancel_on_way(lock)) /* SPEC 9: one request at a time */
        return false;
    if (op->kind != LKI_DO_ACQUIRE || !lock->waiting)
        return true;
    /* Beside an upgrade that waits, the holder's further reads are granted at once. */
    return lki_lock_holds(lock) && op->mode == LK_READ && lock->waiting->state == LKI_WAITING;
}

static bool check_kind(lki_operation *op) {
    switch (op->kind) {
    case LKI_DO_ACQUIRE:
        return lki_acquire_check(op);
    case LKI_DO_CONVERT:
        return lki_convert_check(op);
    case LKI_DO_RENEW:
        return lki_renew_check(op);
    default:
        return lki_release_check(op);
    }
}

static void begin(lk_lock *lock, lki_operation **link) {
    lki_operation *op = *link;
    if (!op->reported && !check_kind(op))
        return;
    assert(!lock->asked);
    *link = op->next;
    lock->asked = op;
    op->silent_since_us = lki_now_us(); /* it may have stood behind another for long */
    lki_operation_set(op, LKI_UNSENT);
    lki_operation_blocks(op);
}

/* The first of the list that may begin; one that will not wait does not stand behind a waiter. */
static bool begin_one(lk_lock *lock) {
    if (lock->pending)
        lose_if_run_out(lock, lki_now_us());
    for (lki_operation **link = &lock->pending; *link; link = &(*link)->next) {
        lki_operation *op = *link;
        if (may_begin(lock, op)) {
            begin(lock, link);
            return true;
        }
        if (op->kind == LKI_DO_ACQUIRE && !op->wait && lock->waiting &&
            lock->waiting->state != LKI_CANCELING && !lock->asked && !is_cancel_on_way(lock)) {
            lki_operation_report(op, LK_BUSY, "another thread waits with this handle");
            lki_operation_over(op);
            return true;
        }
    }
    return false;
}

static bool ask_for_waiting(lk_lock *lock) {
    lki_operation *op = lock->waiting;
    if (!op || lock->asked)
        return false;
    if (op->state == LKI_SUBSCRIBING && lki_server_is_subscribed(lock->server))
        lki_operation_set(op, LKI_UNSENT);
    if (op->state != LKI_UNSENT)
        return false;
    lock->waiting = NULL;
    lock->asked = op;
    lki_operation_blocks(op);
    return true;
}

/* Nobody uses the handle any more. */
static bool is_to_be_given_back(const lk_lock *lock) {
    return (lock->freed || lock->session->closing) && lki_lock_holds(lock) && !lock->asked &&
           lki_link_is_up(&lock->server->commands.link);
}

/* One after the other, until nothing is left. */
static void give_back_one(lk_lock *lock) {
    if (!is_to_be_given_back(lock))
        return;
    lk_mode mode = lock->writes ? LK_WRITE : LK_READ;
    if (lki_undo(lock, mode, lock->fence))
        lki_hold_released(lock, mode);
}

/* What could not be sent before: the server was away, or it was another request's turn. */
static void send_again(lk_lock *lock) {
    if (lock->asked && lock->asked->state == LKI_UNSENT)
        lki_operation_send(lock->asked);
    if (lock->asked && lock->asked->state == LKI_CANCELING)
        lki_acquire_send_cancel(lock->asked);
    if (lock->waiting && lock->waiting->state == LKI_CANCELING)
        lki_acquire_send_cancel(lock->waiting);
}

/* ------------------------------------------------------------------------------ when */

static int64_t earlier(int64_t a_us, int64_t b_us) {
    return a_us < b_us ? a_us : b_us;
}

static bool needs_sending(const lk_lock *lock, const lki_operation *op) {
    bool is_its_turn = !lock->asked || lock->asked == op;
    return (op->state == LKI_UNSENT && lock->asked == op) ||
           (op->state == LKI_CANCELING && !op->cancel.on_way && is_its_turn);
}

static int64_t operation_due_us(const lk_lock *lock, const lki_operation *op) {
    if (!op)
        return LKI_NEVER;
    int64_t due_us = op->caller ? LKI_NEVER : lki_operation_due_us(op);
    if (needs_sending(lock, op) && lki_link_is_up(&lock->server->commands.link))
        due_us = earlier(due_us, op->retry_us);
    return due_us;
}

/* Sets the timer to the next instant at which something is due, and tells the keeper. */
static void plan(lk_lock *lock) {
    int64_t due_us = lki_lock_holds(lock) ? runs_out_us(lock) : LKI_NEVER;
    if (is_to_be_given_back(lock))
        due_us = earlier(due_us, lki_after_ms(lki_now_us(), GIVE_BACK_RETRY_MS));
    due_us = earlier(due_us, lki_renewal_due_us(lock));
    due_us = earlier(due_us, operation_due_us(lock, lock->asked));
    due_us = earlier(due_us, operation_due_us(lock, lock->waiting));
    for (const lki_operation *op = lock->pending; op; op = op->next)
        due_us = earlier(due_us, operation_due_us(lock, op));
    lki_timers_set(&lock->locks->timers, &lock->timer, due_us);
    lki_keeper_due(lock->session, due_us);
}

static bool times_up(const lki_operation *op, int64_t now_us) {
    return !op->caller && lki_operation_due_us(op) <= now_us;
}

static void look_at_time(lki_operation *op, int64_t now_us) {
    if (op && times_up(op, now_us))
        lki_operation_time_up(op, now_us);
}

void lki_lock_due(lk_lock *lock, int64_t now_us) {
    lose_if_run_out(lock, now_us);
    look_at_time(lock->asked, now_us);
    look_at_time(lock->waiting, now_us);
    lki_operation *op = lock->pending;
    while (op) {
        bool is_due = times_up(op, now_us);
        look_at_time(op, now_us);
        op = is_due ? lock->pending : op->next; /* what was due may have changed the list */
    }
    lki_lock_changed(lock);
}

/* ------------------------------------------------------------------------------ changes */

void lki_lock_changed(lk_lock *lock) {
    if (lock->is_dirty)
        return;
    lock->is_dirty = true;
    lock->next_dirty = lock->locks->dirty;
    lock->locks->dirty = lock;
    lki_lock_retain(lock);
}

void lki_lock_settle(lk_lock *lock) {
    do {
        send_again(lock);
    } while (ask_for_waiting(lock) || begin_one(lock));
    give_back_one(lock);
    plan(lock);
    if (!lki_lock_holds(lock))
        release_if_awaited(lock);
}
