/*
 * User code runs here: on a thread of its own, one callback after the other, with nothing of ours
 * locked. The thread is started when the first callback is asked for.
 */
#ifndef LKI_CALLBACKS_H
#define LKI_CALLBACKS_H

#include "base/error.h"

#include <pthread.h>

typedef struct lki_callback lki_callback;
struct lki_callback {
    lki_callback *next;
    bool queued;
    void (*run)(lki_callback *); /* called without the monitor; may free the callback */
};

typedef struct {
    pthread_mutex_t *monitor;
    pthread_cond_t work;
    pthread_t thread;
    bool started, stopping;
    lki_callback *first, *last;
} lki_callbacks;

void lki_callbacks_init(lki_callbacks *, pthread_mutex_t *monitor);

/* With the monitor. Start it before anything is promised: LK_NOMEM when there is no thread. */
lk_status lki_callbacks_start(lki_callbacks *, lki_error *);
void lki_callbacks_add(lki_callbacks *, lki_callback *); /* runs it, once */

/* Without the monitor: runs what is left, ends the thread. */
void lki_callbacks_stop(lki_callbacks *);

/* Whether this thread runs a callback of these at this moment. */
bool lki_callbacks_inside(const lki_callbacks *);

#endif
