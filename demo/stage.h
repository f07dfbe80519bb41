/*
 * Starts the processes, watches the queue through lk_inspect, kills one process, and makes sure
 * that all end. It forks before it opens a client, because a client does not survive a fork.
 */
#ifndef DEMO_STAGE_H
#define DEMO_STAGE_H

#include "record.h"

#include <stddef.h>
#include <sys/types.h>

enum { VICTIM = READERS + 1 }; /* the second writer */

typedef struct {
    record *shared;
    lk_client *client;
    pid_t pids[ACTORS]; /* 0: the process has ended */
    int64_t doom_us;    /* from then on, the victim's next turn is its last */
    int64_t give_up_us;
} stage;

/* false: shared->why has the reason. The caller must call stage_end() in any case. */
bool stage_start(stage *, record *, int seconds);

/* Checks everything once. false: all processes have ended, or one failed (shared->failed). */
bool stage_step(stage *);

/* Ends all remaining processes. The client stays open, because the last check needs it. */
void stage_end(stage *);

#endif
