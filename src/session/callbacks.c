/* See callbacks.h. */
#include "session/callbacks.h"

#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/*
 * The clients whose callbacks this thread is running. There can be several: a callback of one
 * client may dispatch those of another.
 */
typedef struct frame frame;
struct frame {
    const lki_callbacks *of;
    const frame *outer;
};

static _Thread_local const frame *inside;

void lki_callbacks_init(lki_callbacks *callbacks, pthread_mutex_t *monitor,
                        pthread_cond_t *changed) {
    *callbacks = (lki_callbacks){.monitor = monitor, .changed = changed, .ready = -1};
    pthread_cond_init(&callbacks->work, NULL);
}

/* ------------------------------------------------------------------------------ running */

static lki_callback *take(lki_callbacks *callbacks, lki_callback **link) {
    lki_callback *callback = *link;
    *link = callback->next;
    callback->queued = false;
    callbacks->count--;
    return callback;
}

/* Releases the monitor. */
static void run_one(lki_callbacks *callbacks, lki_callback *callback) {
    frame here = {callbacks, inside};
    pthread_mutex_unlock(callbacks->monitor);
    inside = &here;
    callback->run(callback);
    inside = here.outer;
    pthread_mutex_lock(callbacks->monitor);
}

static void *run_all(void *context) {
    lki_callbacks *callbacks = context;
    pthread_mutex_lock(callbacks->monitor);
    for (;;) {
        if (callbacks->first)
            run_one(callbacks, take(callbacks, &callbacks->first));
        else if (callbacks->stopping)
            break;
        else
            pthread_cond_wait(&callbacks->work, callbacks->monitor);
    }
    pthread_mutex_unlock(callbacks->monitor);
    return NULL;
}

lk_status lki_callbacks_start(lki_callbacks *callbacks, lki_error *error) {
    if (callbacks->started || callbacks->dispatched)
        return LK_OK;
    if (!lki_thread_start(&callbacks->thread, run_all, callbacks))
        return lki_error_set(error, LK_NOMEM, "cannot start a thread for callbacks");
    callbacks->started = true;
    return LK_OK;
}

/* ------------------------------------------------------------------------------ dispatch */

lk_status lki_callbacks_dispatched(lki_callbacks *callbacks, lki_error *error) {
    assert(!callbacks->started);
    callbacks->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (callbacks->ready < 0)
        return lki_error_set(error, LK_NOMEM, "no file descriptor is left: %s", strerror(errno));
    callbacks->dispatched = true;
    return LK_OK;
}

/* The counter of the eventfd is 0 or 1. So a write cannot fail, and a read may find it 0. */
static void set_ready(lki_callbacks *callbacks, bool is_ready) {
    uint64_t one = 1;
    ssize_t length = is_ready ? write(callbacks->ready, &one, sizeof one)
                              : read(callbacks->ready, &one, sizeof one);
    (void)length;
}

static void begin_running(lki_callbacks *callbacks) {
    assert(callbacks->dispatched && !callbacks->running);
    callbacks->running = true;
    set_ready(callbacks, false);
}

static void end_running(lki_callbacks *callbacks) {
    callbacks->running = false;
    if (callbacks->first)
        set_ready(callbacks, true);
    pthread_cond_broadcast(callbacks->changed);
}

void lki_callbacks_dispatch(lki_callbacks *callbacks) {
    size_t left = callbacks->count;
    if (callbacks->running || !left)
        return;
    begin_running(callbacks);
    for (; left > 0; left--)
        run_one(callbacks, take(callbacks, &callbacks->first));
    end_running(callbacks);
}

static lki_callback *take_about(lki_callbacks *callbacks, const void *about) {
    lki_callback *before = NULL;
    for (lki_callback **link = &callbacks->first; *link; link = &(*link)->next) {
        if ((*link)->about == about) {
            if (callbacks->last == *link)
                callbacks->last = before;
            return take(callbacks, link);
        }
        before = *link;
    }
    return NULL;
}

bool lki_callbacks_run_about(lki_callbacks *callbacks, const void *about) {
    lki_callback *callback;
    if (!callbacks->dispatched || callbacks->running || !(callback = take_about(callbacks, about)))
        return false;
    begin_running(callbacks);
    run_one(callbacks, callback);
    end_running(callbacks);
    return true;
}

/* ------------------------------------------------------------------------------ queueing */

void lki_callbacks_add(lki_callbacks *callbacks, lki_callback *callback) {
    assert((callbacks->started || callbacks->dispatched) && !callback->queued);
    bool was_empty = !callbacks->first;
    callback->next = NULL;
    callback->queued = true;
    callbacks->count++;
    if (was_empty)
        callbacks->first = callback;
    else
        callbacks->last->next = callback;
    callbacks->last = callback;
    if (!callbacks->dispatched) {
        pthread_cond_signal(&callbacks->work);
        return;
    }
    if (was_empty && !callbacks->running)
        set_ready(callbacks, true);
    pthread_cond_broadcast(callbacks->changed); /* lk_lock_free may wait to run this callback */
}

static void run_remaining(lki_callbacks *callbacks) {
    while (callbacks->running)
        pthread_cond_wait(callbacks->changed, callbacks->monitor);
    while (callbacks->first)
        lki_callbacks_dispatch(callbacks);
    close(callbacks->ready);
    callbacks->ready = -1;
}

void lki_callbacks_stop(lki_callbacks *callbacks) {
    pthread_mutex_lock(callbacks->monitor);
    callbacks->stopping = true;
    bool started = callbacks->started;
    pthread_cond_signal(&callbacks->work);
    if (callbacks->dispatched)
        run_remaining(callbacks);
    pthread_mutex_unlock(callbacks->monitor);
    if (started)
        pthread_join(callbacks->thread, NULL);
    pthread_cond_destroy(&callbacks->work);
}

bool lki_callbacks_inside(const lki_callbacks *callbacks) {
    const frame *at = inside;
    while (at && at->of != callbacks)
        at = at->outer;
    return at != NULL;
}
