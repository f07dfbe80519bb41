/* The workloads of `latchkey bench`. Knows nothing of how they are shown. */
#ifndef CLI_BENCH_WORK_H
#define CLI_BENCH_WORK_H

#include "latchkey.h"

#include <stddef.h>

enum { BENCH_THREADS_MOST = 256 };

typedef struct {
    int64_t run_ms;
    size_t threads;
} bench_plan;

typedef struct {
    const char *name, *text;
    bool many;   /* of the plan's threads; otherwise one */
    bool shared; /* they are all after one lock */
    lk_status (*once)(lk_client *, lk_lock *, const char *name);
} bench_workload;

typedef struct {
    const char *name, *text;
    size_t count;
    double per_second, p50_us, p99_us, longest_us;
    char error[600]; /* the sentence of the call that failed */
} bench_result;

/* The first is the bare round trip that the others are compared with. */
extern const bench_workload bench_workloads[];
extern const size_t bench_workload_count;

/* Runs one. The status is that of a call that failed, LK_CANCELED after bench_end(), or LK_OK. */
lk_status bench_measure(lk_client *, const bench_workload *, const bench_plan *, bench_result *);

/* A signal's handler: all workloads end soon, with what they hold given back. */
void bench_end(int signal);
int bench_ended_by(void); /* the signal; 0: none */

#endif
