/*
 * The background thread of a session: renews, notices expired holds and timeouts, reconnects, and
 * reads when no caller does. No other thread does the first three. It never runs user code.
 */
#ifndef LKI_KEEPER_H
#define LKI_KEEPER_H

#include "base/error.h"

#include <pthread.h>
#include <stdint.h>

typedef struct lki_session lki_session;

typedef struct {
    pthread_t thread;
    bool running, stop;
    int kick;           /* an eventfd that ends its sleep; -1: none */
    int timer;          /* a timerfd on CLOCK_BOOTTIME, since poll's timeout stops in a suspend */
    bool asleep;        /* in poll */
    bool kicked;        /* since its round began: it must do another round before it sleeps */
    int64_t wakes_us;   /* valid while asleep: when its timer ends the sleep */
    int64_t wake_by_us; /* valid while awake: the next round must begin by then */
} lki_keeper;

/* With the monitor held, except lki_keeper_init() and lki_keeper_start(). */
void lki_keeper_init(lki_keeper *);
lk_status lki_keeper_start(lki_session *, lki_error *);
void lki_keeper_kick(lki_session *);                    /* do a round now */
void lki_keeper_wake_by(lki_session *, int64_t due_us); /* do a round by then */

/* As lki_keeper_wake_by(), for an instant that lki_session_events.next_due_us() includes. */
void lki_keeper_due(lki_session *, int64_t due_us);

/* Without the monitor. Ends the thread; lki_keeper_free() then closes its descriptors. */
void lki_keeper_stop(lki_session *);
void lki_keeper_free(lki_keeper *);

#endif
