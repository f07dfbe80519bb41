/*
 * One thread, nobody else: taking and giving back a write lock through the library, against the
 * same two commands from a bare loop. Library and loop take turns, so that what else the machine
 * does meets both; and caller and server stay where they are (see client_place.h).
 */
#include "client_bare.h"
#include "client_figures.h"
#include "client_parts.h"
#include "client_place.h"

#include <stdio.h>

enum { TURNS = 2000, QUICK_TURNS = 400, WARM_TURNS = 20, PAIRS = 20 };

static const double ratio_limit = 1.10;

static double library_turn_us(lk_lock *lock) {
    uint64_t began_ns = bench_now_ns();
    for (size_t i = 0; i < PAIRS; i++) {
        library_must(lk_wrlock(lock), "lk_wrlock");
        library_must(lk_wrunlock(lock), "lk_wrunlock");
    }
    return (double)(bench_now_ns() - began_ns) / 1000 / PAIRS;
}

static double bare_turn_us(bare_lock *lock) {
    uint64_t began_ns = bench_now_ns();
    for (size_t i = 0; i < PAIRS; i++) {
        bare_take(lock, false);
        bare_give_back(lock);
    }
    return (double)(bench_now_ns() - began_ns) / 1000 / PAIRS;
}

typedef struct {
    bench_spread library_us, bare_us, ratio;
    double script_us; /* of a pair */
} pair_result;

static pair_result take_turns(bare_lock *bare, lk_lock *lock, size_t turns) {
    bench_samples library_us = {0}, bare_us = {0}, ratios = {0};
    server_account before = {0};
    for (size_t i = 0; i < WARM_TURNS + turns; i++) {
        if (i == WARM_TURNS)
            before = server_look(bare->context);
        double floor = bare_turn_us(bare), ours = library_turn_us(lock);
        if (i >= WARM_TURNS) {
            samples_add(&bare_us, floor);
            samples_add(&library_us, ours);
            samples_add(&ratios, ours / floor);
        }
    }
    server_account ran = server_between(before, server_look(bare->context));
    pair_result result = {samples_spread(&library_us), samples_spread(&bare_us),
                          samples_spread(&ratios), (double)ran.script_us / (double)ran.scripts * 2};
    samples_clear(&library_us);
    samples_clear(&bare_us);
    samples_clear(&ratios);
    return result;
}

static void report(const pair_result *result, const char *where) {
    printf("   %s\n", where);
    report_spread("bare loop", result->bare_us, "µs");
    report_spread("library", result->library_us, "µs");
    report_value("the server's time in its scripts, of either", result->script_us, "µs");
    report_spread("library / bare loop, of neighbouring turns", result->ratio, "");
}

int measure_pair(const bench_plan *plan) {
    redisContext *context = server_connect(plan->address);
    bare_lock bare;
    bench_place place;
    bare_load_scripts(context);
    bare_init(&bare, context, "pair:bare", 1);
    lk_client *client = library_open(plan);
    lk_lock *lock = library_lock(client, "pair:library");
    size_t turns = plan->quick ? QUICK_TURNS : TURNS;

    place_together(&place, plan->server_pid);
    pair_result together = take_turns(&bare, lock, turns);
    place_restore(&place);
    place_apart(&place, plan->server_pid);
    pair_result apart = take_turns(&bare, lock, turns);
    place_restore(&place);

    report_part(1, "one thread, write lock and unlock");
    report(&together, "caller and server on one processor");
    report(&apart, "the server on a processor of its own");
    int over = !report_limited("library / bare loop, on one processor", together.ratio.median,
                               AT_MOST, ratio_limit, "");
    over += !report_limited("library / bare loop, the server apart", apart.ratio.median, AT_MOST,
                            ratio_limit, "");
    lk_lock_free(lock);
    lk_close(client);
    redisFree(context);
    return over;
}
