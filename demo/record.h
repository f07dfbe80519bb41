/*
 * The record of what happened, in memory that all processes of the demo share. Each actor writes
 * only its own turns; the parent reads them at the same time. The times of a turn are taken inside
 * the hold: granted_us after the lock call has returned, released_us before the unlock call begins.
 * Knows nothing about how turns come about, and how they are drawn or checked.
 */
#ifndef DEMO_RECORD_H
#define DEMO_RECORD_H

#include <latchkey.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    READERS = 3,
    WRITERS = 3,
    ACTORS = READERS + WRITERS, /* the readers come first */
    NOBODY = -1,
    TURNS_MOST = 1024,
    LEASE_MS = 1000
};

/* The progress of a turn. The fields of a phase are written before the phase is entered. */
typedef enum { PHASE_NONE, PHASE_ASKED, PHASE_HELD, PHASE_DONE } phase;

typedef struct {
    atomic_int phase;
    int64_t asked_us;         /* before the lock call; from PHASE_ASKED */
    int64_t granted_us;       /* from PHASE_HELD, like the next three */
    uint64_t fence;           /* the token of the hold */
    bool abandoned;           /* the holder was told that a writer had died */
    bool last;                /* the actor is killed in this turn */
    int64_t released_us;      /* from PHASE_DONE */
    lk_status unlocked;       /* the status of the unlock */
    int64_t seen_in_queue_us; /* written by the parent: it saw the turn wait then; 0: never */
} turn;

typedef struct {
    char label[16]; /* "writer 2" */
    lk_mode mode;
    atomic_int turn_count; /* turns that have begun */
    turn turns[TURNS_MOST];
} actor;

typedef struct {
    char lock_name[64];
    atomic_int ready; /* actors that are connected */
    atomic_bool go;
    atomic_bool failing, failed; /* an actor cannot go on; `why` has the reason */
    char why[256];
    int64_t start_us, stop_us; /* new turns begin between these; set before `go` */
    atomic_int doomed;         /* the actor whose next turn is its last, or NOBODY */
    int64_t killed_us;         /* just before the kill; 0: not yet. Written by the parent. */
    actor actors[ACTORS];
} record;

/* Call it before the first fork. Never freed. Ends the program if there is no memory. */
record *record_new(void);

int64_t now_us(void);
phase turn_phase(const turn *);

/* The last instant at which the turn certainly held the lock: its unlock, its death, or now. */
int64_t turn_end_us(const record *, const turn *, int64_t now);

/* The first grant after the kill; `now` if there was none yet. */
int64_t record_went_on_us(const record *, int64_t now);

#endif
