/*
 * A hand-over from one process to another: from just before the unlock in the one until the waiting
 * lock call has returned in the other. Its floor is a bare message between the same two processes,
 * measured at the same places: from just before it is published until it has been read. A second
 * floor is that message published by a script, which is the least that a lock made of scripts does.
 *
 * The kinds take turns, one by one, so that each meets the server and the machine as the others do: in
 * blocks of their own the bare messages found a server that had done nothing else for a while, and
 * the spread of the ratios was three times as wide. Before and after each hand-over and each message is a pause: in
 * the first the receiver queues and goes to sleep, in the second the giver is out of its way, as it
 * would be on a machine of its own. The server is asked nothing else meanwhile. It has a processor of
 * its own (see client_place.h).
 */
#include "client_bare.h"
#include "client_figures.h"
#include "client_message.h"
#include "client_parts.h"
#include "client_place.h"
#include "client_stage.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
    TURNS = 20, /* of a block, of which medians are taken */
    BLOCKS = 60,
    QUICK_BLOCKS = 15,
    WARM_BLOCKS = 2,
    PAUSE_US = 1000,
    POLL_US = 100,
    RELEASES = 300
};

static const double ratio_limit = 1.5;
static const char lock_name[] = "handover";

typedef enum { HANDOVER, MESSAGE, BY_SCRIPT, ROUND_TRIP, KINDS } leg_kind;

typedef struct {
    atomic_bool held, asked;
    atomic_uint_fast64_t sent_ns;
    double us[KINDS][BLOCKS * TURNS]; /* written by the receiver of each */
} handover_page;

typedef struct {
    lk_client *client;
    lk_lock *lock;
    bench_messenger messenger;
    handover_page *page;
    int role;
} player;

static void stamp(handover_page *page) {
    atomic_store(&page->sent_ns, bench_now_ns());
}

static double since_stamp_us(handover_page *page) {
    return (double)(bench_now_ns() - atomic_load(&page->sent_ns)) / 1000;
}

static void hand_over(player *self, int giver, double *us) {
    handover_page *page = self->page;
    if (self->role == giver) {
        while (!atomic_exchange(&page->asked, false))
            bench_sleep_us(POLL_US);
        bench_sleep_us(PAUSE_US);
        stamp(page);
        library_must(lk_wrunlock(self->lock), "lk_wrunlock");
        bench_sleep_us(PAUSE_US);
    } else {
        atomic_store(&page->asked, true);
        library_must(lk_wrlock(self->lock), "lk_wrlock");
        *us = since_stamp_us(page);
    }
}

static void pass_message(player *self, int giver, void tell(bench_messenger *), double *us) {
    if (self->role == giver) {
        bench_sleep_us(PAUSE_US);
        stamp(self->page);
        tell(&self->messenger);
        bench_sleep_us(PAUSE_US);
    } else {
        messenger_hear(&self->messenger);
        *us = since_stamp_us(self->page);
    }
}

/* There and back without a pause, halved; always measured by role 0. */
static void pass_back_and_forth(player *self, double *us) {
    if (self->role == 0) {
        bench_sleep_us(PAUSE_US);
        stamp(self->page);
        messenger_tell(&self->messenger);
        messenger_hear(&self->messenger);
        *us = since_stamp_us(self->page) / 2;
    } else {
        messenger_hear(&self->messenger);
        messenger_tell(&self->messenger);
    }
}

static void play_block(player *self, size_t at) {
    handover_page *page = self->page;
    for (size_t i = at; i < at + TURNS; i++) {
        int giver = (int)(i % 2);
        hand_over(self, giver, &page->us[HANDOVER][i]);
        pass_message(self, giver, messenger_tell, &page->us[MESSAGE][i]);
        pass_message(self, giver, messenger_tell_by_script, &page->us[BY_SCRIPT][i]);
        pass_back_and_forth(self, &page->us[ROUND_TRIP][i]);
    }
}

static size_t block_count(const bench_plan *plan) {
    return plan->quick ? QUICK_BLOCKS : BLOCKS;
}

