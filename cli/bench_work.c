/* See bench_work.h. */
#include "bench_work.h"

#include "duration.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MOST = 100000, PATIENCE_MS = 200 };

static atomic_int ended_by; /* lock-free, since a signal handler writes it */

void bench_end(int signal) {
    ended_by = signal;
}

int bench_ended_by(void) {
    return ended_by;
}

/* Another client may hold the lock for long: waits in steps, so that a signal can end it. */
static lk_status lock_until_ended(lk_lock *lock, lk_status (*timed)(lk_lock *, int64_t wait_ms)) {
    lk_status status;
    do
        status = timed(lock, PATIENCE_MS);
    while (status == LK_TIMEOUT && !ended_by);
    return status;
}

static lk_status ask_server(lk_client *client, lk_lock *lock, const char *name) {
    lk_info *info;
    (void)lock;
    lk_status status = lk_inspect(client, name, &info);
    if (status == LK_OK)
        lk_info_free(info);
    return status;
}

static lk_status write_pair(lk_client *client, lk_lock *lock, const char *name) {
    (void)client;
    (void)name;
    lk_status status = lock_until_ended(lock, lk_timedwrlock);
    return status == LK_OK ? lk_wrunlock(lock) : status;
}

static lk_status read_pair(lk_client *client, lk_lock *lock, const char *name) {
    (void)client;
    (void)name;
    lk_status status = lock_until_ended(lock, lk_timedrdlock);
    return status == LK_OK ? lk_rdunlock(lock) : status;
}

const bench_workload bench_workloads[] = {
    {"round-trip", "request to the server", false, false, ask_server},
    {"write", "write lock and unlock", false, false, write_pair},
    {"read", "read lock and unlock", false, false, read_pair},
    {"many-locks", "write, each thread its own lock", true, false, write_pair},
    {"mutex", "write, all threads one lock", true, true, write_pair},
    {"readers", "read, all threads one lock", true, true, read_pair},
};
const size_t bench_workload_count = sizeof bench_workloads / sizeof *bench_workloads;

typedef struct {
    lk_client *client;
    const bench_workload *work;
    int64_t end_ms;
    size_t number, count, kept;
    double *us; /* a random selection of at most SAMPLES_MOST samples */
    lk_status status;
    char error[600];
    pthread_t thread;
} worker;

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Reservoir sampling: each sample is kept with the same probability. */
static void keep(worker *self, double us) {
    size_t at = self->count++;
    if (at >= SAMPLES_MOST)
        at = (size_t)random() % self->count;
    if (at < SAMPLES_MOST)
        self->us[at] = us;
    self->kept = self->count < SAMPLES_MOST ? self->count : SAMPLES_MOST;
}

static void *work(void *context) {
    worker *self = context;
    char name[64];
    lk_lock *lock = NULL;
    snprintf(name, sizeof name, "latchkey-bench:%zu", self->work->shared ? 0 : self->number);
    self->status = lk_lock_new(self->client, name, NULL, &lock);
    /* Once at least: on a busy machine the time may be over before the thread runs. */
    while (self->status == LK_OK && !ended_by &&
           (self->count == 0 || monotonic_ms() < self->end_ms)) {
        double began_us = now_us();
        self->status = self->work->once(self->client, lock, name);
        keep(self, now_us() - began_us);
    }
    if (self->status != LK_OK)
        snprintf(self->error, sizeof self->error, "%s", lk_last_error());
    lk_lock_free(lock);
    return NULL;
}

static int compare(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void summarize(const worker *workers, size_t threads, double seconds, double *all,
                      bench_result *out) {
    size_t kept = 0;
    for (size_t i = 0; i < threads; i++) {
        out->count += workers[i].count;
        for (size_t k = 0; k < workers[i].kept; k++)
            all[kept++] = workers[i].us[k];
    }
    if (!kept)
        return;
    qsort(all, kept, sizeof *all, compare);
    out->per_second = (double)out->count / seconds;
    out->p50_us = all[kept / 2];
    out->p99_us = all[kept * 99 / 100];
    out->longest_us = all[kept - 1];
}

static lk_status run_all(worker *workers, size_t threads, bench_result *out) {
    size_t started = 0;
    lk_status status = LK_OK;
    while (started < threads &&
           pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
        started++;
    for (size_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].status != LK_OK) {
            status = workers[i].status;
            memcpy(out->error, workers[i].error, sizeof out->error);
        }
    }
    if (started == threads)
        return status;
    snprintf(out->error, sizeof out->error, "only %zu of %zu threads could be started", started,
             threads);
    return LK_NOMEM;
}

lk_status bench_measure(lk_client *client, const bench_workload *load, const bench_plan *plan,
                        bench_result *out) {
    size_t threads = load->many ? plan->threads : 1;
    worker *workers = calloc(threads, sizeof *workers);
    double *samples = calloc(2 * threads * SAMPLES_MOST, sizeof *samples);
    lk_status status = workers && samples ? LK_OK : LK_NOMEM;
    double began_us = now_us();
    *out = (bench_result){.name = load->name, .text = load->text, .error = "out of memory"};
    for (size_t i = 0; status == LK_OK && i < threads; i++)
        workers[i] = (worker){.client = client,
                              .work = load,
                              .end_ms = monotonic_ms() + plan->run_ms,
                              .number = i,
                              .us = samples + i * SAMPLES_MOST};
    if (status == LK_OK)
        status = run_all(workers, threads, out);
    if (ended_by)
        status = LK_CANCELED;
    if (status == LK_OK)
        summarize(workers, threads, (now_us() - began_us) / 1e6, samples + threads * SAMPLES_MOST,
                  out);
    free(samples);
    free(workers);
    return status;
}
