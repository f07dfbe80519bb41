/* See checked_calls.h. */
#include "checked_calls.h"

#include "latchkey.h"
#include "listed_statuses.h"
#include "lk_status_functions.h"
#include "test_memory.h"

#include <stdlib.h>

/* ld --wrap: calls of lk_open come to __wrap_lk_open, and __real_lk_open is the library's. */
#define DECLARE(function) extern __typeof__(function) __real_##function, __wrap_##function;
LK_STATUS_FUNCTIONS(DECLARE)

/* A function of the header that has no wrapper below is an undefined symbol here. */
#define ENTRY(function) {#function, (void (*)(void))__wrap_##function},
const checked_call checked_calls[] = {LK_STATUS_FUNCTIONS(ENTRY)};
const size_t checked_call_count = sizeof checked_calls / sizeof *checked_calls;

#define CHECK(function, ...) \
    listed_status_check(#function, #function, __real_##function(__VA_ARGS__))

lk_status __wrap_lk_open(const char *url, const lk_client_options *options, lk_client **out) {
    return CHECK(lk_open, url, options, out);
}

lk_status __wrap_lk_defaults_read(lk_defaults **out) {
    return CHECK(lk_defaults_read, out);
}

lk_status __wrap_lk_lock_new(lk_client *client, const char *name, const lk_lock_options *options,
                             lk_lock **out) {
    return CHECK(lk_lock_new, client, name, options, out);
}

lk_status __wrap_lk_rdlock(lk_lock *lock) {
    return CHECK(lk_rdlock, lock);
}

lk_status __wrap_lk_tryrdlock(lk_lock *lock) {
    return CHECK(lk_tryrdlock, lock);
}

lk_status __wrap_lk_timedrdlock(lk_lock *lock, int64_t wait_ms) {
    return CHECK(lk_timedrdlock, lock, wait_ms);
}

lk_status __wrap_lk_wrlock(lk_lock *lock) {
    return CHECK(lk_wrlock, lock);
}

lk_status __wrap_lk_trywrlock(lk_lock *lock) {
    return CHECK(lk_trywrlock, lock);
}

lk_status __wrap_lk_timedwrlock(lk_lock *lock, int64_t wait_ms) {
    return CHECK(lk_timedwrlock, lock, wait_ms);
}

lk_status __wrap_lk_rdunlock(lk_lock *lock) {
    return CHECK(lk_rdunlock, lock);
}

lk_status __wrap_lk_wrunlock(lk_lock *lock) {
    return CHECK(lk_wrunlock, lock);
}

lk_status __wrap_lk_unlock(lk_lock *lock) {
    return CHECK(lk_unlock, lock);
}

lk_status __wrap_lk_downgrade(lk_lock *lock) {
    return CHECK(lk_downgrade, lock);
}

lk_status __wrap_lk_renew(lk_lock *lock, int64_t lease_ms) {
    return CHECK(lk_renew, lock, lease_ms);
}

lk_status __wrap_lk_cancel(lk_lock *lock) {
    return CHECK(lk_cancel, lock);
}

lk_status __wrap_lk_dispatch(lk_client *client) {
    return CHECK(lk_dispatch, client);
}

lk_status __wrap_lk_inspect(lk_client *client, const char *name, lk_info **out) {
    return CHECK(lk_inspect, client, name, out);
}

lk_status __wrap_lk_list(lk_client *client, const char *pattern, lk_list_fn *each, void *arg) {
    return CHECK(lk_list, client, pattern, each, arg);
}

lk_status __wrap_lk_force_release(lk_client *client, const char *name, const char *owner) {
    return CHECK(lk_force_release, client, name, owner);
}

lk_status __wrap_lk_examine(const char *url, const lk_client_options *options, lk_facts **out) {
    return CHECK(lk_examine, url, options, out);
}

lk_status __wrap_lk_local_status(lk_local_info **out) {
    return CHECK(lk_local_status, out);
}

lk_status __wrap_lk_local_stop(bool *ran) {
    return CHECK(lk_local_stop, ran);
}

/* ------------------------------------------------------------------------------ async */

/* What the program wanted to be called; freed by the callback, or when there will be none. */
typedef struct {
    lk_done_fn *done;
    void *arg;
    const char *what, *as;
} checked_done;

static void call_done(lk_lock *lock, lk_status status, void *arg) {
    checked_done self = *(checked_done *)arg;
    free(arg);
    self.done(lock, listed_status_check(self.what, self.as, status), self.arg);
}

static checked_done *wrap_done(lk_done_fn *done, void *arg, const char *what, const char *as) {
    if (!done)
        return NULL;
    checked_done *self = test_alloc(1, sizeof *self);
    *self = (checked_done){done, arg, what, as};
    return self;
}

lk_status __wrap_lk_acquire_async(lk_lock *lock, lk_mode mode, int64_t wait_ms, lk_done_fn *done,
                                  void *arg) {
    checked_done *own = wrap_done(done, arg, "the callback of lk_acquire_async", "lk_wrlock");
    lk_status status = CHECK(lk_acquire_async, lock, mode, wait_ms, own ? call_done : NULL, own);
    if (status != LK_OK)
        free(own);
    return status;
}

lk_status __wrap_lk_release_async(lk_lock *lock, lk_mode mode, lk_done_fn *done, void *arg) {
    checked_done *own = wrap_done(done, arg, "the callback of lk_release_async", "lk_wrunlock");
    lk_status status = CHECK(lk_release_async, lock, mode, own ? call_done : NULL, own);
    if (status != LK_OK)
        free(own);
    return status;
}
