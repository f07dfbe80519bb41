/*
 * Many threads of one client, each on a lock of its own, against one thread of it: pairs of lock
 * and unlock per second. One and many take turns, and the server has a processor of its own (see
 * client_place.h): one thread that shares a processor with it waits for nothing, and the other
 * processors would not be used.
 */
#include "client_figures.h"
#include "client_parts.h"
#include "client_place.h"
#include "client_server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 64, TURNS = 20, QUICK_TURNS = 6, TURN_US = 250000 };

static const double ratio_limit = 3;

/* Written by the main thread between the two waits at the barrier, but for `pairs` and `stop`. */
typedef struct {
    pthread_barrier_t barrier;
    lk_client *client;
    size_t working; /* threads with a lower index work in this turn */
    bool over;
    atomic_bool stop;
    atomic_uint_fast64_t pairs;
} thread_turns;

typedef struct {
    thread_turns *turns;
    size_t index;
    pthread_t thread;
} worker;

static void work(thread_turns *turns, lk_lock *lock) {
    uint64_t pairs = 0;
    while (!atomic_load_explicit(&turns->stop, memory_order_relaxed)) {
        library_must(lk_wrlock(lock), "lk_wrlock");
        library_must(lk_wrunlock(lock), "lk_wrunlock");
        pairs++;
    }
    atomic_fetch_add(&turns->pairs, pairs);
}

static void *run_worker(void *context) {
    worker *self = context;
    thread_turns *turns = self->turns;
    char name[32];
    snprintf(name, sizeof name, "threads:%zu", self->index);
    lk_lock *lock = library_lock(turns->client, name);
    for (;;) {
        pthread_barrier_wait(&turns->barrier);
        if (turns->over)
            break;
        if (self->index < turns->working)
            work(turns, lock);
        pthread_barrier_wait(&turns->barrier);
    }
    lk_lock_free(lock);
    return NULL;
}

static double turn(thread_turns *turns, size_t working) {
    turns->working = working;
    atomic_store(&turns->stop, false);
    atomic_store(&turns->pairs, 0);
    pthread_barrier_wait(&turns->barrier);
    uint64_t began_ns = bench_now_ns();
    bench_sleep_us(TURN_US);
    atomic_store(&turns->stop, true);
    pthread_barrier_wait(&turns->barrier);
    return (double)atomic_load(&turns->pairs) * 1e9 / (double)(bench_now_ns() - began_ns);
}

static void start(thread_turns *turns, worker *workers) {
    if (pthread_barrier_init(&turns->barrier, NULL, THREADS + 1))
        bench_fail("no barrier can be made");
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.turns = turns, .index = i};
        if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]))
            bench_fail("thread %zu cannot be started", i);
    }
}

static void stop(thread_turns *turns, worker *workers) {
    turns->over = true;
    pthread_barrier_wait(&turns->barrier);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&turns->barrier);
}

int measure_threads(const bench_plan *plan) {
    static worker workers[THREADS];
    bench_samples one = {0}, many = {0}, ratios = {0}, busy_one = {0}, busy_many = {0};
    redisContext *context = server_connect(plan->address);
    bench_place place;
    place_apart(&place, plan->server_pid);
    thread_turns turns = {.client = library_open(plan)};
    start(&turns, workers);
    turn(&turns, THREADS); /* to warm up */
    size_t rounds = plan->quick ? QUICK_TURNS : TURNS;
    for (size_t i = 0; i < rounds; i++) {
        server_account looks[3];
        looks[0] = server_look(context);
        double of_one = turn(&turns, 1);
        looks[1] = server_look(context);
        double of_many = turn(&turns, THREADS);
        looks[2] = server_look(context);
        samples_add(&one, of_one);
        samples_add(&many, of_many);
        samples_add(&ratios, of_many / of_one);
        samples_add(&busy_one, server_between(looks[0], looks[1]).cpu_s / TURN_US * 1e8);
        samples_add(&busy_many, server_between(looks[1], looks[2]).cpu_s / TURN_US * 1e8);
    }
    stop(&turns, workers);
    place_restore(&place);

    report_part(2, "64 threads of one client, 64 locks");
    report_spread("1 thread", samples_spread(&one), "pairs/s");
    report_spread("64 threads", samples_spread(&many), "pairs/s");
    report_spread("the server with 1 thread", samples_spread(&busy_one), "% of a core");
    report_spread("the server with 64 threads", samples_spread(&busy_many), "% of a core");
    bench_spread ratio = samples_spread(&ratios);
    report_spread("64 threads / 1 thread, of neighbouring turns", ratio, "");
    bool good = report_limited("64 threads / 1 thread", ratio.median, AT_LEAST, ratio_limit, "");

    bench_samples *all[] = {&one, &many, &ratios, &busy_one, &busy_many};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        samples_clear(all[i]);
    lk_close(turns.client);
    redisFree(context);
    return !good;
}
