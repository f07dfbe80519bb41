/* See locks.h. */
#include "lock/locks.h"

#include "base/clock.h"
#include "base/memory.h"
#include "lock/operation.h"
#include "lock/renewal.h"
#include "lock/repeats.h"

enum { RENEW_AHEAD_SHARE = 20 }; /* of the lease; see renew_along */

void lki_locks_init(lki_locks *locks, lki_session *session) {
    locks->session = session;
    locks->repeats.retry_us = LKI_NEVER;
}

void lki_locks_free(lki_locks *locks) {
    lki_table_free(&locks->table);
    lki_timers_free(&locks->timers);
    lki_repeats_free(&locks->repeats);
}

bool lki_locks_drain(lki_locks *locks) {
    bool any = locks->dirty;
    while (locks->dirty) {
        lk_lock *lock = locks->dirty;
        locks->dirty = lock->next_dirty;
        lki_lock_settle(lock);
        lki_lock_release(lock);
    }
    return any;
}

/* ------------------------------------------------------------------------------ connections */

typedef void visit(lk_lock *, const lki_error *);

/* Visits the handles of a server; NULL: of all servers. */
static void visit_all(lki_locks *locks, const lki_server *server, visit *each,
                      const lki_error *error) {
    for (lk_lock *lock = lki_table_next(&locks->table, NULL), *next; lock; lock = next) {
        lki_lock_retain(lock); /* `each` may release it, and it is needed to find the next */
        if (!server || lock->server == server)
            each(lock, error);
        next = lki_table_next(&locks->table, lock);
        lki_lock_release(lock);
    }
}

static void connected(lk_lock *lock, const lki_error *error) {
    (void)error;
    lki_lock_connected(lock);
}

/*
 * The node to which ASK sent the handle does not answer. The owner of the slot knows whether the
 * slot still moves there: if not, it serves the lock itself.
 */
static void go_back_to_owner(lk_lock *lock) {
    lki_error why;
    lki_elsewhere owner = {.to = lki_session_server(lock->session, lock->slot, &why)};
    if (owner.to)
        lki_lock_redirect(lock, &owner);
}

/* Without a connection other timeouts apply, so callers must compute theirs again. */
static void disconnected(lk_lock *lock, const lki_error *error) {
    (void)error;
    if (lock->asking)
        go_back_to_owner(lock);
    lki_lock_recheck(lock);
    lki_lock_changed(lock);
}

/* A grant or a loss may have been published before the subscription. */
static void subscribed(lk_lock *lock, const lki_error *error) {
    (void)error;
    lki_lock_renew_now(lock);
    lki_operation_recheck(lock->waiting);
}

static void refresh_waiter(lk_lock *lock, const lki_error *error) {
    (void)error;
    int64_t now_us = lki_now_us();
    if (!lock->waiting || !lki_operation_is_queued(lock->waiting) || lock->waiter_us <= now_us)
        return;
    lock->waiter_us = now_us;
    lki_lock_changed(lock);
}

static void refused(lk_lock *lock, const lki_error *error) {
    lki_operation *op = lock->waiting;
    if (!op || op->state != LKI_SUBSCRIBING)
        return;
    lki_operation_report(op, error->status, "%s", error->text);
    lki_operation_over(op);
}

static void on_connected(void *context, lki_server *server) {
    lki_locks *locks = context;
    lki_repeats_send(&locks->repeats, locks->session);
    visit_all(locks, server, connected, NULL);
}

static void on_disconnected(void *context, lki_server *server) {
    visit_all(context, server, disconnected, NULL);
}

static void on_subscribed(void *context, lki_server *server) {
    visit_all(context, server, subscribed, NULL);
}

static void on_messages_missing(void *context, lki_server *server) {
    visit_all(context, server, refresh_waiter, NULL);
}

static void on_refused(void *context, lki_server *server, const lki_error *error) {
    visit_all(context, server, refused, error);
}

/*
 * A handle that was sent to another server by ASK stays there: that server says when it is wrong. If
 * it cannot be reached, see go_back_to_owner(). It may have no slots yet, and so was retired.
 */
static void find_server(lk_lock *lock, const lki_error *error) {
    (void)error;
    lki_error why;
    lki_elsewhere owner = {.to = lki_session_server(lock->session, lock->slot, &why)};
    bool is_right = owner.to == lock->server;
    if (owner.to && (is_right ? lock->asking || lock->next.to : !lock->asking)) {
        lki_lock_redirect(lock, &owner);
    } else if (lock->asking) {
        lki_server_want(lock->server);
        if (lock->waiting)
            lki_server_want_messages(lock->server);
    }
}

static void on_remapped(void *context) {
    lki_locks *locks = context;
    visit_all(locks, NULL, find_server, NULL);
    lki_repeats_send(&locks->repeats, locks->session);
}

