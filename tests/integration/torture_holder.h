/*
 * A thread that holds locks, asks lk_valid() all the time to the very end of each hold, and notes
 * the answers in a history (tests/support/history.h). Its process may be stopped or killed at any
 * moment.
 */
#ifndef INTEGRATION_TORTURE_HOLDER_H
#define INTEGRATION_TORTURE_HOLDER_H

#include "harm.h"
#include "history.h"

enum { HOLDER_LOCKS = 4 };

/* Leases are short: others are granted at the very moment at which a hold runs out. */
extern const int64_t holder_leases_ms[HOLDER_LOCKS];
extern const char *const holder_names[HOLDER_LOCKS];

typedef struct {
    history *past;
    lk_client *client;
    unsigned number; /* of the client */
    unsigned name, seed;
    lk_lock *lock;
    history_hold hold;  /* what it has now */
    history_slot *slot; /* of that hold; NULL: it was not seen valid yet */
    pthread_t thread;
} holder;

void *holder_run(void *holder); /* for pthread_create() */

#endif
