/* See server_cost_rounds.h. */
#include "server_cost_rounds.h"

#include "server_cost_locks.h"

#include <assert.h>
#include <stdio.h>

enum { WARM_UP = 20, PROGRESS_EVERY = 20, BATCH = GUESTS_MOST };

typedef struct {
    bench_crowd crowd;
    cost_series series[CROWD_COSTS];
} crowd_part;

typedef struct {
    bench_queue queue;
    cost_series series[QUEUE_COSTS];
} queue_part;

static void crowd_turn(crowd_part *part, stopwatch *watch) {
    watch_measure(watch, &part->series[CROWD_JOIN]);
    for (size_t i = 0; i < BATCH; i++)
        crowd_join(&part->crowd, watch->link);
    watch_measure(watch, &part->series[CROWD_LEAVE]);
    for (size_t i = 0; i < BATCH; i++)
        crowd_leave(&part->crowd, watch->link);
    watch_measure(watch, &part->series[CROWD_RENEW]);
    for (size_t i = 0; i < BATCH; i++)
        crowd_renew_one(&part->crowd, watch->link);
    watch_end(watch);
}

/* As many come as go, so that the number of waiters stays within a batch of what it is to be. */
static void queue_turn(queue_part *part, stopwatch *watch) {
    queue_keep_alive(&part->queue, watch->link);
    watch_measure(watch, &part->series[QUEUE_ENQUEUE]);
    for (size_t i = 0; i < BATCH; i++)
        queue_enqueue(&part->queue, watch->link);
    watch_measure(watch, &part->series[QUEUE_HAND_OVER]);
    for (size_t i = 0; i < BATCH; i++)
        queue_hand_over(&part->queue, watch->link);
    watch_measure(watch, NULL);
    queue_claim(&part->queue, watch->link);
    for (size_t i = 0; i < BATCH; i++)
        queue_enqueue(&part->queue, watch->link);
    watch_measure(watch, &part->series[QUEUE_CANCEL]);
    for (size_t i = 0; i < BATCH; i++)
        queue_cancel_last(&part->queue, watch->link);
    watch_measure(watch, &part->series[QUEUE_RENEW]);
    for (size_t i = 0; i < BATCH; i++)
        queue_renew_one(&part->queue, watch->link);
    watch_end(watch);
}

static void inspect_turn(const lock_keys *keys, cost_series *series, stopwatch *watch) {
    watch_measure(watch, series);
    for (size_t i = 0; i < BATCH; i++)
        request_inspect(watch->link, keys, INSPECT_LIMIT);
    watch_end(watch);
}

/* What takes turns with others, and what is measured when it does. */
typedef struct {
    void (*turn)(void *part, stopwatch *);
    void *part;
    cost_series *series;
    size_t series_count;
} contestant;

static void take_alone_turn(void *part, stopwatch *watch) {
    alone_turn(part, watch);
}

static void take_crowd_turn(void *part, stopwatch *watch) {
    crowd_turn(part, watch);
}

static void take_crowd_inspect_turn(void *part, stopwatch *watch) {
    crowd_part *crowd = part;
    inspect_turn(&crowd->crowd.keys, &crowd->series[CROWD_INSPECT], watch);
}

static void take_queue_turn(void *part, stopwatch *watch) {
    queue_turn(part, watch);
}

static void take_queue_inspect_turn(void *part, stopwatch *watch) {
    queue_part *queue = part;
    queue_keep_alive(&queue->queue, watch->link);
    inspect_turn(&queue->queue.keys, &queue->series[QUEUE_INSPECT], watch);
}

/*
 * The server lets Lua collect garbage after every 50th script. Scripts that do nothing, in an
 * unsteady number, see to it that this does not fall to the same operation every time.
 */
static void send_padding(bench_link *link) {
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    alone_send_return(link, state >> 29);
    link_flush(link);
}

