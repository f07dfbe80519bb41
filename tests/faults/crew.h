/*
 * The workers of a round, as the harness has them: it starts them, stops, continues, kills and
 * replaces some, and waits for their end. A crew is one thread's.
 */
#ifndef FAULTS_CREW_H
#define FAULTS_CREW_H

#include "worker.h"

enum { CREW_SIZE = 5, CREW_WATCHER = 0 };

typedef struct crew crew;

/* The URL of each worker; the crew keeps the pointers. NULL: a worker could not be started. */
crew *crew_start(history *, journal *, store *, const char *const urls[CREW_SIZE]);
void crew_free(crew *); /* kills those that still run; NULL is fine */

/* One of those that take locks. A replaced worker was killed, and another has its place. */
void crew_replace(crew *, unsigned *seed);
void crew_stop(crew *, unsigned *seed);
void crew_continue(crew *);

/* Waits until all workers have ended. False: some have not, by then. */
bool crew_wait(crew *, int64_t limit_ms);

/* How many workers crashed, or ended before the end of the round. */
size_t crew_crashes(const crew *);

/* Whether this worker was killed by crew_replace(), so that its calls never return. */
bool crew_killed(const crew *, unsigned worker);

#endif
