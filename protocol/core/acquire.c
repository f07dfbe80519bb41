/*
 * acquire (SPEC 10.2). All the memory that it could need is taken before it changes anything, even
 * before what has run out is dropped; what turns out not to be needed is given back at the end.
 */
#include "events.h"
#include "grant.h"
#include "replies.h"
#include "requests.h"
#include "settle.h"

typedef struct {
    lki_lock *lock;
    const lki_acquire_args *args;
    lki_party *fresh;      /* the record for a new hold or waiter; NULL once it is one */
    const lki_party *told; /* the waiter whose place the answer tells */
    lki_reply reply;
} asking;

static uint64_t lease_end_us(const asking *ask) {
    return ask->lock->now_us + ask->args->lease_ms * LKI_MS_US;
}

static uint64_t liveness_end_us(const asking *ask) {
    return ask->lock->now_us + lki_min(ask->args->lease_ms * LKI_MS_US, LKI_LIVENESS_US);
}

static void answer_granted(asking *ask, lki_party *hold) {
    lki_party_extend(ask->lock, hold, lease_end_us(ask)); /* SPEC 5.1 */
    hold->provisional = false;                            /* SPEC 5.3 */
    ask->reply = lki_reply_granted(ask->lock, hold);
}

static void answer_queued(asking *ask, lki_party *waiter) {
    ask->told = waiter;
    ask->reply = lki_reply_queued(ask->lock, waiter);
}

/* SPEC 9.2, 9.4: whether the number alone decides the answer. */
static bool answer_by_number(asking *ask, const lki_pair *mine) {
    uint64_t req = ask->args->req;
    if (mine->waiter && mine->waiter->wait.req == req) {
        lki_party_extend(ask->lock, mine->waiter, liveness_end_us(ask)); /* SPEC 5.4 */
        answer_queued(ask, mine->waiter);
        return true;
    }
    if ((mine->hold && mine->hold->hold.granted_for == req) ||
        lki_request_repeats(mine, req, LKI_BY_ACQUIRE)) {
        answer_granted(ask, mine->hold);
        return true;
    }
    if (lki_request_is_stale(mine, req)) {
        ask->reply = lki_reply_of(LKI_STALE);
        return true;
    }
    return false;
}

/* SPEC 9.5: it asks as a stranger after this. */
static void replace(asking *ask, const lki_pair *mine) {
    lki_loss loss = {false};
    if (mine->waiter) {
        lki_waiter_remove(ask->lock, mine->waiter);
        lki_party_free(ask->lock, mine->waiter);
    }
    if (mine->hold)
        lki_hold_lose(ask->lock, &loss, mine->hold, ask->lock->now_us, false);
    lki_loss_end(ask->lock, &loss);
    lki_settle(ask->lock);
}

static lki_outcome grant(asking *ask, lki_party *hold) {
    lki_lock *lock = ask->lock;
    lki_grant grant = {.mode = ask->args->mode, .req = ask->args->req, .floor = ask->args->floor};
    if (hold) {
        unsigned held = grant.mode == LKI_READ ? hold->hold.reads : hold->hold.writes;
        if (held == LKI_COUNT_MOST)
            return LKI_TOO_DEEP;
        lki_grant_more(lock, hold, &grant);
    } else {
        grant.begins_life = lki_lock_is_empty(lock);
        if (grant.begins_life)
            lock->policy = ask->args->policy; /* SPEC 3.1 */
        hold = ask->fresh;
        ask->fresh = NULL;
        hold->deadline_us = lease_end_us(ask);
        lki_grant_new(lock, hold, &grant);
    }
    lki_phase_update(lock);
    answer_granted(ask, hold);
    return LKI_DONE;
}

static void enqueue(asking *ask, const lki_party *hold, bool upgrade) {
    lki_lock *lock = ask->lock;
    lki_party *waiter = ask->fresh;
    ask->fresh = NULL;
    if (hold) { /* SPEC 3.4: whatever the request says */
        lki_names_give(lock, &lock->owners, waiter->owner);
        lki_names_give(lock, &lock->groups, waiter->group);
        waiter->owner = lki_name_share(hold->owner);
        waiter->group = lki_name_share(hold->group);
    }
    waiter->since_us = lock->now_us;
    waiter->deadline_us = liveness_end_us(ask);
    waiter->wait.mode = (uint8_t)ask->args->mode;
    waiter->wait.req = ask->args->req;
    waiter->wait.lease_ms = ask->args->lease_ms;
    lki_waiter_add(lock, waiter, upgrade);
    lock->floor = lki_max(lock->floor, ask->args->floor); /* SPEC 8.1 */
    answer_queued(ask, waiter);
}

/* May a compatible request go in at once? */
static bool may_pass(const lki_lock *lock, const lki_name *owner, lki_mode mode) {
    if (mode == LKI_WRITE || owner->count > 0)
        return true; /* SPEC 3.3, 3.4 */
    return !lock->upgrade && !lock->readers.root &&
           (!lock->writers.root || lock->policy == LKI_PREFER_READER); /* SPEC 3.2, 4.2 */
}

static lki_outcome decide(asking *ask) {
    lki_lock *lock = ask->lock;
    const lki_acquire_args *args = ask->args;
    lki_pair mine = lki_pair_find(lock, &args->handle);
    if (answer_by_number(ask, &mine))
        return LKI_DONE;
    if (args->fence != 0 && !lki_request_means(mine.hold, args->fence)) { /* SPEC 9.5 */
        ask->reply = lki_reply_of(LKI_NOT_HELD);
        return LKI_DONE;
    }
    if (args->fence == 0 && (mine.hold || mine.waiter)) {
        replace(ask, &mine);
        mine = (lki_pair){NULL, NULL};
    }

    const lki_party *asker = mine.hold ? mine.hold : ask->fresh;
    if (lki_is_compatible(lock, asker->owner, asker->group, args->mode) &&
        may_pass(lock, asker->owner, args->mode))
        return grant(ask, mine.hold);
    bool upgrade = args->mode == LKI_WRITE && asker->owner->count > 0; /* SPEC 4.1 */
    if (upgrade && lock->upgrade)
        ask->reply = lki_reply_of(LKI_DEADLOCK); /* SPEC 4.4 */
    else if (args->wait)
        enqueue(ask, mine.hold, upgrade);
    else
        ask->reply = (lki_reply){.answer = LKI_BUSY, .ms = lki_next_ms(lock)};
    return LKI_DONE;
}

lki_outcome lki_lock_acquire(lki_lock *lock, uint64_t now_us, const lki_acquire_args *args,
                             lki_reply *reply) {
    asking ask = {.lock = lock, .args = args};
    lki_events_clear(lock);
    ask.fresh = lki_party_new(lock, &args->handle, args->owner, args->group, args->who);
    if (!ask.fresh)
        return LKI_NO_MEMORY;
    lki_operation_begin(lock, now_us);
    lki_outcome outcome = decide(&ask);
    if (ask.fresh)
        lki_party_free(lock, ask.fresh);
    lki_operation_end(lock, ask.told);
    if (outcome == LKI_DONE)
        *reply = ask.reply;
    return outcome;
}
