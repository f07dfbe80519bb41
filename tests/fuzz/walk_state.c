/* See walk_state.h. */
#include "walk_state.h"

enum { VALUES_MOST = 10, BYTES_MOST = 96, SECONDS_PAST_MOST = 5, AHEAD_MOST_US = 6 };

/* Numbers of which only the order matters. */
typedef struct {
    uint64_t values[VALUES_MOST];
    size_t count;
} ranking;

typedef struct {
    uint8_t bytes[BYTES_MOST];
    size_t count;
    const walk_world *world;
    ranking fences, tickets;
} canon;

static void rank_add(ranking *ranks, uint64_t value) {
    size_t at = ranks->count;
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->values[i] == value)
            return;
    assert(at < VALUES_MOST);
    for (; at > 0 && ranks->values[at - 1] > value; at--)
        ranks->values[at] = ranks->values[at - 1];
    ranks->values[at] = value;
    ranks->count++;
}

static unsigned rank_of(const ranking *ranks, uint64_t value) {
    unsigned rank = 0;
    while (rank < ranks->count && ranks->values[rank] != value)
        rank++;
    return rank; /* of a number that is not there: how many there are */
}

static void put(canon *out, unsigned value) {
    assert(out->count < BYTES_MOST && value <= UINT8_MAX);
    out->bytes[out->count++] = (uint8_t)value;
}

/* 0: it passed long ago; SECONDS_PAST_MOST: it has just passed. */
static void put_deadline(canon *out, uint64_t deadline_us) {
    uint64_t now_us = out->world->now_us;
    if (deadline_us > now_us)
        put(out, (unsigned)(SECONDS_PAST_MOST +
                            (deadline_us - now_us + WALK_SECOND_US - 1) / WALK_SECOND_US));
    else
        put(out, (unsigned)(SECONDS_PAST_MOST -
                            lkc_min((now_us - deadline_us) / WALK_SECOND_US, SECONDS_PAST_MOST)));
}

/*
 * How far a fence is ahead of the clock (SPEC 7.1). It matters also whether the clock has just
 * reached it: then the next fence, if it is drawn in the same us, is ahead (8.1).
 */
static void put_ahead(canon *out, uint64_t fence) {
    uint64_t now_us = out->world->now_us;
    put(out, fence >= now_us ? 1 + (unsigned)lkc_min(fence - now_us, AHEAD_MOST_US) : 0);
}

static void rank_pair(canon *out, const lkc_pair *pair) {
    if (pair->hold) {
        rank_add(&out->fences, pair->hold->hold.fence);
        rank_add(&out->fences, pair->hold->hold.first_fence);
        if (pair->hold->provisional)
            rank_add(&out->tickets, pair->hold->hold.ticket);
    }
    if (pair->waiter)
        rank_add(&out->tickets, pair->waiter->wait.ticket);
}

static void put_lock(canon *out, const lkc_lock *lock) {
    put(out, out->world->policy);
    put(out, lock->policy);
    put(out, lock->phase);
    put(out, lock->read_group ? (unsigned char)lock->read_group->bytes[0] : 0);
    put(out, lkc_lock_expires_ms(lock) * LKC_MS_US <= out->world->now_us); /* SPEC 5.6, 7.3 */
    put(out, lock->fence > 0);
    put(out, rank_of(&out->fences, lock->fence));
    put(out, rank_of(&out->fences, out->world->fence_most));
    put_ahead(out, lock->fence);
    put_ahead(out, out->world->fence_most);
    put(out, lock->marked);
    put(out, lock->marked ? rank_of(&out->fences, lock->mark_fence) : 0);
    put(out, lock->marked ? rank_of(&out->tickets, lock->mark_of) : 0);
}

static void put_hold(canon *out, const lkc_record *hold, const ranking *numbers) {
    put(out, hold->hold.reads);
    put(out, hold->hold.writes);
    put_deadline(out, hold->deadline_us);
    put(out, rank_of(&out->fences, hold->hold.fence));
    put(out, rank_of(&out->fences, hold->hold.first_fence));
    put(out, rank_of(numbers, hold->hold.last));
    put(out, rank_of(numbers, hold->hold.granted_for)); /* 0 is a number, too: none */
    put(out, hold->hold.last_by);
    put(out, hold->provisional ? 1 + rank_of(&out->tickets, hold->hold.ticket) : 0);
}

static void put_waiter(canon *out, const lkc_record *waiter, const ranking *numbers) {
    put(out, waiter->role);
    put(out, waiter->wait.mode);
    put(out, out->world->lock->upgrade == waiter);
    put_deadline(out, waiter->deadline_us);
    put(out, rank_of(numbers, waiter->wait.req));
    put(out, rank_of(&out->tickets, waiter->wait.ticket));
}

static void put_pair(canon *out, const lkc_pair *pair) {
    ranking numbers = {.values = {0}, .count = 1};
    if (pair->hold) {
        rank_add(&numbers, pair->hold->hold.last);
        rank_add(&numbers, pair->hold->hold.granted_for);
    }
    if (pair->waiter)
        rank_add(&numbers, pair->waiter->wait.req);
    put(out, (pair->hold ? 1U : 0U) + (pair->waiter ? 2U : 0U));
    if (pair->hold)
        put_hold(out, pair->hold, &numbers);
    if (pair->waiter)
        put_waiter(out, pair->waiter, &numbers);
}

static uint64_t mix(uint64_t mixed) {
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* Two lanes that never meet. The bytes behind the last one are 0. */
static walk_digest digest_of(const canon *from) {
    walk_digest digest = {{UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f)}};
    static_assert(BYTES_MOST % sizeof(uint64_t) == 0, "whole words");
    for (size_t at = 0; at < from->count; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, from->bytes + at, sizeof word);
        digest.words[0] = mix(digest.words[0] + word) + from->count;
        digest.words[1] = mix((digest.words[1] ^ word) * UINT64_C(0x9fb21c651e98df25)) + at;
    }
    return digest;
}

walk_digest state_digest(const walk_world *world) {
    canon out = {.world = world};
    lkc_pair pairs[WALK_HANDLES];
    for (int i = 0; i < WALK_HANDLES; i++) {
        pairs[i] = world_pair(world, i);
        rank_pair(&out, &pairs[i]);
    }
    rank_add(&out.fences, world->lock->fence);
    rank_add(&out.fences, world->fence_most);
    if (world->lock->marked)
        rank_add(&out.fences, world->lock->mark_fence);
    put_lock(&out, world->lock);
    for (int i = 0; i < WALK_HANDLES; i++)
        put_pair(&out, &pairs[i]);
    return digest_of(&out);
}
