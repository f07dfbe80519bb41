/*
 * How many commands the server gets for a hand-over in a queue: everybody who has the lock gives it
 * back at once and asks again, so that a hand-over is one release, one request that queues, and
 * whatever else the library finds to say. The server counts.
 */
#include "client_figures.h"
#include "client_parts.h"
#include "client_server.h"
#include "test_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FEW = 2,
    MANY = 1000,
    CLIENTS_MOST = 8,
    STACK_BYTES = 64 * 1024,
    RUN_US = 8000000,
    QUICK_RUN_US = 2000000,
    POLL_US = 2000
};

static const double commands_limit = 3;

typedef struct {
    const char *name; /* of the lock */
    lk_client *clients[CLIENTS_MOST];
    size_t client_count, waiters;
    atomic_bool stop;
    atomic_uint_fast64_t handovers;
} bench_crowd;

typedef struct {
    bench_crowd *crowd;
    lk_lock *lock;
    pthread_t thread;
} member;

static void *run_member(void *context) {
    member *self = context;
    bench_crowd *crowd = self->crowd;
    while (!atomic_load(&crowd->stop)) {
        library_must(lk_wrlock(self->lock), "lk_wrlock");
        atomic_fetch_add(&crowd->handovers, 1);
        library_must(lk_wrunlock(self->lock), "lk_wrunlock");
    }
    return NULL;
}

static void start(bench_crowd *crowd, member *members) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (size_t i = 0; i < crowd->waiters; i++) {
        lk_client *client = crowd->clients[i % crowd->client_count];
        members[i] = (member){.crowd = crowd, .lock = library_lock(client, crowd->name)};
        if (pthread_create(&members[i].thread, &attributes, run_member, &members[i]))
            bench_fail("thread %zu cannot be started", i);
    }
    pthread_attr_destroy(&attributes);
}

static void await_waiters(bench_crowd *crowd) {
    for (size_t waiting = 0; waiting < crowd->waiters;) {
        lk_info *info;
        library_must(lk_inspect(crowd->clients[0], crowd->name, &info), "lk_inspect");
        waiting = info->waiter_total;
        lk_info_free(info);
        bench_sleep_us(POLL_US);
    }
}

typedef struct {
    double handovers, us;                /* in the run, and the time for each */
    double commands, scripts, script_us; /* for each */
} queue_result;

static queue_result watch(bench_crowd *crowd, redisContext *context, uint64_t us) {
    server_account before = server_look(context);
    uint64_t handovers = atomic_load(&crowd->handovers), began_ns = bench_now_ns();
    bench_sleep_us(us);
    handovers = atomic_load(&crowd->handovers) - handovers;
    double ran_us = (double)(bench_now_ns() - began_ns) / 1000;
    server_account ran = server_between(before, server_look(context));
    double count = (double)handovers;
    return (queue_result){count, ran_us / count, (double)ran.commands / count,
                          (double)ran.scripts / count, (double)ran.script_us / count};
}

/* One more takes part than waits: the one that has the lock. */
static queue_result run(const bench_plan *plan, const char *name, size_t waiters) {
    bench_crowd crowd = {.name = name, .waiters = waiters + 1};
    crowd.client_count = crowd.waiters < CLIENTS_MOST ? crowd.waiters : CLIENTS_MOST;
    member *members = test_alloc(crowd.waiters, sizeof *members);
    redisContext *context = server_connect(plan->address);
    for (size_t i = 0; i < crowd.client_count; i++)
        crowd.clients[i] = library_open(plan);
    lk_lock *gate = library_lock(crowd.clients[0], name);
    library_must(lk_wrlock(gate), "lk_wrlock");
    start(&crowd, members);
    await_waiters(&crowd);
    library_must(lk_wrunlock(gate), "lk_wrunlock");

    queue_result result = watch(&crowd, context, plan->quick ? QUICK_RUN_US : RUN_US);
    atomic_store(&crowd.stop, true);
    for (size_t i = 0; i < crowd.waiters; i++) {
        pthread_join(members[i].thread, NULL);
        lk_lock_free(members[i].lock);
    }
    lk_lock_free(gate);
    for (size_t i = 0; i < crowd.client_count; i++)
        lk_close(crowd.clients[i]);
    redisFree(context);
    free(members);
    return result;
}

static int report(const char *what, queue_result result) {
    printf("   %s\n", what);
    report_value("hand-overs", result.handovers, "");
    report_value("time of one", result.us, "µs");
    report_value("of it the server's, in scripts", result.script_us, "µs");
    report_value("scripts for one", result.scripts, "");
    /* What waiters say by the clock, however many hand-overs there are, is below a hundredth. */
    double commands = (double)(uint64_t)(result.commands * 100 + 0.5) / 100;
    return !report_limited("commands for one, to a hundredth", commands, AT_MOST, commands_limit,
                           "");
}

int measure_queue(const bench_plan *plan) {
    queue_result few = run(plan, "queue:few", FEW);
    bench_progress("now with %d waiters", MANY);
    queue_result many = run(plan, "queue:many", MANY);
    report_part(5, "commands for a hand-over");
    return report("2 waiters", few) + report("1,000 waiters", many);
}
