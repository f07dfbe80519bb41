/*
 * The judge of a round: what the clients noted, against the guarantees. It counts only what is
 * proven: a process that was slow, stopped or killed between two notes may hide a violation, and
 * cannot make one. tests/support/history_check.h judges exclusion and fences. Knows no server.
 */
#ifndef FAULTS_CHECKS_H
#define FAULTS_CHECKS_H

#include "history_check.h"
#include "journal.h"
#include "store.h"

#include <stdio.h>

/* `out` in each: where the first few violations are told; NULL: nowhere. */

/* What the order check reads. */
typedef struct {
    const journal_call *calls;
    size_t call_count;
    const journal_sighting *sightings;
    size_t sighting_count;
    const journal_stall *stalls;
    size_t stall_count;
    const history_span *faults; /* in which waiters may lose their turn or their place */
    size_t fault_count;
} order_evidence;

/*
 * Under LK_FAIR, a waiter that the server listed before another call began is granted first. The
 * fences tell who was granted first. A waiter is not judged if a fault or a stall came near it: it
 * may have missed its turn. An upgrade may go first.
 */
size_t check_order(const order_evidence *, FILE *out);

/*
 * A hold that has written, and sees another hold's write accepted after its own, has no write
 * accepted any more: all writes of a hold are one run. `runs` are those of one cell.
 */
size_t check_store(const store_run *runs, size_t count, FILE *out);

/* Calls that have not returned, except those of workers that were killed. */
typedef bool was_killed_fn(unsigned worker, const void *context);
size_t check_forgotten(const journal_call *, size_t count, was_killed_fn *, const void *context,
                       FILE *out);

/*
 * A call was waiting for the lock at the begin of this span: how long it took until the lock was
 * next granted, or until the end of the span, in ms. If the lock was held at the begin, the time
 * begins when that hold was last valid. -1: no call was waiting.
 */
int64_t next_grant_within(const journal_call *, size_t call_count, const history_hold *,
                          size_t hold_count, unsigned lock, history_span);

/* The longest time that a call took to return after this instant, in ms. */
int64_t longest_wait_after(const journal_call *, size_t count, int64_t instant_ns);

#endif
