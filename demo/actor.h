/* A reader or a writer: a process that acquires the lock, works, releases it, and pauses. */
#ifndef DEMO_ACTOR_H
#define DEMO_ACTOR_H

#include "record.h"

/* Runs actor `me` in a process of its own, from start to end. Returns the exit status. */
int actor_run(record *, int me);

#endif
