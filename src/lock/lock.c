/* A handle: making and freeing it, which operation may begin, when its timer is due. See lock.h. */
#include "lock/lock.h"

#include "base/clock.h"
#include "base/memory.h"
#include "lock/hold.h"
#include "lock/operation.h"
#include "lock/renewal.h"
#include "lock/repeats.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------ making */

enum { RELEASE_RETRY_MS = 20, WIDE_MS = 10000 };
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
        return lki_error_set(error, LK_INVALID, "lock \"%s\": policy %d is not a valid lk_policy",
                             name, (int)options->policy);
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

static unsigned slot_of(const lki_session *session, const char *name) {
    char key[LKI_KEY_MOST];
    size_t length = lki_key_print((lki_key){session->settings.prefix, name, false}, key);
    return lki_topology_slot(session->topology, key, length);
}

static lk_lock *make(lki_locks *locks, const char *name, const lk_lock_options *options,
                     lki_server *server) {
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
    lock->server = server;
    lock->slot = slot_of(locks->session, name);
    lock->references = 1;
    lock->manual_renew = options->manual_renew;
    lock->policy = options->policy;
    lock->lease_ms = options->lease_ms ? options->lease_ms : lease_default_ms;
    lock->lease_most_ms = lock->lease_ms;
    lock->owner = lock->given_owner ? lock->given_owner : lock->handle;
    lock->on_lost = options->on_lost;
    lock->on_lost_arg = options->on_lost_arg;
    lock->renew_us = LKI_NEVER;
    lock->number = ++locks->last_number | (server->own.is_sharded ? LKI_NUMBER_SHARDED : 0);
    snprintf(lock->handle, sizeof lock->handle, "%s-%012" PRIx64, server->own.id, lock->number);
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
    lki_server *server = lki_session_server(locks->session, slot_of(locks->session, name), error);
    if (!server)
        return error->status;
    lk_lock *lock = make(locks, name, options, server);
    if (!lock)
        return lki_error_no_memory(error);
    if (!lki_timers_reserve(&locks->timers, locks->table.count + 1) ||
        !lki_table_add(&locks->table, lock)) {
        free_memory(lock);
        return lki_error_no_memory(error);
    }
    lki_session_retain(locks->session);
    if (lock->on_lost)
        lki_server_want_messages_soon(lock->server); /* for the message of a forced release */
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
    locks->session->references--; /* not the last one: the calling thread has another */
}

static void report_and_cancel_all(lk_lock *lock) {
    lki_operation *unanswered[] = {lock->asked, lock->waiting};
    for (lki_operation *op = lock->pending, *next; op; op = next) {
        next = op->next;
        if (op->kind == LKI_DO_ACQUIRE || op->kind == LKI_DO_RENEW) {
            lki_operation_report(op, LK_CANCELED, NULL);
            lki_operation_over(op);
        }
    }
    for (size_t i = 0; i < sizeof unanswered / sizeof *unanswered; i++) {
        lki_operation *op = unanswered[i];
        if (!op || op->kind != LKI_DO_ACQUIRE)
            continue;
        lki_operation_retain(op);
        lki_operation_report(op, LK_CANCELED, NULL);
        lki_operation_cancel(op, LK_CANCELED);
        lki_operation_release(op);
    }
}

static void cancel_acquire(lki_operation *op) {
    if (op && op->kind == LKI_DO_ACQUIRE)
        lki_operation_cancel(op, LK_CANCELED);
}

void lki_lock_cancel(lk_lock *lock) {
    for (lki_operation *op = lock->pending, *next; op; op = next) {
        next = op->next;
        cancel_acquire(op);
    }
    cancel_acquire(lock->waiting);
    if (lock->asked && lock->asked->wait)
        cancel_acquire(lock->asked);
}

