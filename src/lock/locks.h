/*
 * All handles of a client: what they share, and what they do about events of the session. Every
 * function is called with the monitor held.
 */
#ifndef LKI_LOCKS_H
#define LKI_LOCKS_H

#include "lock/table.h"
#include "lock/timers.h"
#include "session/session.h"

typedef struct lki_repeat lki_repeat;

/* See repeats.h. */
typedef struct {
    lki_repeat *first, *last; /* the oldest first */
    size_t count;
    int64_t retry_us; /* when to send those again that a server refused; LKI_NEVER: none */
    int64_t pause_ms; /* between a refusal and that time */
} lki_repeats;

typedef struct {
    lki_session *session;
    lki_table table;
    lki_timers timers;
    /* Handles that have changed since the last drain. First come, first settled: so requests go out
     * in the order of the calls. */
    lk_lock *dirty, *last_dirty;
    lki_repeats repeats;
    lk_lock *due;         /* the handles to renew now; used by the keeper */
    uint64_t last_number; /* the greatest number of a handle */
    size_t operations;    /* that are not over */
    size_t settled;       /* how many operations ended with an answer of the server */
} lki_locks;

/* For lki_session_init; the context is the lki_locks. */
extern const lki_session_events lki_locks_events;

void lki_locks_init(lki_locks *, lki_session *);
void lki_locks_free(lki_locks *);

/* Settles the handles that have changed. False: none had. */
bool lki_locks_drain(lki_locks *);

/*
 * For lk_close: lki_locks_shut() begins to release all holds. lki_locks_are_idle() tells whether
 * that is done. lki_locks_end() ends all operations that are left.
 */
void lki_locks_shut(lki_locks *);
bool lki_locks_are_idle(const lki_locks *);
void lki_locks_end(lki_locks *);

#endif
