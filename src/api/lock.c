/* lk_lock_new and lk_lock_free; operations on a handle, blocking and async. */
#include "api/enter.h"
#include "base/clock.h"
#include "base/thread.h"
#include "lock/hold.h"
#include "lock/operation.h"

#include <inttypes.h>

lk_status lk_lock_new(lk_client *client, const char *name, const lk_lock_options *options,
                      lk_lock **out) {
    lki_error error;
    lk_lock *lock;
    if (!name || !out)
        return lki_fail(LK_INVALID, "%s is NULL", name ? "out" : "the lock's name");
    lk_status status = lki_enter(client, LKI_NEVER_BLOCKS);
    if (status != LK_OK)
        return status;
    status = lki_lock_new(&client->locks, name, options, &lock, &error);
    lki_leave(&client->session);
    if (status != LK_OK)
        return lki_fail_with(&error);
    *out = lock;
    return LK_OK;
}

void lk_lock_free(lk_lock *lock) {
    if (!lock || lock->session->forks != lki_fork_count())
        return;
    lki_session *session = lock->session;
    lki_cancellation_off();
    pthread_mutex_lock(&session->monitor);
    lki_session_retain(session);
    lki_lock_free(lock);
    lki_leave(session);
}

/* ------------------------------------------------------------------------------ blocking */

/* Runs one operation, and blocks until it is reported. */
static lk_status run(lk_lock *lock, const lki_operation *wanted) {
    lk_status status = lki_enter_lock(lock, LKI_MAY_BLOCK);
    if (status != LK_OK)
        return status;
    lki_session *session = lock->session;
    lki_operation *op = lki_operation_new(lock, wanted->kind, wanted->mode);
    if (op) {
        op->wait = wanted->wait;
        op->of_last = wanted->of_last;
        op->deadline_us = wanted->deadline_us;
        op->lease_ms = wanted->lease_ms ? wanted->lease_ms : lock->lease_ms;
        status = lki_operation_await(op);
        if (status != LK_OK)
            lki_fail_with(&op->result);
        lki_operation_release(op);
    } else {
        status = lki_fail(LK_NOMEM, "lock \"%s\": out of memory", lock->name);
    }
    lki_leave(session);
    return status;
}

/* wait_ms -1: without limit. */
static lk_status acquire(lk_lock *lock, lk_mode mode, int64_t wait_ms) {
    lki_operation wanted = {.kind = LKI_DO_ACQUIRE,
                            .mode = mode,
                            .wait = wait_ms != 0,
                            .deadline_us =
                                wait_ms > 0 ? lki_after_ms(lki_now_us(), wait_ms) : LKI_NEVER};
    return run(lock, &wanted);
}

/* A wait below -1 is probably a miscalculated deadline, which must not wait without limit. */
static lk_status check_wait(const lk_lock *lock, int64_t wait_ms) {
    if (!lock || wait_ms >= -1)
        return LK_OK;
    return lki_fail(LK_INVALID, "lock \"%s\": wait_ms must not be below -1, but is %" PRId64,
                    lock->name, wait_ms);
}

static lk_status acquire_timed(lk_lock *lock, lk_mode mode, int64_t wait_ms) {
    lk_status status = check_wait(lock, wait_ms);
    return status == LK_OK ? acquire(lock, mode, wait_ms) : status;
}

lk_status lk_rdlock(lk_lock *lock) {
    return acquire(lock, LK_READ, -1);
}

lk_status lk_tryrdlock(lk_lock *lock) {
    return acquire(lock, LK_READ, 0);
}

lk_status lk_timedrdlock(lk_lock *lock, int64_t wait_ms) {
    return acquire_timed(lock, LK_READ, wait_ms);
}

lk_status lk_wrlock(lk_lock *lock) {
    return acquire(lock, LK_WRITE, -1);
}

lk_status lk_trywrlock(lk_lock *lock) {
    return acquire(lock, LK_WRITE, 0);
}

lk_status lk_timedwrlock(lk_lock *lock, int64_t wait_ms) {
    return acquire_timed(lock, LK_WRITE, wait_ms);
}

/* Unlocking a lost hold needs no request and does not block, so a callback may do it. */
static bool unlock_lost(lk_lock *lock, const lki_operation *wanted, lk_status *out) {
    lki_session *session = lock ? lock->session : NULL;
    if (!session || session->forks != lki_fork_count() ||
        !lki_callbacks_inside(&session->callbacks) ||
        lki_enter_lock(lock, LKI_NEVER_BLOCKS) != LK_OK)
        return false;
    lk_mode mode = wanted->mode;
    bool has_count = wanted->of_last ? lki_release_last(lock, NULL, &mode)
                                     : (mode == LK_WRITE ? lock->writes : lock->reads) > 0;
    bool is_unlocked = lock->lost && has_count;
    if (is_unlocked) {
        lki_hold_released(lock, mode);
        *out = lki_fail(LK_LOST, "lock \"%s\" on %s: %s", lock->name, session->topology->shown,
                        lk_status_text(LK_LOST));
    }
    lki_leave(session);
    return is_unlocked;
}