static void run_rounds(const contestant *all, size_t count, size_t rounds, stopwatch *watch) {
    for (size_t round = 0; round < WARM_UP + rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            if (round == WARM_UP) {
                for (size_t k = 0; k < all[i].series_count; k++)
                    series_clear(&all[i].series[k]);
            }
            all[i].turn(all[i].part, watch);
            send_padding(watch->link);
        }
        if (round % PROGRESS_EVERY == 0)
            fputc('.', stderr);
    }
    fputc('\n', stderr);
}

static void report(cost_series *few, cost_series *many, size_t count, cost_pair *out) {
    for (size_t i = 0; i < count; i++) {
        out[i] = (cost_pair){series_median(&few[i]), series_median(&many[i])};
        series_clear(&few[i]);
        series_clear(&many[i]);
    }
}

static void run_crowds(rounds_plan plan, stopwatch *watch, bench_costs *out) {
    alone_part alone;
    crowd_part few = {0}, many = {0};
    alone_open(&alone, watch->link);
    crowd_fill(&few.crowd, watch->link, "crowd-few", plan.few);
    crowd_fill(&many.crowd, watch->link, "crowd-many", plan.many);
    const contestant working[] = {{take_alone_turn, &alone, alone.series, ALONE_COSTS},
                                  {take_crowd_turn, &few, few.series, CROWD_INSPECT},
                                  {take_crowd_turn, &many, many.series, CROWD_INSPECT}};
    run_rounds(working, 3, plan.rounds, watch);
    /* Apart: what Lua has to collect after an inspection would be counted as the others'. */
    const contestant inspecting[] = {
        {take_crowd_inspect_turn, &few, &few.series[CROWD_INSPECT], 1},
        {take_crowd_inspect_turn, &many, &many.series[CROWD_INSPECT], 1}};
    run_rounds(inspecting, 2, plan.inspect_rounds, watch);

    for (size_t i = 0; i < ALONE_COSTS; i++) {
        out->alone[i] = series_median(&alone.series[i]);
        series_clear(&alone.series[i]);
    }
    report(few.series, many.series, CROWD_COSTS, out->crowd);
    crowd_clear(&few.crowd);
    crowd_clear(&many.crowd);
}

static void run_queues(rounds_plan plan, queue_kind kind, stopwatch *watch, bench_costs *out) {
    queue_part few = {0}, many = {0};
    bool mixed = kind == QUEUE_MIXED;
    queue_fill(&many.queue, watch->link, mixed ? "mixed-many" : "writers-many", plan.many, mixed);
    queue_fill(&few.queue, watch->link, mixed ? "mixed-few" : "writers-few", plan.few, mixed);
    const contestant working[] = {{take_queue_turn, &few, few.series, QUEUE_INSPECT},
                                  {take_queue_turn, &many, many.series, QUEUE_INSPECT}};
    run_rounds(working, 2, plan.rounds, watch);
    const contestant inspecting[] = {
        {take_queue_inspect_turn, &few, &few.series[QUEUE_INSPECT], 1},
        {take_queue_inspect_turn, &many, &many.series[QUEUE_INSPECT], 1}};
    run_rounds(inspecting, 2, plan.inspect_rounds, watch);

    report(few.series, many.series, QUEUE_COSTS, out->queue[kind]);
    queue_clear(&few.queue);
    queue_clear(&many.queue);
}
static_assert((int)CROWD_INSPECT == CROWD_COSTS - 1 && (int)QUEUE_INSPECT == QUEUE_COSTS - 1,
              "the series of the other operations stand before that of inspect");

void rounds_run(bench_link *link, rounds_plan plan, bench_costs *out) {
    stopwatch watch = {.link = link};
    run_crowds(plan, &watch, out);
    for (size_t kind = 0; kind < QUEUE_KINDS; kind++)
        run_queues(plan, (queue_kind)kind, &watch, out);
    out->operations = plan.rounds * BATCH;
    out->inspections = plan.inspect_rounds * BATCH;
}
