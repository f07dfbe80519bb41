/* What happens to all handles of a server when its lines come and go. See lock.h. */
#include "base/clock.h"
#include "lock/operation.h"

typedef void visit(lk_lock *, const lki_error *);

static void visit_all(lki_server *server, visit *each, const lki_error *error) {
    lk_client *client = server->client;
    for (lk_lock *lock = lki_table_next(&client->locks, NULL), *next; lock; lock = next) {
        /* Held so that it is there to find the next one by. */
        lki_lock_retain(lock);
        if (lock->server == server)
            each(lock, error);
        next = lki_table_next(&client->locks, lock);
        lki_lock_release(lock);
    }
}

static void renew_now(lk_lock *lock) {
    lock->waiter_us = lki_now_us();
    if (lki_lock_holds(lock) && !lock->manual_renew)
        lock->renew_us = lock->waiter_us;
}

/* What is in doubt is asked again, what is held or waits is renewed at once. */
static void up(lk_lock *lock, const lki_error *error) {
    (void)error;
    renew_now(lock);
    if (lock->asked && lock->asked->state == LKI_UNSENT) {
        lock->asked->retry_us = 0;
        lki_operation_send(lock->asked);
    }
    if (lock->waiting && lock->waiting->leaving && lock->waiting->state == LKI_WAITING)
        lki_acquire_send_cancel(lock->waiting);
    lki_lock_advance(lock);
}

static void recheck(const lki_operation *op) {
    if (op && op->caller) {
        op->caller->recheck = true;
        lki_caller_notify(op->caller);
    }
}

/* From now on callers have less patience: they look at their time again. */
static void down(lk_lock *lock, const lki_error *error) {
    (void)error;
    recheck(lock->asked);
    recheck(lock->waiting);
    for (const lki_operation *op = lock->pending; op; op = op->next)
        recheck(op);
    lki_lock_plan(lock);
}

/* A grant, or a loss, may have been published while nobody listened. */
static void subscribed(lk_lock *lock, const lki_error *error) {
    (void)error;
    renew_now(lock);
    recheck(lock->waiting);
    lki_lock_advance(lock);
}

static void refresh_waiter(lk_lock *lock, const lki_error *error) {
    (void)error;
    int64_t now_us = lki_now_us();
    if (!lock->waiting || lock->waiting->state != LKI_WAITING || lock->waiter_us <= now_us)
        return;
    lock->waiter_us = now_us;
    lki_lock_plan(lock);
}

static void refused(lk_lock *lock, const lki_error *error) {
    lki_operation *op = lock->waiting;
    if (!op || op->state != LKI_SUBSCRIBING)
        return;
    lki_operation_report(op, error->status, "%s", error->text);
    lki_operation_over(op);
}

void lki_locks_up(lki_server *server) {
    visit_all(server, up, NULL);
}

void lki_locks_down(lki_server *server) {
    visit_all(server, down, NULL);
}

void lki_locks_subscribed(lki_server *server) {
    visit_all(server, subscribed, NULL);
}

void lki_locks_refresh_waiters(lki_server *server) {
    visit_all(server, refresh_waiter, NULL);
}

void lki_locks_refused(lki_server *server, const lki_error *error) {
    visit_all(server, refused, error);
}