static void on_message(void *context, lki_server *server, bool is_own, const char *text,
                       size_t length) {
    lki_locks_heard(context, server, is_own, text, length);
}

/* ------------------------------------------------------------------------------ deadlines */

static lk_lock *lock_of(lki_timer *timer) {
    return (lk_lock *)(void *)((char *)timer - offsetof(struct lk_lock, timer));
}

/* Removes the handles of the server of the first one from the list, and returns them. */
static lk_lock *take_of_one_server(lk_lock **list) {
    const lki_server *server = (*list)->server;
    lk_lock *taken = NULL, **end = &taken, **link = list;
    while (*link) {
        lk_lock *lock = *link;
        if (lock->server == server) {
            *link = lock->next_due;
            lock->next_due = NULL;
            *end = lock;
            end = &lock->next_due;
        } else {
            link = &lock->next_due;
        }
    }
    return taken;
}

static void send_renewals(lki_locks *locks, int64_t now_us) {
    while (locks->due) {
        lk_lock *first = take_of_one_server(&locks->due);
        lki_renewals_send(first->server, first, now_us);
    }
}

static void add_to_due(lki_locks *locks, lk_lock *lock) {
    lock->next_due = locks->due;
    locks->due = lock;
    lki_lock_changed(lock); /* the list of changed handles keeps it until its renewal is sent */
}

/* Removes the timer until the handle is settled, so that the next timer becomes the first. */
static void stop_timer(lki_locks *locks, lk_lock *lock) {
    lki_timers_set(&locks->timers, &lock->timer, LKI_NEVER);
}

static bool run_due(lki_locks *locks, int64_t now_us) {
    bool any = false;
    lki_timer *timer;
    while ((timer = lki_timers_first(&locks->timers)) && timer->due_us <= now_us) {
        lk_lock *lock = lock_of(timer);
        stop_timer(locks, lock);
        lki_lock_due(lock, now_us);
        if (lki_renewal_due_us(lock) <= now_us) {
            add_to_due(locks, lock);
            any = true;
        }
    }
    return any;
}

/* Renews handles that will be due soon together with those that are due: that saves commands. */
static void renew_along(lki_locks *locks, int64_t now_us) {
    lki_timer *timer;
    while ((timer = lki_timers_first(&locks->timers))) {
        lk_lock *lock = lock_of(timer);
        int64_t by_us = now_us + lock->lease_ms * 1000 / RENEW_AHEAD_SHARE;
        if (lock->waiting || timer->due_us > by_us || lki_renewal_due_us(lock) > by_us)
            return;
        stop_timer(locks, lock);
        lock->renew_us = lock->renew_us > now_us ? now_us : lock->renew_us;
        add_to_due(locks, lock);
    }
}

static void on_due(void *context, int64_t now_us) {
    lki_locks *locks = context;
    if (locks->repeats.retry_us <= now_us)
        lki_repeats_send(&locks->repeats, locks->session);
    if (run_due(locks, now_us))
        renew_along(locks, now_us);
    send_renewals(locks, now_us);
    lki_locks_drain(locks);
}

static bool on_drain(void *context) {
    return lki_locks_drain(context);
}

static int64_t next_due_us(const void *context) {
    const lki_locks *locks = context;
    const lki_timer *timer = lki_timers_first(&locks->timers);
    int64_t due_us = timer ? timer->due_us : LKI_NEVER;
    return due_us < locks->repeats.retry_us ? due_us : locks->repeats.retry_us;
}

const lki_session_events lki_locks_events = {
    .connected = on_connected,
    .disconnected = on_disconnected,
    .subscribed = on_subscribed,
    .refused = on_refused,
    .messages_missing = on_messages_missing,
    .message = on_message,
    .remapped = on_remapped,
    .next_due_us = next_due_us,
    .due = on_due,
    .drain = on_drain,
};

/* ------------------------------------------------------------------------------ the end */

static void shut(lk_lock *lock, const lki_error *error) {
    (void)error;
    lki_lock_shut(lock);
}

void lki_locks_shut(lki_locks *locks) {
    visit_all(locks, NULL, shut, NULL);
}

bool lki_locks_are_idle(const lki_locks *locks) {
    if (locks->operations)
        return false;
    for (const lk_lock *lock = lki_table_next(&locks->table, NULL); lock;
         lock = lki_table_next(&locks->table, lock))
        if (lki_lock_holds(lock))
            return false;
    return true;
}

static void end(lk_lock *lock, const lki_error *error) {
    (void)error;
    lki_lock_end(lock);
}

void lki_locks_end(lki_locks *locks) {
    visit_all(locks, NULL, end, NULL);
}
