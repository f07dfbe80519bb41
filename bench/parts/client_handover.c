/*
 * A hand-over from one process to another: from just before the unlock in the one until the waiting
 * lock call has returned in the other. Its floor is a bare message between the same two processes,
 * measured at the same places: from just before it is published until it has been read. A second
 * floor is that message published by a script, which is the least that a lock made of scripts does.
 *
 * Each goes back and forth between the two, in two ways. In a ping-pong the one answers at once; a
 * lock is held for as long as the other takes to queue, and who gave it asks again when it has
 * arrived. After silence there is a pause before and after each, in which the server and both
 * processes sleep; there the kinds take turns one by one, so that each meets the server as the
 * others do.
 *
 * The giver is out of the receiver's way, as it would be on a machine of its own. The server has a
 * processor of its own (see client_place.h), and is asked nothing else meanwhile. It counts the
 * messages, which shows that the lock was handed over and never found free.
 */
#include "client_bare.h"
#include "client_figures.h"
#include "client_message.h"
#include "client_parts.h"
#include "client_place.h"
#include "client_stage.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    TURNS = 20, /* of a block, of which medians are taken */
    BLOCKS = 60,
    QUICK_BLOCKS = 15,
    WARM_BLOCKS = 2,
    PAUSE_US = 1000,
    HOLD_US = 100, /* in a ping-pong: so long takes a request to be queued */
    POLL_US = 100,
    RELEASES = 300
};

static const double ratio_limit = 1.5, handed_over_limit = 0.99;
static const char lock_name[] = "handover";

typedef enum { PING_PONG, AFTER_SILENCE, TEMPOS } leg_tempo;
typedef enum { HANDOVER, MESSAGE, BY_SCRIPT, KINDS } leg_kind;

