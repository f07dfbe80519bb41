/*
 * See differential_request.h. No two random numbers are drawn in one expression whose order is the
 * compiler's choice: a seed must mean the same with every compiler.
 */
#include "differential_request.h"

#include <inttypes.h>
#include <stdlib.h>

#define SECOND_US UINT64_C(1000000)
#define DAY_US UINT64_C(86400000000) /* SPEC 10.2 */

static const char *const policies[] = {
    [LKC_FAIR] = "fair",
    [LKC_PHASE_FAIR] = "phase-fair",
    [LKC_PREFER_WRITER] = "prefer-writer",
    [LKC_PREFER_READER] = "prefer-reader",
};

static const char *mode_word(lkc_mode mode) {
    return mode == LKC_READ ? "read" : "write";
}

static uint64_t below(const actor *who, uint64_t bound) {
    return random_below(&who->make->random, bound);
}

static bool percent(const actor *who, unsigned chance) {
    return random_percent(&who->make->random, chance);
}

/* Numbers. */

/* Now and then with zeros before it, which SPEC 10.1 allows up to 16 digits. */
static void add_number(const actor *who, step *out, uint64_t number) {
    char *text = percent(who, 1) ? test_print("%016" PRIu64, number) : NULL;
    if (text)
        step_add(out, cast_text(text));
    else
        step_add_number(out, number);
    free(text);
}

static uint64_t fresh_number(const actor *who) {
    uint64_t *last = &who->make->numbers[who->handle];
    uint64_t rise = percent(who, 90) ? 1 : 1 + below(who, 5);
    if (below(who, 3000) == 0)
        rise = GENERATE_NUMBER_MOST;
    *last = *last + rise < GENERATE_NUMBER_MOST ? *last + rise : GENERATE_NUMBER_MOST;
    return *last;
}

static uint64_t at_least_one(uint64_t number) {
    return number > 0 ? number : 1;
}

/* A number that the handle has used, mostly; not fresh, so far as it knows. */
static uint64_t used_number(const actor *who) {
    const belief_party *party = who->party;
    const uint64_t numbers[] = {party->last_req, party->waits_req, party->granted_req,
                                party->last_req - (party->last_req > 1),
                                below(who, who->make->numbers[who->handle] + 1)};
    return at_least_one(numbers[below(who, sizeof numbers / sizeof *numbers)]);
}

/* The fence of the hold that is meant: mostly the right one. */
static uint64_t draw_fence(const actor *who) {
    static const unsigned weights[] = {84, 6, 2, 2, 2, 2, 2};
    const belief_party *party = who->party;
    const belief_party *other = &who->lock->parties[below(who, CAST_REGULARS)];
    const uint64_t fences[] = {
        party->fence, party->old_fence, 0, party->fence + 1, party->fence - (party->fence > 0),
        other->fence, who->lock->fence};
    uint64_t fence =
        fences[random_weighted(&who->make->random, weights, sizeof weights / sizeof *weights)];
    return fence == 0 && percent(who, 80) ? party->old_fence : fence;
}

static uint64_t draw_lease_ms(const actor *who) {
    static const unsigned quick[] = {100, 100, 101, 120, 200, 350, 999, 1000, 1001, 1500};
    static const unsigned slow[] = {3000,  5000,  9999,    10000,   10001,    15000,
                                    30000, 60000, 3600000, 3600000, 86399999, 86400000};
    if (percent(who, who->make->present.kind->long_lease))
        return slow[below(who, sizeof slow / sizeof *slow)];
    if (percent(who, 20))
        return 100 + below(who, 2000);
    return quick[below(who, sizeof quick / sizeof *quick)];
}

static uint64_t draw_floor(const actor *who) {
    static const unsigned weights[] = {60, 12, 8, 6, 8, 3, 2, 1};
    uint64_t now_us = who->make->now_us, far_us = below(who, DAY_US);
    uint64_t near_us = far_us % (5 * SECOND_US);
    const uint64_t floors[] = {0,
                               who->lock->fence,
                               who->party->old_fence,
                               now_us,
                               now_us + near_us,
                               now_us - near_us,
                               now_us + far_us,
                               now_us + DAY_US};
    return floors[random_weighted(&who->make->random, weights, sizeof weights / sizeof *weights)];
}

/* Requests. */

static void begin(const actor *who, step *out, lkc_op op) {
    out->op = op;
    step_add_name(out, who->lock->name);
    step_add(out, cast_handle(who->handle));
}

static lkc_text draw_owner(const actor *who) {
    if (percent(who, who->make->present.kind->plain))
        return cast_text("");
    if (percent(who, 4))
        return cast_handle(who->handle);
    if (percent(who, who->make->present.kind->kin))
        return cast_kin();
    return cast_owner(percent(who, 5) ? (int)below(who, CAST_REGULARS) : who->handle);
}

static void acquire(const actor *who, step *out, uint64_t req, uint64_t fence, lkc_mode mode) {
    random_source *random = &who->make->random;
    const mood *present = &who->make->present;
    begin(who, out, LKC_OP_ACQUIRE);
    add_number(who, out, req);
    add_number(who, out, fence);
    step_add(out, cast_text(mode_word(mode)));
    step_add_number(out, percent(who, present->kind->wait));
    add_number(who, out, draw_lease_ms(who));
    step_add(out, cast_text(policies[mood_policy(present, random)]));
    add_number(who, out, draw_floor(who));
    step_add(out, draw_owner(who));
    step_add(out, cast_group(percent(who, present->kind->groups) ? below(who, CAST_GROUPS) : 0));
    step_add(out, cast_who(random_next(random)));
}

