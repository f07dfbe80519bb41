/* One thread of a worker with one handle at a time. Its calls may be stopped or killed anywhere. */
#ifndef FAULTS_HAND_H
#define FAULTS_HAND_H

#include "worker.h"

#include <pthread.h>

typedef struct {
    const worker_self *worker;
    unsigned seed;
    unsigned lock; /* index in journal_locks */
    unsigned handle;
    lk_lock *taken;     /* the handle */
    history_hold hold;  /* what it has now */
    history_slot *slot; /* of that hold; NULL: it was not seen valid yet */
    unsigned run;       /* the number of its write hold in the store */
    pthread_t thread;
} hand;

void *hand_run(void *hand); /* for pthread_create() */

#endif
