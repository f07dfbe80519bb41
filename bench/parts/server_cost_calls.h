/* How many commands a script runs inside, and which, by the way that it takes. */
#ifndef BENCH_SERVER_COST_CALLS_H
#define BENCH_SERVER_COST_CALLS_H

#include "server_cost_link.h"

enum { CALLS_LIMIT = 5 }; /* for a lock that is free, or that the caller alone holds */

typedef struct {
    const char *what;
    bool limited; /* CALLS_LIMIT is for this one */
    server_account ran;
    uint64_t calls; /* in `ran` */
} calls_row;

enum { CALLS_ROWS = 16 };
typedef struct {
    calls_row rows[CALLS_ROWS];
    size_t count;
} calls_table;

void calls_count(bench_link *, calls_table *out);

#endif
