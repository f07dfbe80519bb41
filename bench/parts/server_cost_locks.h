/*
 * Locks that many have to do with: a crowd of readers, and a queue behind a holder. These keep who
 * holds and waits, so that every request is one that succeeds; they measure nothing.
 *
 * Requests are sent without waiting for the answers to those before. A release must name its fence,
 * so fences have to be known beforehand: every request names a floor half a day ahead, and above it
 * a new fence is the last one plus 1 (SPEC 8.1).
 */
#ifndef BENCH_SERVER_COST_LOCKS_H
#define BENCH_SERVER_COST_LOCKS_H

#include "server_cost_requests.h"

/* How many may come and go beside those who stay. */
enum { GUESTS_MOST = 10 };

typedef struct {
    lock_keys keys;
    bench_handle *handles; /* of those who stay, then of the guests */
    size_t readers, guests;
    uint64_t fence, next_req;
    size_t next_renewed;
} bench_crowd;

/* `readers` at least 1. Shows progress on stderr from some thousands on. */
void crowd_fill(bench_crowd *, bench_link *, const char *name, size_t readers);
void crowd_clear(bench_crowd *);
void crowd_join(bench_crowd *, bench_link *);
void crowd_leave(bench_crowd *, bench_link *);
void crowd_renew_one(bench_crowd *, bench_link *); /* a different one each time */

/* Handles take turns: slot `first` % slots holds, those up to `last` % slots wait, others rest. */
typedef struct {
    bench_handle handle;
    bool reads;
    uint64_t req;
} queue_slot;

typedef struct {
    lock_keys keys;
    queue_slot *slots;
    size_t slot_count, next_renewed;
    uint64_t first, last;
    uint64_t fence, floor, next_req;
    bool mixed;
    int64_t renewed_ms;
} bench_queue;

/* Writers wait behind a writer; `mixed`: readers and writers in turn. */
void queue_fill(bench_queue *, bench_link *, const char *name, size_t waiters, bool mixed);
void queue_clear(bench_queue *);
void queue_enqueue(bench_queue *, bench_link *);
void queue_cancel_last(bench_queue *, bench_link *);
void queue_renew_one(bench_queue *, bench_link *); /* a different waiter each time */

/* The holder releases, and the first waiter has the lock: for a second, unless it is claimed. */
void queue_hand_over(bench_queue *, bench_link *);
void queue_claim(bench_queue *, bench_link *);

/* Renews all waiters if that is due: they live 10 s (SPEC 5.4). Flushes then. */
void queue_keep_alive(bench_queue *, bench_link *);

#endif