static void release(const actor *who, step *out, uint64_t req) {
    const belief_party *party = who->party;
    bool writes = party->writes > 0 && (party->reads == 0 || percent(who, 50));
    if (percent(who, 4))
        writes = !writes;
    begin(who, out, LKC_OP_RELEASE);
    add_number(who, out, req);
    add_number(who, out, draw_fence(who));
    step_add(out, cast_text(mode_word(writes ? LKC_WRITE : LKC_READ)));
    add_number(who, out, percent(who, 70));
}

static void convert(const actor *who, step *out, uint64_t req) {
    begin(who, out, LKC_OP_CONVERT);
    add_number(who, out, req);
    add_number(who, out, draw_fence(who));
}

static lkc_mode draw_mode(const actor *who, unsigned writes) {
    return percent(who, writes) ? LKC_WRITE : LKC_READ;
}

void request_acquire_fresh(actor *who, step *out) {
    lkc_mode mode = draw_mode(who, who->make->present.kind->write);
    acquire(who, out, fresh_number(who), 0, mode);
}

void request_acquire_more(actor *who, step *out) {
    lkc_mode mode = draw_mode(who, who->make->present.kind->upgrade);
    uint64_t fence = draw_fence(who);
    acquire(who, out, fresh_number(who), fence, mode);
}

void request_release(actor *who, step *out) {
    release(who, out, fresh_number(who));
}

void request_convert(actor *who, step *out) {
    convert(who, out, fresh_number(who));
}

void request_cancel(actor *who, step *out) {
    const belief_party *party = who->party;
    uint64_t target = party->waits ? party->waits_req : party->granted_req;
    begin(who, out, LKC_OP_CANCEL);
    add_number(who, out, percent(who, 90) ? fresh_number(who) : used_number(who));
    add_number(who, out, target && percent(who, 75) ? target : used_number(who));
}

static void with_number(const actor *who, step *out, lkc_op op, uint64_t req) {
    if (op == LKC_OP_RELEASE)
        release(who, out, req);
    else if (op == LKC_OP_CONVERT)
        convert(who, out, req);
    else
        acquire(who, out, req, percent(who, 50) ? 0 : draw_fence(who), who->party->last_mode);
}

void request_repeat(actor *who, step *out) {
    static const lkc_op others[] = {LKC_OP_ACQUIRE, LKC_OP_RELEASE, LKC_OP_CONVERT};
    const belief_party *party = who->party;
    lkc_op op = percent(who, 80) ? party->last_op : others[below(who, 3)];
    uint64_t req = party->last_req;
    if (percent(who, 40) && party->granted_req) {
        op = LKC_OP_ACQUIRE;
        req = party->waits ? party->waits_req : party->granted_req;
    }
    with_number(who, out, op, at_least_one(req));
}

void request_stale(actor *who, step *out) {
    static const lkc_op ops[] = {LKC_OP_ACQUIRE, LKC_OP_RELEASE, LKC_OP_CONVERT};
    lkc_op op = ops[below(who, 3)];
    with_number(who, out, op, used_number(who));
}

/* Somebody with something to renew, if that is found soon. */
static actor draw_another(const actor *who) {
    actor other = *who;
    for (int tries = 0; tries < 4; tries++) {
        other.handle = (int)below(who, percent(who, 80) ? CAST_REGULARS : CAST_HANDLES);
        other.lock = &who->make->known.locks[below(who, CAST_LOCKS)];
        other.party = &other.lock->parties[other.handle];
        if (other.party->holds || other.party->waits)
            break;
    }
    return other;
}

static void add_entry(const actor *who, step *out) {
    const belief_party *party = who->party;
    unsigned of_holds = party->missed ? 10 : party->provisional ? 50 : 85;
    bool of_hold = party->waits ? party->holds && percent(who, 40) : percent(who, of_holds);
    uint64_t fence = of_hold ? draw_fence(who) : 0;
    uint64_t req = party->waits ? party->waits_req : party->granted_req;
    if (percent(who, 10))
        req = used_number(who);
    step_add_name(out, who->lock->name);
    step_add(out, cast_handle(who->handle));
    add_number(who, out, fence);
    add_number(who, out, fence == 0 ? at_least_one(req) : req);
    add_number(who, out, draw_lease_ms(who));
}

void request_renew(actor *who, step *out) {
    size_t entries = percent(who, 65) ? 1 : 2 + (size_t)below(who, STEP_NAMES_MOST - 1);
    out->op = LKC_OP_RENEW;
    add_entry(who, out);
    while (out->name_count < entries) {
        actor other = draw_another(who);
        add_entry(&other, out);
    }
}

void request_force(actor *who, step *out) {
    lkc_text owner = cast_owner(who->handle);
    out->op = LKC_OP_FORCE;
    step_add_name(out, who->lock->name);
    if (percent(who, 35))
        owner = cast_text("");
    else if (owner.length == 0)
        owner = cast_handle(who->handle);
    step_add(out, owner);
}

void request_inspect(actor *who, step *out) {
    out->op = LKC_OP_INSPECT;
    step_add_name(out, who->lock->name);
    add_number(who, out, percent(who, 95) ? below(who, 21) : 100000);
}