void lki_lock_shut(lk_lock *lock) {
    report_and_cancel_all(lock);
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

/* Whether a callback of this handle is still to come, or has not returned. */
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

/* ------------------------------------------------------------------------------ beginning */

lki_key lki_lock_key(const lk_lock *lock) {
    bool is_wide = lock->wide_until_us && lki_now_us() < lock->wide_until_us;
    return (lki_key){lock->session->settings.prefix, lock->name, is_wide};
}

/* Not for ever: most locks have few holds and waiters again soon, and one key is faster. */
void lki_lock_note_refusal(lk_lock *lock, const lki_refusal *refusal,
                           const lki_elsewhere *elsewhere) {
    if (refusal->needs_both_keys)
        lock->wide_until_us = lki_after_ms(lki_now_us(), WIDE_MS);
    if (refusal->is_split) /* the first key alone tells where the lock is */
        lock->wide_until_us = 0;
    if (elsewhere->to)
        lki_lock_redirect(lock, elsewhere);
}

bool lki_lock_holds(const lk_lock *lock) {
    return (lock->reads || lock->writes) && !lock->lost;
}

/*
 * When the hold counts as lost. A handle that nobody uses any more keeps it longer, to retry its
 * release until the lease must have expired on the server: a lost answer may hide a renewal.
 */
static int64_t hold_end_us(const lk_lock *lock) {
    bool is_used = !lock->freed && !lock->session->closing;
    return is_used ? lock->deadline_us : lki_after_ms(lock->deadline_us, lock->lease_ms);
}

static bool may_last_longer_on_server(const lk_lock *lock) {
    return lock->renewal_in_doubt || lock->renewing_hold || lock->asked;
}

static void lose_if_expired(lk_lock *lock, int64_t now_us) {
    if (!lki_lock_holds(lock) || now_us < hold_end_us(lock))
        return;
    bool must_drop = may_last_longer_on_server(lock);
    lki_hold_lose(lock, "its lease expired before it could be renewed");
    if (must_drop)
        lki_drop_begin(lock);
}

static bool is_async_acquire(const lki_operation *op) {
    return op->kind == LKI_DO_ACQUIRE && !op->caller && !op->reported;
}

/* An async release may precede the grant of an earlier async acquire; then it waits for it. */
static bool must_wait_for_acquire(const lk_lock *lock, const lki_operation *op) {
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

static bool has_count_to_release(const lk_lock *lock, const lki_operation *op) {
    if (op->of_last)
        return lock->reads || lock->writes;
    return op->kind == LKI_DO_CONVERT || op->mode == LK_WRITE ? lock->writes : lock->reads;
}

static bool may_begin(const lk_lock *lock, const lki_operation *op) {
    if (lock->lost && (op->kind == LKI_DO_ACQUIRE || op->kind == LKI_DO_RENEW))
        return true; /* it fails with LK_LOST, without a request */
    if ((op->kind == LKI_DO_RELEASE || op->kind == LKI_DO_CONVERT) && !op->reported) {
        bool has_count = has_count_to_release(lock, op);
        if (has_count && lock->lost)
            return true;
        if (!has_count)
            return !must_wait_for_acquire(lock, op);
    }
    if (lock->asked || is_cancel_on_way(lock)) /* SPEC 9: one request at a time */
        return false;
    if (op->kind != LKI_DO_ACQUIRE || !lock->waiting)
        return true;
    /* While its upgrade waits, a handle can still take further reads: they do not wait. */
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
    op->silent_since_us = lki_now_us(); /* not from before: it may have been pending for long */
    lki_operation_set(op, LKI_UNSENT);
    lki_operation_note_blocking(op);
}

/*
 * Begins the first pending operation that may begin. A try-acquire does not stay behind a waiter of
 * the handle: it fails with LK_BUSY. False: nothing to do.
 */
static bool begin_one(lk_lock *lock) {
    if (lock->pending)
        lose_if_expired(lock, lki_now_us());
    for (lki_operation **link = &lock->pending; *link; link = &(*link)->next) {
        lki_operation *op = *link;
        if (may_begin(lock, op)) {
            begin(lock, link);
            return true;
        }
        if (op->kind == LKI_DO_ACQUIRE && !op->wait && lock->waiting &&
            lock->waiting->state != LKI_CANCELING && !lock->asked && !is_cancel_on_way(lock)) {
            lki_operation_report(op, LK_BUSY, "another acquire is waiting with this handle");
            lki_operation_over(op);
            return true;
        }
    }
    return false;
}

/* A waiting operation that must ask again takes the place `asked`. False: there is none. */
static bool move_to_asked(lk_lock *lock) {
    lki_operation *op = lock->waiting;
    if (!op || lock->asked)
        return false;
    if (op->state == LKI_SUBSCRIBING && lki_server_hears(lock->server, lock->handle))
        lki_operation_set(op, LKI_UNSENT);
    if (op->state != LKI_UNSENT)
        return false;
    lock->waiting = NULL;
    lock->asked = op;
    lki_operation_note_blocking(op);
    return true;
}

/* Whether nobody uses the handle any more, and its hold can be released now. */
static bool can_release_unused(const lk_lock *lock) {
    return (lock->freed || lock->session->closing) && lki_lock_holds(lock) && !lock->asked &&
           lki_lock_can_send(lock);
}

/* Releases one count. The next drain releases the next one. */
static void release_unused(lk_lock *lock) {
    if (!can_release_unused(lock))
        return;
    lk_mode mode = lock->writes ? LK_WRITE : LK_READ;
    if (lki_release_begin(lock, mode))
        lki_hold_released(lock, mode);
}

/* Sends requests that could not be sent before: no connection, or another request's turn. */
static void send_unsent(lk_lock *lock) {
    if (lock->asked && lock->asked->state == LKI_UNSENT)
        lki_operation_send(lock->asked);
    if (lock->asked && lock->asked->state == LKI_CANCELING)
        lki_acquire_send_cancel(lock->asked);
    if (lock->waiting && lock->waiting->state == LKI_CANCELING)
        lki_acquire_send_cancel(lock->waiting);
}

/* ------------------------------------------------------------------------------ deadlines */

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
    if (needs_sending(lock, op) && lki_lock_can_send(lock))
        due_us = earlier(due_us, op->retry_us);
    return due_us;
}

/* Sets the timer to the next deadline of the handle, and tells the keeper. */
static void plan(lk_lock *lock) {
    int64_t due_us = lki_lock_holds(lock) ? hold_end_us(lock) : LKI_NEVER;
    if (can_release_unused(lock))
        due_us = earlier(due_us, lki_after_ms(lki_now_us(), RELEASE_RETRY_MS));
    if (lki_repeats_come_first(&lock->locks->repeats, lock))
        due_us = earlier(due_us, lock->locks->repeats.retry_us);
    due_us = earlier(due_us, lki_renewal_due_us(lock));
    due_us = earlier(due_us, operation_due_us(lock, lock->asked));
    due_us = earlier(due_us, operation_due_us(lock, lock->waiting));
    for (const lki_operation *op = lock->pending; op; op = op->next)
        due_us = earlier(due_us, operation_due_us(lock, op));
    lki_timers_set(&lock->locks->timers, &lock->timer, due_us);
    lki_keeper_due(lock->session, due_us);
}

/* An operation with a caller is not checked: the caller watches the time. */
static bool is_time_up(const lki_operation *op, int64_t now_us) {
    return !op->caller && lki_operation_due_us(op) <= now_us;
}

static void check_time(lki_operation *op, int64_t now_us) {
    if (op && is_time_up(op, now_us))
        lki_operation_time_up(op, now_us);
}

void lki_lock_due(lk_lock *lock, int64_t now_us) {
    lose_if_expired(lock, now_us);
    check_time(lock->asked, now_us);
    check_time(lock->waiting, now_us);
    lki_operation *op = lock->pending;
    while (op) {
        bool is_due = is_time_up(op, now_us);
        check_time(op, now_us);
        op = is_due ? lock->pending : op->next; /* lki_operation_time_up may change the list */
    }
    lki_lock_changed(lock);
}

/* ------------------------------------------------------------------------------ moving */

void lki_lock_redirect(lk_lock *lock, const lki_elsewhere *elsewhere) {
    lock->next = *elsewhere;
    lki_lock_changed(lock);
}

bool lki_lock_can_send(const lk_lock *lock) {
    return !lock->next.to && lki_link_is_up(&lock->server->commands.link) &&
           !lki_repeats_come_first(&lock->locks->repeats, lock);
}

lki_bytes *lki_lock_begin_request(lk_lock *lock) {
    if (lock->asking && !lki_server_asking(lock->server))
        return NULL;
    return lki_link_begin(&lock->server->commands.link);
}

static bool is_on_way(const lki_operation *op) {
    return op && (op->ask.on_way || op->cancel.on_way || op->state == LKI_CONFIRMING);
}

void lki_lock_recheck(const lk_lock *lock) {
    lki_operation_recheck(lock->asked);
    lki_operation_recheck(lock->waiting);
    for (const lki_operation *op = lock->pending; op; op = op->next)
        lki_operation_recheck(op);
}

void lki_lock_renew_now(lk_lock *lock) {
    lock->waiter_us = lki_now_us();
    if (lki_lock_holds(lock) && !lock->manual_renew)
        lock->renew_us = lock->waiter_us;
    lki_lock_changed(lock);
}

/*
 * If this is the same server, the greeting has ended the earlier connection there. If it is another
 * one, the former server does not have the lock any more. Either way, a refresh whose answer was
 * lost cannot run any more.
 */
void lki_lock_connected(lk_lock *lock) {
    lki_lock_renew_now(lock);
    if (lock->asked)
        lock->asked->retry_us = 0;
    if (!lock->waiting)
        return;
    lock->waiting->refresh_in_doubt = false;
    if (lock->waiting->life != lock->server->life)
        lock->waiting->queued_server_us = 0; /* another server has another clock */
}

static void count_waiters(const lk_lock *lock, int sign) {
    const lki_operation *ops[] = {lock->asked, lock->waiting};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i])
            lki_server_count_waiters(lock->server, sign * lki_operation_is_queued(ops[i]),
                                     sign * lki_operation_is_async_waiter(ops[i]));
}

