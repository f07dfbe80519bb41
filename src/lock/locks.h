/*
 * All handles of a client: what they share, and what the session tells them. Everything with the
 * monitor held.
 */
#ifndef LKI_LOCKS_H
#define LKI_LOCKS_H

#include "lock/table.h"
#include "lock/timers.h"
#include "session/session.h"

typedef struct {
    lki_session *session;
    lki_table table;
    lki_timers timers;
    lk_lock *dirty;       /* handles that have changed since the last drain */
    lk_lock **due;        /* for each server, the handles to renew now; the keeper's */
    uint64_t floor;       /* the greatest fence or server time seen (SPEC 8.1) */
    uint64_t last_number; /* of a handle */
    size_t operations;    /* that are not over */
    size_t settled;       /* operations that an answer of the server has brought to an end */
} lki_locks;

/* For lki_session_init; the context is the lki_locks. */
extern const lki_session_events lki_locks_events;

lk_status lki_locks_init(lki_locks *, lki_session *, lki_error *); /* its topology must be set */
void lki_locks_free(lki_locks *);

/* Settles the handles that have changed: after a delivery, and at the end of every call. */
bool lki_locks_drain(lki_locks *); /* false: none has */

void lki_locks_raise_floor(lki_locks *, uint64_t fence_or_time);

/* For the end of the client: begins to give everything back; whether that is done; and gives up. */
void lki_locks_shut(lki_locks *);
bool lki_locks_are_idle(const lki_locks *);
void lki_locks_end(lki_locks *);

#endif
