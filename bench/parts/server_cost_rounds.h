/*
 * The server's time for one operation, when few and when many hold or wait, and for a lock of one's
 * own.
 *
 * The machine may be busy with other things. So few and many take turns, ten operations a turn, and
 * the result is the median of the turns' means.
 */
#ifndef BENCH_SERVER_COST_ROUNDS_H
#define BENCH_SERVER_COST_ROUNDS_H

#include "server_cost_alone.h"

/* With readers that hold. */
typedef enum { CROWD_JOIN, CROWD_LEAVE, CROWD_RENEW, CROWD_INSPECT, CROWD_COSTS } crowd_cost;

/* With waiters behind a holder. */
typedef enum {
    QUEUE_ENQUEUE,
    QUEUE_CANCEL,
    QUEUE_RENEW,
    QUEUE_HAND_OVER,
    QUEUE_INSPECT,
    QUEUE_COSTS
} queue_cost;

/* Who waits. */
typedef enum { QUEUE_WRITERS, QUEUE_MIXED, QUEUE_KINDS } queue_kind;

enum { INSPECT_LIMIT = 10 };

typedef struct {
    size_t few, many, rounds, inspect_rounds;
} rounds_plan;

/* In µs for one operation. */
typedef struct {
    double few, many;
} cost_pair;

typedef struct {
    double alone[ALONE_COSTS];
    cost_pair crowd[CROWD_COSTS];
    cost_pair queue[QUEUE_KINDS][QUEUE_COSTS];
    size_t operations, inspections; /* behind each figure */
} bench_costs;

void rounds_run(bench_link *, rounds_plan, bench_costs *out);

#endif
