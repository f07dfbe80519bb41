/*
 * The processes: starts them, watches the queue through lk_inspect, kills one, and sees that all
 * end. Forks before it opens a client, which would not go through a fork.
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
    pid_t pids[ACTORS]; /* 0: has ended */
    int64_t doom_us;    /* when the victim's next turn becomes its last */
    int64_t give_up_us;
} stage;

/* false: shared->why says what went wrong; stage_end() is due in any case. */
bool stage_start(stage *, record *, int seconds);

/* One look at everything. false: all have ended, or one failed (shared->failed). */
bool stage_step(stage *);

/* Ends what still runs, but for the client, which the last check needs. */
void stage_end(stage *);

#endif
