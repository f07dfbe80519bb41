/*
 * What operations cost the server, by its own account: looks at it between batches of commands, and
 * gathers what each kind of operation took, turn by turn.
 */
#ifndef BENCH_SERVER_COST_WATCH_H
#define BENCH_SERVER_COST_WATCH_H

#include "server_cost_link.h"

/* One kind of operation. */
typedef struct {
    const char *command; /* under which the server counts it; NULL: evalsha */
    double *turns;       /* µs for one operation, the mean of each turn */
    size_t turn_count;
} cost_series;

double series_median(cost_series *); /* leaves the turns sorted */
void series_clear(cost_series *);    /* as if nothing had been measured */

/*
 * Looking is used instead of CONFIG RESETSTAT, which also drops the server's latency histograms: to
 * make them again would be counted as ours.
 */
enum { MARKS_MOST = 16 };
typedef struct {
    bench_link *link;
    server_account marks[MARKS_MOST];
    cost_series *measured[MARKS_MOST]; /* by what follows the mark; NULL: by nothing */
    size_t count;
} stopwatch;

/* What is sent from here on counts for `series`, until the next call; NULL: for nothing. */
void watch_measure(stopwatch *, cost_series *);

/* Waits for the answers, and adds what has been measured, as one turn each, to the series. */
void watch_end(stopwatch *);

#endif
