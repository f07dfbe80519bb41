/* See callbacks.h. */
#include "client/callbacks.h"

#include "base/thread.h"

#include <assert.h>

/* Whose callback this thread runs. */
static _Thread_local const lki_callbacks *inside;

void lki_callbacks_init(lki_callbacks *callbacks, pthread_mutex_t *monitor) {
    *callbacks = (lki_callbacks){.monitor = monitor};
    pthread_cond_init(&callbacks->work, NULL);
}

static void *run_all(void *context) {
    lki_callbacks *callbacks = context;
    inside = callbacks;
    pthread_mutex_lock(callbacks->monitor);
    for (;;) {
        lki_callback *callback = callbacks->first;
        if (callback) {
            callbacks->first = callback->next;
            callback->queued = false;
            pthread_mutex_unlock(callbacks->monitor);
            callback->run(callback);
            pthread_mutex_lock(callbacks->monitor);
        } else if (callbacks->stopping) {
            break;
        } else {
            pthread_cond_wait(&callbacks->work, callbacks->monitor);
        }
    }
    pthread_mutex_unlock(callbacks->monitor);
    return NULL;
}

lk_status lki_callbacks_start(lki_callbacks *callbacks, lki_error *error) {
    if (callbacks->started)
        return LK_OK;
    if (!lki_thread_start(&callbacks->thread, run_all, callbacks))
        return lki_error_set(error, LK_NOMEM, "no thread for callbacks can be started");
    callbacks->started = true;
    return LK_OK;
}

void lki_callbacks_add(lki_callbacks *callbacks, lki_callback *callback) {
    assert(callbacks->started && !callback->queued);
    callback->next = NULL;
    callback->queued = true;
    if (callbacks->first)
        callbacks->last->next = callback;
    else
        callbacks->first = callback;
    callbacks->last = callback;
    pthread_cond_signal(&callbacks->work);
}

void lki_callbacks_stop(lki_callbacks *callbacks) {
    pthread_mutex_lock(callbacks->monitor);
    callbacks->stopping = true;
    bool started = callbacks->started;
    pthread_cond_signal(&callbacks->work);
    pthread_mutex_unlock(callbacks->monitor);
    if (started)
        pthread_join(callbacks->thread, NULL);
    pthread_cond_destroy(&callbacks->work);
}

bool lki_callbacks_inside(const lki_callbacks *callbacks) {
    return inside == callbacks;
}
