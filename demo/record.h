/*
 * What happened, in memory that all processes of the demo share. Each actor writes its own turns
 * and nothing else; the parent reads them while they go on. A turn's stamps are taken inside the
 * hold: granted_us when the lock call has returned, released_us before the unlock call begins.
 * Knows nothing of how turns come about, are drawn or judged.
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

/* How far a turn has come. The fields of a phase are written before it is entered. */
typedef enum { PHASE_NONE, PHASE_ASKED, PHASE_HELD, PHASE_DONE } phase;

typedef struct {
    atomic_int phase;
    int64_t asked_us;         /* before the lock call; from PHASE_ASKED */
    int64_t granted_us;       /* from PHASE_HELD, and so the next three */
    uint64_t fence;           /* its token */
    bool abandoned;           /* it was told that a writer had died */
    bool last;                /* the actor does not give it back any more */
    int64_t released_us;      /* from PHASE_DONE */
    lk_status unlocked;       /* what the unlock said */
    int64_t seen_in_queue_us; /* the parent's: known to wait since this instant at the latest; 0 */
} turn;

typedef struct {
    char label[16]; /* "writer 2" */
    lk_mode mode;
    atomic_int turn_count; /* those begun */
    turn turns[TURNS_MOST];
} actor;

typedef struct {
    char lock_name[64];
    atomic_int ready; /* actors that are connected */
    atomic_bool go;
    atomic_bool failing, failed; /* an actor cannot go on; it has said why */
    char why[256];
    int64_t start_us, stop_us; /* when turns begin, and when no new ones do; set before go */
    atomic_int doomed;         /* whose next turn is its last; NOBODY */
    int64_t killed_us;         /* just before the kill; 0: not yet. The parent's. */
    actor actors[ACTORS];
} record;

/* Made before the first fork, and never freed. Ends the program if there is no memory. */
record *record_new(void);

int64_t now_us(void);
phase turn_phase(const turn *);

/* When the turn surely still held: at its unlock, its death, or now. */
int64_t turn_end_us(const record *, const turn *, int64_t now);

/* When the lock was granted for the first time after the kill; `now` if it was not yet. */
int64_t record_went_on_us(const record *, int64_t now);

#endif
