/*
 * User code runs here, one callback after the other, with nothing of ours locked. Either a thread
 * of ours runs the callbacks: it is started when the first one is asked for. Or they are
 * *dispatched*: threads of the user's run them, one thread at a time, and `ready` tells an event
 * loop when.
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
    pthread_cond_t *changed; /* dispatched: one is queued, or nobody runs any more */
    pthread_cond_t work;     /* for the thread */
    pthread_t thread;
    bool started, stopping;
    bool dispatched, running; /* running: a thread of the user's runs some */
    int ready; /* dispatched: an eventfd, readable while some are queued and nobody runs any */
    lki_callback *first, *last;
    size_t count;
} lki_callbacks;

void lki_callbacks_init(lki_callbacks *, pthread_mutex_t *monitor, pthread_cond_t *changed);

/* Before anything else: there will be no thread. LK_NOMEM: there is no descriptor. */
lk_status lki_callbacks_dispatched(lki_callbacks *, lki_error *);

/* With the monitor. Start it before anything is promised: LK_NOMEM when there is no thread. */
lk_status lki_callbacks_start(lki_callbacks *, lki_error *);
void lki_callbacks_add(lki_callbacks *, lki_callback *); /* runs it, once */

/*
 * Dispatched, with the monitor; both let go of it. The first runs what is queued now, unless
 * another thread does. The second runs one callback about this handle; false: there is none, or not
 * now, and `changed` tells when to look again.
 */
LKI_UNLOCKS void lki_callbacks_dispatch(lki_callbacks *);
LKI_UNLOCKS bool lki_callbacks_run_about(lki_callbacks *, const void *about);

/* Without the monitor: runs what is left, on this thread where they are dispatched; ends the
 * thread, closes the descriptor. */
void lki_callbacks_stop(lki_callbacks *);

/* Whether this thread runs a callback of these at this moment. */
bool lki_callbacks_inside(const lki_callbacks *);

#endif