/* Role 0 has the lock before and after each block. */
static void play(int role, void *shared, const void *argument) {
    const bench_plan *plan = argument;
    player self = {.client = library_open(plan), .page = shared, .role = role};
    self.lock = library_lock(self.client, lock_name);
    messenger_open(&self.messenger, plan->address, role);
    if (role == 0) {
        library_must(lk_wrlock(self.lock), "lk_wrlock");
        atomic_store(&self.page->held, true);
    }
    while (!atomic_load(&self.page->held))
        bench_sleep_us(POLL_US);
    for (size_t i = 0; i < WARM_BLOCKS; i++)
        play_block(&self, 0);
    for (size_t i = 0; i < block_count(plan); i++)
        play_block(&self, i * TURNS);
    messenger_close(&self.messenger);
    lk_lock_free(self.lock);
    lk_close(self.client);
}

/* What the server counts for a release that hands over, when nobody else asks it anything. */
static bench_spread release_us(const bench_plan *plan) {
    redisContext *context = server_connect(plan->address);
    bench_samples samples = {0};
    bare_lock one, other;
    bare_load_scripts(context);
    bare_init(&one, context, "handover:bare", 1);
    bare_init(&other, context, "handover:bare", 2);
    for (size_t i = 0; i < RELEASES; i++) {
        if (!bare_take(&one, true) || bare_take(&other, true))
            bench_fail("the bare lock was not free, or is not exclusive");
        server_account before = server_look(context);
        bench_sleep_us(PAUSE_US);
        bare_give_back(&one);
        samples_add(&samples, (double)server_between(before, server_look(context)).script_us);
        bare_claim(&other);
        bare_give_back(&other);
    }
    bench_spread spread = samples_spread(&samples);
    samples_clear(&samples);
    redisFree(context);
    return spread;
}

static bench_spread spread_of(const double *values, size_t count) {
    bench_samples samples = {0};
    for (size_t i = 0; i < count; i++)
        samples_add(&samples, values[i]);
    bench_spread spread = samples_spread(&samples);
    samples_clear(&samples);
    return spread;
}

/* Of neighbouring turns: the machine is not the same from one second to the next. */
static bench_spread ratio_of(const handover_page *page, leg_kind kind, leg_kind to, size_t count) {
    bench_samples ratios = {0};
    for (size_t at = 0; at < count; at += TURNS)
        samples_add(&ratios, spread_of(&page->us[kind][at], TURNS).median /
                                 spread_of(&page->us[to][at], TURNS).median);
    bench_spread spread = samples_spread(&ratios);
    samples_clear(&ratios);
    return spread;
}

/* Returns how many times half of there and back a hand-over takes. */
static double report(const bench_plan *plan, const char *where) {
    handover_page *page = stage_share(sizeof *page);
    size_t count = block_count(plan) * TURNS;
    bench_progress("%s", where);
    stage_run(play, page, plan);
    bench_spread ratio = ratio_of(page, HANDOVER, ROUND_TRIP, count);
    printf("   %s\n", where);
    report_spread("bare message: PUBLISH to SUBSCRIBE", spread_of(page->us[MESSAGE], count), "µs");
    report_spread("bare message, half of there and back", spread_of(page->us[ROUND_TRIP], count),
                  "µs");
    report_spread("message from a script of four calls", spread_of(page->us[BY_SCRIPT], count),
                  "µs");
    report_spread("hand-over: unlock to lock", spread_of(page->us[HANDOVER], count), "µs");
    report_spread("message from a script / bare message", ratio_of(page, BY_SCRIPT, MESSAGE, count),
                  "");
    report_spread("hand-over / bare message", ratio_of(page, HANDOVER, MESSAGE, count), "");
    report_spread("hand-over / half of there and back", ratio, "");
    stage_unshare(page, sizeof *page);
    return ratio.median;
}

int measure_handover(const bench_plan *plan) {
    bench_place place;
    bench_plan over_tcp = *plan;
    over_tcp.address = plan->tcp_address;
    report_part(3, "hand-over from process to process");
    report_spread("the server's time in the release script", release_us(plan), "µs");
    place_apart(&place, plan->server_pid);
    report(plan, "over a Unix socket");
    double ratio = report(&over_tcp, "over TCP, as between machines");
    place_restore(&place);
    return !report_limited("hand-over / half of there and back, over TCP", ratio, AT_MOST,
                           ratio_limit, "");
}
