/* A reader or a writer: a process that takes the lock, works, gives it back, and thinks. */
#ifndef DEMO_ACTOR_H
#define DEMO_ACTOR_H

#include "record.h"

/* The whole life of actor `me` in a process of its own; the exit status. */
int actor_run(record *, int me);

#endif
