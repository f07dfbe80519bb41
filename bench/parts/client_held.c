/*
 * Many locks that one client holds and nobody else wants: what renewing them costs the client's and
 * the server's processor, and what each takes in the client's memory.
 */
#include "client_figures.h"
#include "client_parts.h"
#include "client_server.h"
#include "test_memory.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    LOCKS = 10000,
    LEASE_MS = 30000,
    PERIOD_US = 10000000, /* from one renewal to the next */
    SETTLE_US = 4000000,  /* so that the renewals, all about a period later, are well inside */
    IDLE_US = 3000000
};

static const double cpu_limit = 2, bytes_limit = 512;

typedef struct {
    server_account server;
    double client_s;
    uint64_t at_ns;
} processors;

typedef struct {
    double client, server; /* per cent of one core */
    uint64_t scripts;
} processor_shares;

static double own_cpu_s(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static processors look(redisContext *context) {
    return (processors){server_look(context), own_cpu_s(), bench_now_ns()};
}

static processor_shares watch(redisContext *context, uint64_t us) {
    processors before = look(context);
    bench_sleep_us(us);
    processors after = look(context);
    server_account ran = server_between(before.server, after.server);
    double seconds = (double)(after.at_ns - before.at_ns) / 1e9;
    return (processor_shares){(after.client_s - before.client_s) / seconds * 100,
                              ran.cpu_s / seconds * 100, ran.scripts};
}

static size_t memory_in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Takes all, and returns the bytes that they cost beyond their names. */
static double take_all(lk_client *client, lk_lock **locks) {
    lk_lock_options options = {.lease_ms = LEASE_MS};
    size_t names = 0, before = memory_in_use();
    for (size_t i = 0; i < LOCKS; i++) {
        char name[32];
        names += (size_t)snprintf(name, sizeof name, "held:%zu", i);
        library_must(lk_lock_new(client, name, &options, &locks[i]), "lk_lock_new");
        library_must(lk_wrlock(locks[i]), "lk_wrlock");
    }
    size_t after = memory_in_use();
    if (after < before + names)
        bench_fail("the allocator does not tell what is in use");
    return (double)(after - before - names);
}

/* All must have been renewed in the period, or its cost says nothing. */
static void check_all(lk_lock **locks) {
    int64_t least_ms = LEASE_MS - (PERIOD_US + SETTLE_US) / 1000 + 1000;
    for (size_t i = 0; i < LOCKS; i++)
        if (!lk_valid(locks[i]) || lk_remaining_ms(locks[i]) < least_ms)
            bench_fail("lock %zu was not renewed: %lld ms left", i,
                       (long long)lk_remaining_ms(locks[i]));
}

int measure_held(const bench_plan *plan) {
    redisContext *context = server_connect(plan->address);
    lk_lock **locks = test_alloc(LOCKS, sizeof *locks);
    lk_client *client = library_open(plan);
    lk_lock *first = library_lock(client, "held"); /* what the first lock of a client needs */
    library_must(lk_wrlock(first), "lk_wrlock");
    processor_shares idle = watch(context, IDLE_US);
    double bytes = take_all(client, locks) / LOCKS;
    bench_progress("all are held; waiting for their renewals");
    bench_sleep_us(SETTLE_US);
    processor_shares busy = watch(context, PERIOD_US);
    check_all(locks);

    report_part(4, "10,000 locks held, lease 30 s, for 10 s");
    report_value("commands that renewed all", (double)busy.scripts, "");
    report_value("client, nothing held", idle.client, "% of a core");
    report_value("server, nothing held", idle.server, "% of a core");
    int over = 0;
    over += !report_limited("client", busy.client, AT_MOST, cpu_limit, "% of a core");
    over += !report_limited("server", busy.server, AT_MOST, cpu_limit, "% of a core");
    over += !report_limited("memory of a held lock, beyond its name", bytes, AT_MOST, bytes_limit,
                            "bytes");
    for (size_t i = 0; i < LOCKS; i++)
        lk_lock_free(locks[i]);
    lk_lock_free(first);
    lk_close(client);
    free(locks);
    redisFree(context);
    return over;
}
