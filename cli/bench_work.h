/* The workloads of `latchkey bench`. Knows nothing of how results are shown. */
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
    bool many;   /* uses all threads of the plan; otherwise one thread */
    bool shared; /* all threads use the same lock */
    lk_status (*once)(lk_client *, lk_lock *, const char *name);
} bench_workload;

typedef struct {
    const char *name, *text;
    size_t count;
    double per_second, p50_us, p99_us, longest_us;
    char error[600]; /* the error text of a failed call */
} bench_result;

/* The first workload is a plain round trip. The others are compared with it. */
extern const bench_workload bench_workloads[];
extern const size_t bench_workload_count;

/* Runs one workload. Returns LK_OK, LK_CANCELED after bench_end(), or the status of a failed call. */
lk_status bench_measure(lk_client *, const bench_workload *, const bench_plan *, bench_result *);

/* A signal handler: all workloads end soon, and release their locks. */
void bench_end(int signal);
int bench_ended_by(void); /* the signal, or 0 */

#endif
