/*
 * acquire (SPEC 10.2). It takes all the memory that it may need before it changes anything, even
 * before it drops what has expired. It gives back at the end what it did not need.
 */
#include "grant.h"
#include "records.h"
#include "replies.h"
#include "settle.h"

typedef struct {
    lkc_lock *lock;
    const lkc_acquire_args *args;
    lkc_record *fresh;      /* the record for a new hold or waiter; NULL once it is one */
    const lkc_record *told; /* the waiter whose place is in the reply */
    lkc_reply reply;
} acquire_context;

static uint64_t lease_end_us(const acquire_context *context) {
    return context->lock->now_us + context->args->lease_ms * LKC_MS_US;
}

static void answer_granted(acquire_context *context, lkc_record *hold) {
    lkc_record_extend(context->lock, hold, lease_end_us(context)); /* SPEC 5.1 */
    hold->provisional = false;                                     /* SPEC 5.3 */
    context->reply = lkc_reply_granted(context->lock, hold);
}

static void answer_queued(acquire_context *context, lkc_record *waiter) {
    context->told = waiter;
    context->reply = lkc_reply_queued(context->lock, waiter);
}

static void answer_waiter(acquire_context *context, lkc_record *waiter) {
    lkc_waiter_renew(context->lock, waiter, context->args->lease_ms);
    if (waiter->role == LKC_ROLE_HOLD)
        answer_granted(context, waiter); /* SPEC 5.6 */
    else
        answer_queued(context, waiter);
}

/* SPEC 9.2, 9.4. True when the number alone decides the answer. */
static bool answer_by_number(acquire_context *context, const lkc_pair *mine) {
    uint64_t req = context->args->req;
    if (mine->waiter && mine->waiter->wait.req == req) {
        answer_waiter(context, mine->waiter);
        return true;
    }
    if ((mine->hold && mine->hold->hold.granted_for == req) ||
        lkc_request_repeats(mine, req, LKC_BY_ACQUIRE)) {
        answer_granted(context, mine->hold);
        return true;
    }
    if (lkc_request_is_stale(mine, req)) {
        context->reply = lkc_reply_of(LKC_STALE);
        return true;
    }
    return false;
}

/* SPEC 9.5. After this, the handle asks as a stranger. */
static void replace(acquire_context *context, const lkc_pair *mine) {
    lkc_loss loss = {false};
    if (mine->waiter) {
        lkc_waiter_remove(context->lock, mine->waiter);
        lkc_record_free(context->lock, mine->waiter);
    }
    if (mine->hold)
        lkc_hold_lose(context->lock, &loss, mine->hold, context->lock->now_us, false);
    lkc_loss_end(context->lock, &loss);
    lkc_settle(context->lock);
}

static lkc_outcome grant(acquire_context *context, lkc_record *hold) {
    lkc_lock *lock = context->lock;
    lkc_grant grant = {
        .mode = context->args->mode, .req = context->args->req, .floor = context->args->floor};
    if (hold) {
        unsigned held = grant.mode == LKC_READ ? hold->hold.reads : hold->hold.writes;
        if (held == LKC_COUNT_MOST)
            return LKC_TOO_DEEP;
        lkc_grant_more(lock, hold, &grant);
    } else {
        grant.begins_life = lkc_life_is_over(lock);
        if (grant.begins_life)
            lock->policy = context->args->policy; /* SPEC 3.1 */
        hold = context->fresh;
        context->fresh = NULL;
        hold->deadline_us = lease_end_us(context);
        lkc_grant_new(lock, hold, &grant);
    }
    lkc_phase_update(lock);
    answer_granted(context, hold);
    return LKC_DONE;
}

static void enqueue(acquire_context *context, const lkc_record *hold, bool upgrade) {
    lkc_lock *lock = context->lock;
    lkc_record *waiter = context->fresh;
    context->fresh = NULL;
    if (hold) { /* SPEC 3.4: even if the request names others */
        lkc_names_give(lock, &lock->owners, waiter->owner);
        lkc_names_give(lock, &lock->groups, waiter->group);
        waiter->owner = lkc_name_share(hold->owner);
        waiter->group = lkc_name_share(hold->group);
    }
    waiter->since_us = lock->now_us;
    waiter->deadline_us = lock->now_us + lkc_liveness_us(context->args->lease_ms); /* SPEC 5.4 */
    waiter->wait.mode = (uint8_t)context->args->mode;
    waiter->wait.req = context->args->req;
    waiter->wait.liveness_ms = (uint16_t)lkc_min(context->args->lease_ms, LKC_LIVENESS_MS);
    lkc_waiter_add(lock, waiter, upgrade);
    lock->floor = lkc_max(lock->floor, context->args->floor); /* SPEC 8.1 */
    answer_queued(context, waiter);
}

/* Whether a compatible request is granted at once, though others may wait. */
static bool may_pass(const lkc_lock *lock, const lkc_name *owner, lkc_mode mode) {
    if (mode == LKC_WRITE || owner->count > 0)
        return true; /* SPEC 3.3, 3.4 */
    return !lock->upgrade && !lock->readers.root &&
           (!lock->writers.root || lock->policy == LKC_PREFER_READER); /* SPEC 3.2, 4.2 */
}

static lkc_outcome decide(acquire_context *context) {
    lkc_lock *lock = context->lock;
    const lkc_acquire_args *args = context->args;
    lkc_pair mine = lkc_pair_find(lock, &args->handle);
    if (answer_by_number(context, &mine))
        return LKC_DONE;
    if (args->fence != 0 && !lkc_request_means(mine.hold, args->fence)) { /* SPEC 9.5 */
        context->reply = lkc_reply_of(LKC_NOT_HELD);
        return LKC_DONE;
    }
    if (args->fence == 0 && (mine.hold || mine.waiter)) {
        replace(context, &mine);
        mine = (lkc_pair){NULL, NULL};
    }

    const lkc_record *record = mine.hold ? mine.hold : context->fresh;
    if (lkc_is_compatible(lock, record->owner, record->group, args->mode) &&
        may_pass(lock, record->owner, args->mode))
        return grant(context, mine.hold);
    bool upgrade = args->mode == LKC_WRITE && record->owner->count > 0; /* SPEC 4.1 */
    if (upgrade && lock->upgrade)
        context->reply = lkc_reply_of(LKC_DEADLOCK); /* SPEC 4.4 */
    else if (args->wait)
        enqueue(context, mine.hold, upgrade);
    else
        context->reply = (lkc_reply){.answer = LKC_BUSY, .ms = lkc_next_ms(lock)};
    return LKC_DONE;
}

lkc_outcome lkc_lock_acquire(lkc_lock *lock, uint64_t now_us, const lkc_acquire_args *args,
                             lkc_reply *reply) {
    acquire_context context = {.lock = lock, .args = args};
    lkc_events_clear(lock);
    context.fresh = lkc_record_new(lock, &args->handle, args->owner, args->group, args->who);
    if (!context.fresh)
        return LKC_NO_MEMORY;
    lkc_operation_begin(lock, now_us);
    lkc_outcome outcome = decide(&context);
    if (context.fresh)
        lkc_record_free(lock, context.fresh);
    lkc_operation_end(lock, context.told);
    if (outcome == LKC_DONE)
        *reply = context.reply;
    return outcome;
}