typedef struct {
    atomic_bool held, asked, taken;
    atomic_uint_fast64_t sent_ns;
    double us[TEMPOS][KINDS][BLOCKS * TURNS]; /* written by the receiver of each */
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

/* Without a sleep, which would let the processor rest; but out of the way of who shares it. */
static void stay_awake_until(atomic_bool *flag) {
    while (!atomic_exchange(flag, false))
        sched_yield();
}

static void stay_awake_us(uint64_t us) {
    for (uint64_t began_ns = bench_now_ns(); bench_now_ns() - began_ns < us * 1000;)
        sched_yield();
}

static void give(player *self, leg_tempo tempo) {
    handover_page *page = self->page;
    stay_awake_until(&page->asked);
    if (tempo == PING_PONG)
        stay_awake_us(HOLD_US);
    else
        bench_sleep_us(PAUSE_US);
    stamp(page);
    library_must(lk_wrunlock(self->lock), "lk_wrunlock");
    if (tempo == PING_PONG)
        stay_awake_until(&page->taken);
    else
        bench_sleep_us(PAUSE_US);
}

static void receive(player *self, leg_tempo tempo, double *us) {
    handover_page *page = self->page;
    atomic_store(&page->asked, true);
    library_must(lk_wrlock(self->lock), "lk_wrlock");
    *us = since_stamp_us(page);
    atomic_store(&page->taken, tempo == PING_PONG);
}

static void pass_lock(player *self, leg_tempo tempo, int giver, double *us) {
    if (self->role == giver)
        give(self, tempo);
    else
        receive(self, tempo, us);
}

static void tell(player *self, leg_kind kind, leg_tempo tempo) {
    if (tempo == AFTER_SILENCE)
        bench_sleep_us(PAUSE_US);
    stamp(self->page);
    if (kind == MESSAGE)
        messenger_tell(&self->messenger);
    else
        messenger_tell_by_script(&self->messenger);
    if (tempo == AFTER_SILENCE)
        bench_sleep_us(PAUSE_US);
}

static void pass_message(player *self, leg_kind kind, leg_tempo tempo, int giver, double *us) {
    if (self->role == giver) {
        tell(self, kind, tempo);
    } else {
        messenger_hear(&self->messenger);
        *us = since_stamp_us(self->page);
    }
}

static void play_leg(player *self, leg_tempo tempo, leg_kind kind, size_t at) {
    double *us = &self->page->us[tempo][kind][at];
    int giver = (int)(at % 2);
    if (kind == HANDOVER)
        pass_lock(self, tempo, giver, us);
    else
        pass_message(self, kind, tempo, giver, us);
}

static void play_block(player *self, size_t at) {
    for (size_t i = at; i < at + TURNS; i++)
        for (leg_kind kind = 0; kind < KINDS; kind++)
            play_leg(self, AFTER_SILENCE, kind, i);
    for (leg_kind kind = 0; kind < KINDS; kind++)
        for (size_t i = at; i < at + TURNS; i++)
            play_leg(self, PING_PONG, kind, i);
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

/* Of the same block: the machine is not the same from one second to the next. */
static bench_spread ratio_to_message(double us[KINDS][BLOCKS * TURNS], leg_kind kind,
                                     size_t count) {
    bench_samples ratios = {0};
    for (size_t at = 0; at < count; at += TURNS)
        samples_add(&ratios, spread_of(&us[kind][at], TURNS).median /
                                 spread_of(&us[MESSAGE][at], TURNS).median);
    bench_spread spread = samples_spread(&ratios);
    samples_clear(&ratios);
    return spread;
}

/* Returns how many times a message a hand-over takes. */
static double report_tempo(double us[KINDS][BLOCKS * TURNS], const char *where, const char *tempo,
                           size_t count) {
    bench_spread ratio = ratio_to_message(us, HANDOVER, count);
    printf("   %s, %s\n", where, tempo);
    report_spread("bare message: PUBLISH to SUBSCRIBE", spread_of(us[MESSAGE], count), "µs");
    report_spread("message from a script of four calls", spread_of(us[BY_SCRIPT], count), "µs");
    report_spread("hand-over: unlock to lock", spread_of(us[HANDOVER], count), "µs");
    report_spread("message from a script / bare message", ratio_to_message(us, BY_SCRIPT, count),
                  "");
    report_spread("hand-over / bare message", ratio, "");
    return ratio.median;
}

/* Every leg is one message. One that is missing is a lock that was found free. */
static double share_handed_over(uint64_t published, size_t blocks) {
    double legs = (double)blocks * TURNS;
    return 1 - (legs * TEMPOS * KINDS - (double)published) / legs;
}

static int measure_over(const bench_plan *plan, const char *where) {
    handover_page *page = stage_share(sizeof *page);
    redisContext *context = server_connect(plan->address);
    size_t blocks = block_count(plan);
    bench_progress("%s", where);
    server_account before = server_look(context);
    stage_run(play, page, plan);
    double handed_over = share_handed_over(server_between(before, server_look(context)).published,
                                           blocks + WARM_BLOCKS);
    redisFree(context);
    report_tempo(page->us[AFTER_SILENCE], where, "each after silence", blocks * TURNS);
    double ratio = report_tempo(page->us[PING_PONG], where, "as a ping-pong", blocks * TURNS);
    stage_unshare(page, sizeof *page);
    return !report_limited("the same", ratio, AT_MOST, ratio_limit, "") +
           !report_limited("of the hand-overs, handed over and not found free", handed_over,
                           AT_LEAST, handed_over_limit, "");
}

int measure_handover(const bench_plan *plan) {
    bench_place place;
    bench_plan over_tcp = *plan;
    over_tcp.address = plan->tcp_address;
    report_part(3, "hand-over from process to process");
    report_spread("the server's time in the release script", release_us(plan), "µs");
    place_apart(&place, plan->server_pid);
    int over = measure_over(plan, "over a Unix socket");
    over += measure_over(&over_tcp, "over TCP");
    place_restore(&place);
    return over;
}
