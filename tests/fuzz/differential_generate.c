/* See differential_generate.h. Here: rounds, the clock, and who wants what. */
#include "differential_generate.h"

#include "differential_malform.h"
#include "differential_request.h"

#include <assert.h>

#define MS_US UINT64_C(1000)
#define SECOND_US UINT64_C(1000000)
#define HOUR_US (3600 * SECOND_US)
#define DAY_US (24 * HOUR_US)

enum {
    ROUND_LEAST = 200,
    ROUND_MOST = 1000,
    MALFORMED_PERCENT = 5,
    JUMP_PERCENT = 20,
    LOOK_PERCENT = 20
};

void generator_begin(generator *make, uint64_t seed, uint64_t back_most_us) {
    *make = (generator){.random = {seed}, .back_most_us = back_most_us};
}

void generator_begin_round(generator *make) {
    lkc_text names[CAST_LOCKS];
    uint64_t drawn[CAST_LOCKS];
    for (size_t i = 0; i < CAST_LOCKS;) {
        bool taken = false;
        drawn[i] = random_below(&make->random, cast_name_count());
        for (size_t j = 0; j < i; j++)
            taken = taken || drawn[j] == drawn[i];
        names[i] = cast_name(drawn[i]);
        i += !taken;
    }
    belief_begin(&make->known, names);
    mood_draw(&make->present, &make->random);
    make->round_left = random_between(&make->random, ROUND_LEAST, ROUND_MOST);
    make->now_us = FORM_CLOCK_START_US + random_below(&make->random, 3 * MS_US);
    make->latest_us = make->now_us;
    for (int i = 0; i < CAST_HANDLES; i++)
        make->numbers[i] = random_below(&make->random, 5);
}

bool generator_round_is_over(const generator *make) {
    return make->round_left == 0;
}

/* The clock goes back by an hour and a bit at most. No deadline is more than a day and, with a
 * mark, an hour ahead; no fence is much more than a day ahead. */
uint64_t generator_end_us(const generator *make) {
    return make->known.latest_us + DAY_US + 2 * HOUR_US;
}

/* The clock. */

/* Beside an instant at which something may end: mostly the next one. */
static uint64_t edge_us(generator *make) {
    static const int64_t beside[] = {-1, 0, 0, 0, 1, -1000, 999, 1000, -500};
    const belief *known = &make->known;
    uint64_t nearest = 0, chosen = 0, seen = 0;
    for (size_t i = 0; i < BELIEF_INSTANTS; i++) {
        uint64_t instant = known->instants[i];
        if (instant <= make->now_us)
            continue;
        if (nearest == 0 || instant < nearest)
            nearest = instant;
        if (random_below(&make->random, ++seen) == 0)
            chosen = instant;
    }
    if (seen == 0)
        return make->now_us;
    if (random_percent(&make->random, 70))
        chosen = nearest;
    chosen += (uint64_t)beside[random_below(&make->random, sizeof beside / sizeof *beside)];
    return chosen > make->now_us ? chosen : make->now_us;
}

static uint64_t back_us(random_source *random) {
    static const uint64_t most[] = {1, 2 * MS_US, 500 * MS_US, 12 * SECOND_US, HOUR_US + SECOND_US};
    static const unsigned weights[] = {3, 4, 4, 4, 1};
    size_t kind = random_weighted(random, weights, sizeof weights / sizeof *weights);
    return random_between(random, 1, most[kind]);
}

/* Whether it went to the edge of a deadline. */
static bool move_clock(generator *make) {
    enum { STILL, TINY, BELOW_MS, SOME_MS, EDGE, SECONDS, HOUR, DAY, BACK, MOVES };
    const unsigned weights[MOVES] = {[STILL] = 300,
                                     [TINY] = 60,
                                     [BELOW_MS] = 150,
                                     [SOME_MS] = 80,
                                     [EDGE] = make->present.kind->edge,
                                     [SECONDS] = 12,
                                     [HOUR] = 2,
                                     [DAY] = 1,
                                     [BACK] = 8};
    random_source *random = &make->random;
    uint64_t now_us = make->now_us;
    size_t move = random_weighted(random, weights, MOVES);
    switch (move) {
    case STILL:
        break;
    case TINY:
        now_us += random_between(random, 1, 3);
        break;
    case BELOW_MS:
        now_us += random_between(random, 1, 1500);
        break;
    case SOME_MS:
        now_us += random_between(random, 1, 60) * MS_US;
        break;
    case EDGE:
        now_us = edge_us(make);
        break;
    case SECONDS:
        now_us += random_between(random, SECOND_US, 12 * SECOND_US);
        break;
    case HOUR:
        now_us += HOUR_US - random_below(random, 2);
        break;
    case DAY:
        now_us += DAY_US - random_below(random, 2);
        break;
    default:
        now_us -= back_us(random);
        if (now_us + make->back_most_us < make->latest_us)
            now_us = make->latest_us - make->back_most_us;
    }
    make->now_us = now_us;
    if (now_us > make->latest_us)
        make->latest_us = now_us;
    return move == EDGE;
}

