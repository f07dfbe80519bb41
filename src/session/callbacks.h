/*
 * Runs the callbacks of a client, one at a time, without the monitor. Normally a thread of the
 * library runs them; it starts when the first callback is requested. With `dispatch`, threads of
 * the user run them, one thread at a time, and `ready` tells an event loop when there are some.
 */
#ifndef LKI_CALLBACKS_H
#define LKI_CALLBACKS_H

#include "base/error.h"
#include "base/thread.h"

#include <pthread.h>

typedef struct lki_callback lki_callback;
struct lki_callback {
    lki_callback *next;
    const void *about; /* the handle, or NULL; see lki_callbacks_run_about */
    bool queued;
    void (*run)(lki_callback *); /* called without the monitor; may free the callback */
};

typedef struct {
    pthread_mutex_t *monitor;
    pthread_cond_t *changed; /* with dispatch: a callback was queued, or `running` became false */
    pthread_cond_t work;     /* wakes the thread */
    pthread_t thread;
    bool started, stopping; /* of the thread */
    bool dispatched;        /* threads of the user run the callbacks */
    bool running;           /* with dispatch: a thread of the user is running some */
    int ready;              /* with dispatch: an eventfd, readable while some are queued and no
                               thread runs any; else -1 */
    lki_callback *first, *last;
    size_t count; /* queued */
} lki_callbacks;

void lki_callbacks_init(lki_callbacks *, pthread_mutex_t *monitor, pthread_cond_t *changed);

/* Turns dispatch on; call it first, after init. LK_NOMEM: no descriptor is left. */
lk_status lki_callbacks_dispatched(lki_callbacks *, lki_error *);

/*
 * With the monitor held. Starts the thread, if there is none and dispatch is off. Call it before a
 * callback is promised to the user. LK_NOMEM: the thread cannot be started.
 */
lk_status lki_callbacks_start(lki_callbacks *, lki_error *);

/* With the monitor held: queues a callback, to be run once. */
void lki_callbacks_add(lki_callbacks *, lki_callback *);

/*
 * With dispatch, with the monitor held. The first runs the callbacks that are queued now, unless
 * another thread is running some. The second runs one callback about this handle. False: there is
 * none, or another thread is running some; wait for `changed` and try again.
 */
LKI_UNLOCKS void lki_callbacks_dispatch(lki_callbacks *);
LKI_UNLOCKS bool lki_callbacks_run_about(lki_callbacks *, const void *about);

/*
 * Without the monitor. All queued callbacks are run, with dispatch on this thread. Then the thread
 * has ended and the descriptor is closed.
 */
void lki_callbacks_stop(lki_callbacks *);

/* Whether the calling thread is inside a callback of this client. */
bool lki_callbacks_inside(const lki_callbacks *);

#endif
