/*
 * What the clients of one round did and saw, in memory that all their processes share: each call
 * with its answer, the waiters that the server listed, and the times at which a process did not
 * run. tests/support/history.h has what the clients believed to hold. A process that is killed
 * leaves here all that it noted. Knows no server.
 */
#ifndef FAULTS_JOURNAL_H
#define FAULTS_JOURNAL_H

#include "latchkey.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JOURNAL_LOCKS = 5, JOURNAL_OWNER_SIZE = 16 };

/* The locks of every round: one for each policy, and a second fair one with a long lease. */
typedef struct {
    const char *name;
    lk_policy policy;
} journal_lock;

extern const journal_lock journal_locks[JOURNAL_LOCKS];

/* What the clients of a round need to know. The harness sets it before it starts them. */
typedef struct {
    int64_t leases_ms[JOURNAL_LOCKS];
    int64_t longest_hold_ms; /* how long a client may stay, now and then */
    int64_t command_timeout_ms;
    int min_replicas;
    unsigned seed;
} journal_settings;

typedef enum {
    CALL_TRY,
    CALL_TIMED,
    CALL_BLOCKING,
    CALL_ASYNC,
    CALL_UPGRADE,
    CALL_RELEASE,
    CALL_DOWNGRADE,
    CALL_RENEW
} call_kind;

typedef struct {
    unsigned worker, lock, handle;
    call_kind kind;
    lk_mode mode;
    lk_status status;           /* once it has ended */
    uint64_t fence;             /* after LK_OK of an acquire */
    int64_t began_ns, ended_ns; /* 0: it has not returned */
} journal_call;

/* The server listed this handle as a waiter, at an instant from before_ns to after_ns. */
typedef struct {
    unsigned lock, handle;
    int64_t before_ns, after_ns, waited_ms;
} journal_sighting;

/* A process did not run, or the server did not answer, for longer than a client may be slow. */
enum { STALL_OF_ALL = 0 };
typedef struct {
    unsigned worker; /* or STALL_OF_ALL */
    int64_t from_ns, to_ns;
} journal_stall;

typedef struct journal journal;

journal *journal_new(size_t calls, const journal_settings *);
const char *journal_path(const journal *);
journal *journal_open(const char *path); /* NULL: it is not there */
void journal_free(journal *);            /* of this process; NULL is fine */

const journal_settings *journal_get_settings(const journal *);

/* Numbers from 1 that nobody else has. */
unsigned journal_new_worker(journal *);
unsigned journal_new_handle(journal *);

/* The owner of a handle, by which the server lists it; and back: 0 if it is no such owner. */
void journal_owner(unsigned handle, char owner[JOURNAL_OWNER_SIZE]);
unsigned journal_handle_of(const char *owner);

/* Begins to note a call: `what` without what is known only later. NULL: there is no room. */
journal_call *journal_begin(journal *, journal_call what);
void journal_end(journal *, journal_call *, lk_status, uint64_t fence); /* NULL is fine */

void journal_saw_waiter(journal *, journal_sighting);
void journal_stalled(journal *, journal_stall);
void journal_lost(journal *); /* on_lost was called */
void journal_odd(journal *);  /* a call returned a status that it must not return */

/* How many there are of each; `unnoted` did not fit. */
typedef struct {
    size_t operations, grants, losses, odd, unnoted;
} journal_counts;

journal_counts journal_count(const journal *);

/* All that was noted, good until journal_free(). Calls may still be running. */
const journal_call *journal_calls(const journal *, size_t *count);
const journal_sighting *journal_sightings(const journal *, size_t *count);
const journal_stall *journal_stalls(const journal *, size_t *count);

/* Writes all calls of a handle, for a violation that names it. */
void journal_tell(const journal *, unsigned handle, FILE *out);
const char *call_kind_name(call_kind);

#endif
