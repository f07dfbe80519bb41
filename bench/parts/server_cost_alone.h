/*
 * Operations with nobody else at the lock, beside the least that a server can be asked for: an
 * empty script, and the lock of one key that is set if it is not there and deleted by a script.
 */
#ifndef BENCH_SERVER_COST_ALONE_H
#define BENCH_SERVER_COST_ALONE_H

#include "server_cost_requests.h"
#include "server_cost_watch.h"

typedef enum {
    ALONE_RETURN, /* EVALSHA of `return 1` */
    ALONE_SET,    /* SET NX PX */
    ALONE_DELETE, /* EVALSHA of compare and delete */
    ALONE_ACQUIRE_READ,
    ALONE_RELEASE_READ,
    ALONE_ACQUIRE_WRITE,
    ALONE_RELEASE_WRITE,
    ALONE_COSTS
} alone_cost;

enum { ALONE_BATCH = 10 };
typedef struct {
    lock_keys keys[ALONE_BATCH];
    bench_handle handles[ALONE_BATCH];
    cost_series series[ALONE_COSTS];
} alone_part;

void alone_open(alone_part *, bench_link *);

/* ALONE_BATCH operations of each kind. */
void alone_turn(alone_part *, stopwatch *);

/* The empty script, `count` times. */
void alone_send_return(bench_link *, size_t count);

#endif
