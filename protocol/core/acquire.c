/*
 * acquire (SPEC 10.2). All the memory that it could need is taken before it changes anything, even
 * before what has run out is dropped; what turns out not to be needed is given back at the end.
 */
#include "grant.h"
#include "records.h"
#include "replies.h"
#include "settle.h"

typedef struct {
    lkc_lock *lock;
    const lkc_acquire_args *args;
    lkc_record *fresh;      /* the record for a new hold or waiter; NULL once it is one */
    const lkc_record *told; /* the waiter whose place the answer tells */
    lkc_reply reply;
} asking;

static uint64_t lease_end_us(const asking *ask) {
    return ask->lock->now_us + ask->args->lease_ms * LKC_MS_US;
}

static uint64_t liveness_end_us(const asking *ask) {
    return ask->lock->now_us + lkc_min(ask->args->lease_ms * LKC_MS_US, LKC_LIVENESS_US);
}

static void answer_granted(asking *ask, lkc_record *hold) {
    lkc_record_extend(ask->lock, hold, lease_end_us(ask)); /* SPEC 5.1 */
    hold->provisional = false;                             /* SPEC 5.3 */
    ask->reply = lkc_reply_granted(ask->lock, hold);
}

static void answer_queued(asking *ask, lkc_record *waiter) {
    ask->told = waiter;
    ask->reply = lkc_reply_queued(ask->lock, waiter);
}

/* SPEC 9.2, 9.4: whether the number alone decides the answer. */
static bool answer_by_number(asking *ask, const lkc_pair *mine) {
    uint64_t req = ask->args->req;
    if (mine->waiter && mine->waiter->wait.req == req) {
        lkc_record_extend(ask->lock, mine->waiter, liveness_end_us(ask)); /* SPEC 5.4 */
        answer_queued(ask, mine->waiter);
        return true;
    }
    if ((mine->hold && mine->hold->hold.granted_for == req) ||
        lkc_request_repeats(mine, req, LKC_BY_ACQUIRE)) {
        answer_granted(ask, mine->hold);
        return true;
    }
    if (lkc_request_is_stale(mine, req)) {
        ask->reply = lkc_reply_of(LKC_STALE);
        return true;
    }
    return false;
}

/* SPEC 9.5: it asks as a stranger after this. */
static void replace(asking *ask, const lkc_pair *mine) {
    lkc_loss loss = {false};
    if (mine->waiter) {
        lkc_waiter_remove(ask->lock, mine->waiter);
        lkc_record_free(ask->lock, mine->waiter);
    }
    if (mine->hold)
        lkc_hold_lose(ask->lock, &loss, mine->hold, ask->lock->now_us, false);
    lkc_loss_end(ask->lock, &loss);
    lkc_settle(ask->lock);
}

static lkc_outcome grant(asking *ask, lkc_record *hold) {
    lkc_lock *lock = ask->lock;
    lkc_grant grant = {.mode = ask->args->mode, .req = ask->args->req, .floor = ask->args->floor};
    if (hold) {
        unsigned held = grant.mode == LKC_READ ? hold->hold.reads : hold->hold.writes;
        if (held == LKC_COUNT_MOST)
            return LKC_TOO_DEEP;
        lkc_grant_more(lock, hold, &grant);
    } else {
        grant.begins_life = lkc_lock_is_empty(lock);
        if (grant.begins_life)
            lock->policy = ask->args->policy; /* SPEC 3.1 */
        hold = ask->fresh;
        ask->fresh = NULL;
        hold->deadline_us = lease_end_us(ask);
        lkc_grant_new(lock, hold, &grant);
    }
    lkc_phase_update(lock);
    answer_granted(ask, hold);
    return LKC_DONE;
}

static void enqueue(asking *ask, const lkc_record *hold, bool upgrade) {
    lkc_lock *lock = ask->lock;
    lkc_record *waiter = ask->fresh;
    ask->fresh = NULL;
    if (hold) { /* SPEC 3.4: whatever the request says */
        lkc_names_give(lock, &lock->owners, waiter->owner);
        lkc_names_give(lock, &lock->groups, waiter->group);
        waiter->owner = lkc_name_share(hold->owner);
        waiter->group = lkc_name_share(hold->group);
    }
    waiter->since_us = lock->now_us;
    waiter->deadline_us = liveness_end_us(ask);
    waiter->wait.mode = (uint8_t)ask->args->mode;
    waiter->wait.req = ask->args->req;
    waiter->wait.lease_ms = ask->args->lease_ms;
    lkc_waiter_add(lock, waiter, upgrade);
    lock->floor = lkc_max(lock->floor, ask->args->floor); /* SPEC 8.1 */
    answer_queued(ask, waiter);
}

/* May a compatible request go in at once? */
static bool may_pass(const lkc_lock *lock, const lkc_name *owner, lkc_mode mode) {
    if (mode == LKC_WRITE || owner->count > 0)
        return true; /* SPEC 3.3, 3.4 */
    return !lock->upgrade && !lock->readers.root &&
           (!lock->writers.root || lock->policy == LKC_PREFER_READER); /* SPEC 3.2, 4.2 */
}

static lkc_outcome decide(asking *ask) {
    lkc_lock *lock = ask->lock;
    const lkc_acquire_args *args = ask->args;
    lkc_pair mine = lkc_pair_find(lock, &args->handle);
    if (answer_by_number(ask, &mine))
        return LKC_DONE;
    if (args->fence != 0 && !lkc_request_means(mine.hold, args->fence)) { /* SPEC 9.5 */
        ask->reply = lkc_reply_of(LKC_NOT_HELD);
        return LKC_DONE;
    }
    if (args->fence == 0 && (mine.hold || mine.waiter)) {
        replace(ask, &mine);
        mine = (lkc_pair){NULL, NULL};
    }

    const lkc_record *asker = mine.hold ? mine.hold : ask->fresh;
    if (lkc_is_compatible(lock, asker->owner, asker->group, args->mode) &&
        may_pass(lock, asker->owner, args->mode))
        return grant(ask, mine.hold);
    bool upgrade = args->mode == LKC_WRITE && asker->owner->count > 0; /* SPEC 4.1 */
    if (upgrade && lock->upgrade)
        ask->reply = lkc_reply_of(LKC_DEADLOCK); /* SPEC 4.4 */
    else if (args->wait)
        enqueue(ask, mine.hold, upgrade);
    else
        ask->reply = (lkc_reply){.answer = LKC_BUSY, .ms = lkc_next_ms(lock)};
    return LKC_DONE;
}

lkc_outcome lkc_lock_acquire(lkc_lock *lock, uint64_t now_us, const lkc_acquire_args *args,
                             lkc_reply *reply) {
    asking ask = {.lock = lock, .args = args};
    lkc_events_clear(lock);
    ask.fresh = lkc_record_new(lock, &args->handle, args->owner, args->group, args->who);
    if (!ask.fresh)
        return LKC_NO_MEMORY;
    lkc_operation_begin(lock, now_us);
    lkc_outcome outcome = decide(&ask);
    if (ask.fresh)
        lkc_record_free(lock, ask.fresh);
    lkc_operation_end(lock, ask.told);
    if (outcome == LKC_DONE)
        *reply = ask.reply;
    return outcome;
}