static lk_status unlock(lk_lock *lock, lk_mode mode, bool of_last) {
    lki_operation wanted = {
        .kind = LKI_DO_RELEASE, .mode = mode, .of_last = of_last, .deadline_us = LKI_NEVER};
    lk_status status;
    return unlock_lost(lock, &wanted, &status) ? status : run(lock, &wanted);
}

lk_status lk_rdunlock(lk_lock *lock) {
    return unlock(lock, LK_READ, false);
}

lk_status lk_wrunlock(lk_lock *lock) {
    return unlock(lock, LK_WRITE, false);
}

lk_status lk_unlock(lk_lock *lock) {
    return unlock(lock, LK_READ, true);
}

lk_status lk_downgrade(lk_lock *lock) {
    lki_operation wanted = {.kind = LKI_DO_CONVERT, .mode = LK_READ, .deadline_us = LKI_NEVER};
    return run(lock, &wanted);
}

lk_status lk_renew(lk_lock *lock, int64_t lease_ms) {
    lki_operation wanted = {
        .kind = LKI_DO_RENEW, .mode = LK_READ, .deadline_us = LKI_NEVER, .lease_ms = lease_ms};
    if (lock && lease_ms && (lease_ms < 100 || lease_ms > 86400000))
        return lki_fail(LK_INVALID, "lock \"%s\": lease_ms must be 100 to 86400000, not %" PRId64,
                        lock->name, lease_ms);
    return run(lock, &wanted);
}

lk_status lk_cancel(lk_lock *lock) {
    lk_status status = lki_enter_lock(lock, LKI_NEVER_BLOCKS);
    if (status != LK_OK)
        return status;
    lki_session *session = lock->session;
    lki_lock_cancel(lock);
    lki_server_push(lock->server);
    lki_leave(session);
    return LK_OK;
}

/* ------------------------------------------------------------------------------ async */

static lk_status begin(lk_lock *lock, const lki_operation *wanted) {
    lki_error error;
    lk_status status = lki_enter_lock(lock, LKI_NEVER_BLOCKS);
    if (status != LK_OK)
        return status;
    lki_session *session = lock->session;
    lki_operation *op = NULL;
    status = wanted->done ? lki_callbacks_start(&session->callbacks, &error) : LK_OK;
    if (status == LK_OK && !(op = lki_operation_new(lock, wanted->kind, wanted->mode)))
        status = lki_error_no_memory(&error);
    if (op) {
        op->wait = wanted->wait;
        op->deadline_us = wanted->deadline_us;
        op->done = wanted->done;
        op->done_arg = wanted->done_arg;
        lki_operation_begin(op);
        lki_operation_release(op);
        lki_server_push(lock->server);
    } else {
        lki_fail_with(&error);
    }
    lki_leave(session);
    return status;
}

static lk_status begin_in_mode(lk_lock *lock, const lki_operation *wanted) {
    if (lock && wanted->mode != LK_READ && wanted->mode != LK_WRITE)
        return lki_fail(LK_INVALID, "lock \"%s\": mode %d is not a valid lk_mode", lock->name,
                        (int)wanted->mode);
    return begin(lock, wanted);
}

lk_status lk_acquire_async(lk_lock *lock, lk_mode mode, int64_t wait_ms, lk_done_fn *done,
                           void *arg) {
    lki_operation wanted = {.kind = LKI_DO_ACQUIRE,
                            .mode = mode,
                            .wait = wait_ms != 0,
                            .deadline_us =
                                wait_ms > 0 ? lki_after_ms(lki_now_us(), wait_ms) : LKI_NEVER,
                            .done = done,
                            .done_arg = arg};
    lk_status status = check_wait(lock, wait_ms);
    return status == LK_OK ? begin_in_mode(lock, &wanted) : status;
}

lk_status lk_release_async(lk_lock *lock, lk_mode mode, lk_done_fn *done, void *arg) {
    lki_operation wanted = {.kind = LKI_DO_RELEASE,
                            .mode = mode,
                            .deadline_us = LKI_NEVER,
                            .done = done,
                            .done_arg = arg};
    return begin_in_mode(lock, &wanted);
}
