/*
 * The background thread of a session: renews, notices what ran out, connects again, and reads when no
 * caller does. It is the only one that does these, and it never runs user code.
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
    int kick;  /* an eventfd */
    int timer; /* a timerfd on CLOCK_BOOTTIME: poll's own timeout sleeps with the machine */
    bool asleep, again; /* again: it was kicked while awake, so it must not sleep yet */
    int64_t wakes_us;   /* when it will look again by itself, while it is asleep */
    int64_t wanted_us;  /* when somebody wants it to, at the latest, while it is awake */
} lki_keeper;

/* With the monitor. */
void lki_keeper_init(lki_keeper *);
lk_status lki_keeper_start(lki_session *, lki_error *);
void lki_keeper_kick(lki_session *);                    /* look now */
void lki_keeper_wake_by(lki_session *, int64_t due_us); /* look then, if not before */

/* The same, for an instant that lki_session_events.next_due_us() knows. */
void lki_keeper_due(lki_session *, int64_t due_us);

/* Without the monitor: ends the thread; its descriptors are closed with lki_keeper_free. */
void lki_keeper_stop(lki_session *);
void lki_keeper_free(lki_keeper *);

#endif
