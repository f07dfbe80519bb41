/*
 * The client's background thread: renews, notices what ran out, connects again, and reads when no
 * caller does. It is the only one that does these, and it never runs user code.
 */
#ifndef LKI_KEEPER_H
#define LKI_KEEPER_H

#include "base/error.h"

#include <pthread.h>
#include <stdint.h>

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
lk_status lki_keeper_start(lk_client *, lki_error *);
void lki_keeper_kick(lk_client *);                      /* look now */
void lki_keeper_wake_by(lk_client *, int64_t due_us);   /* look then, if not before */
void lki_keeper_timer_set(lk_client *, int64_t due_us); /* the same, for what is in the timers */

/* Without the monitor: ends the thread; its descriptors are closed with lki_keeper_free. */
void lki_keeper_stop(lk_client *);
void lki_keeper_free(lki_keeper *);

#endif