/* Who wants what. */

enum { FRESH, MORE, RELEASE, CONVERT, RENEW, CANCEL, REPEAT, STALE, FORCE, INSPECT, INTENTS };
enum { HAS_NOTHING, WAITS, HOLDS, HOLDS_AND_WAITS, MISSED, STATES };

static const unsigned usual[STATES][INTENTS] = {
    /* fresh more release convert renew cancel repeat stale force inspect */
    [HAS_NOTHING] = {800, 10, 20, 10, 20, 20, 25, 8, 4, 40},
    [WAITS] = {25, 15, 15, 10, 250, 110, 130, 25, 5, 60},
    [HOLDS] = {25, 220, 330, 60, 120, 30, 80, 30, 8, 40},
    [HOLDS_AND_WAITS] = {15, 120, 50, 30, 180, 40, 80, 30, 8, 50},
    [MISSED] = {100, 20, 40, 10, 250, 200, 120, 20, 4, 40},
};

static size_t state_of(const belief_party *party) {
    static_assert(HOLDS + WAITS == HOLDS_AND_WAITS, "states are made of these two");
    return party->missed ? MISSED : (party->holds ? HOLDS : 0U) + (party->waits ? WAITS : 0U);
}

static size_t draw_intent(generator *make, const belief_party *party) {
    const mood_kind *kind = make->present.kind;
    unsigned weights[INTENTS];
    const unsigned *base = usual[state_of(party)];
    for (size_t i = 0; i < INTENTS; i++)
        weights[i] = base[i] * 100;
    weights[REPEAT] = base[REPEAT] * kind->repeat;
    weights[RENEW] = base[RENEW] * kind->renew;
    weights[RELEASE] = base[RELEASE] * kind->release;
    weights[FORCE] = base[FORCE] * kind->force;
    for (size_t i = 0; i < INTENTS; i++)
        if (i != FRESH && i != RELEASE && i != RENEW && i != INSPECT)
            weights[i] = weights[i] * (100 - kind->plain) / 100;
    if (party->holds || party->waits)
        weights[FRESH] = weights[FRESH] * (100 - kind->plain) / 100;
    if (party->holds) /* otherwise there is mostly nothing to convert */
        weights[CONVERT] = weights[CONVERT] * (party->writes > 0 ? 10 : 1) / 5;
    return random_weighted(&make->random, weights, INTENTS);
}

static void fill(generator *make, size_t intent, int handle, belief_lock *lock, step *out) {
    actor who = {make, lock, &lock->parties[handle], handle};
    switch (intent) {
    case FRESH:
        request_acquire_fresh(&who, out);
        break;
    case MORE:
        request_acquire_more(&who, out);
        break;
    case RELEASE:
        request_release(&who, out);
        break;
    case CONVERT:
        request_convert(&who, out);
        break;
    case RENEW:
        request_renew(&who, out);
        break;
    case CANCEL:
        request_cancel(&who, out);
        break;
    case REPEAT:
        request_repeat(&who, out);
        break;
    case STALE:
        request_stale(&who, out);
        break;
    case FORCE:
        request_force(&who, out);
        break;
    default:
        request_inspect(&who, out);
    }
}

static void change_mood(generator *make) {
    mood_draw(&make->present, &make->random);
    if (random_percent(&make->random, JUMP_PERCENT))
        make->now_us = generator_end_us(make);
}

void generator_next(generator *make, step *out) {
    random_source *random = &make->random;
    if (make->present.steps == 0)
        change_mood(make);
    make->present.steps--;
    make->round_left--;
    bool at_edge = move_clock(make);
    int handle = mood_handle(&make->present, make->last, random);
    make->last = handle;
    belief_lock *lock = &make->known.locks[random_below(random, make->present.kind->locks)];
    out->now_us = make->now_us;
    /* Only inspect sees what has run out and is not yet dropped. */
    bool looks = at_edge && random_percent(random, LOOK_PERCENT);
    size_t intent = looks ? (size_t)INSPECT : draw_intent(make, &lock->parties[handle]);
    fill(make, intent, handle, lock, out);
    if (random_percent(random, MALFORMED_PERCENT))
        malform(random, out);
}