static void move(lk_lock *lock, lki_elsewhere where) {
    lki_server *from = lock->server;
    count_waiters(lock, -1);
    lock->server = where.to;
    count_waiters(lock, 1);
    lki_server_raise_floor(lock->server, from->floor); /* SPEC 8.1: no fence goes back */
    lki_server_listen(lock->server, lock->handle);
    if (from->messages.wanted || lock->waiting)
        lki_server_want_messages(lock->server);
    lki_lock_recheck(lock);
    if (lki_link_is_up(&lock->server->commands.link))
        lki_lock_connected(lock);
}

/* A request that is on its way keeps the handle here: its answer says what has become of it. */
static void move_if_possible(lk_lock *lock) {
    lki_elsewhere where = lock->next;
    if (!where.to || is_on_way(lock->asked) || is_on_way(lock->waiting) || lock->renewing_hold ||
        lock->renewing_waiter)
        return;
    lock->next.to = NULL;
    if (where.to != lock->server)
        move(lock, where);
    lock->asking = where.asking;
}

/* ------------------------------------------------------------------------------ changes */

void lki_lock_changed(lk_lock *lock) {
    if (lock->is_dirty)
        return;
    lock->is_dirty = true;
    lock->next_dirty = NULL;
    if (lock->locks->dirty)
        lock->locks->last_dirty->next_dirty = lock;
    else
        lock->locks->dirty = lock;
    lock->locks->last_dirty = lock;
    lki_lock_retain(lock);
}

void lki_lock_settle(lk_lock *lock) {
    move_if_possible(lock);
    do {
        send_unsent(lock);
    } while (move_to_asked(lock) || begin_one(lock));
    lock->is_dirty = false; /* not before: the loop has dealt with the changes that it made */
    release_unused(lock);
    plan(lock);
    if (!lki_lock_holds(lock))
        release_if_awaited(lock);
}
