/* See walk_judge.h. */
#include "walk_judge.h"

#include "differential_cast.h"

#define HOUR_US UINT64_C(3600000000)

enum { REQUESTS_MOST = 100 }; /* more than enough to release everything */

/* After an operation. */

void judge_look(const walk_world *world, walk_before *out) {
    *out = (walk_before){.fence_most = world->fence_most};
    for (int i = 0; i < WALK_HANDLES; i++) {
        lkc_pair pair = world_pair(world, i);
        const lkc_record *hold = pair.hold;
        out->of[i].waits = pair.waiter;
        if (!hold)
            continue;
        out->of[i].holds = true;
        out->of[i].lives = hold->deadline_us > world->now_us + 1; /* an acquire takes 1 us */
        out->of[i].reads = hold->hold.reads;
        out->of[i].writes = hold->hold.writes;
        out->of[i].fence = hold->hold.fence;
        out->of[i].since_us = hold->since_us;
    }
}

static bool same_text(lkc_text a, lkc_text b) {
    return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

/* SPEC 2, from the holds alone. */
static const char *check_exclusion(const walk_world *world) {
    for (int i = 0; i < WALK_HANDLES; i++) {
        const lkc_record *mine = world_pair(world, i).hold;
        for (int j = 0; mine && j < WALK_HANDLES; j++) {
            const lkc_record *other = world_pair(world, j).hold;
            if (!other || same_text(world_owner(i), world_owner(j)))
                continue;
            if (mine->hold.writes > 0)
                return "two owners hold, and one writes";
            if (mine->hold.reads > 0 && other->hold.reads > 0 &&
                !same_text(world_group(i), world_group(j)))
                return "two owners read in different groups";
        }
    }
    return NULL;
}

/*
 * A limit that SPEC states: a life that begins in the very us of the fence before it has the same
 * fence. Such a life begins when nobody but its own handle has a hold or a waiter.
 */
static bool begins_at_last_fence(const walk_world *world, const walk_before *before, int handle) {
    bool alone = before->fence_most == world->now_us;
    for (int i = 0; i < WALK_HANDLES; i++)
        alone = alone && (i == handle || (!before->of[i].holds && !before->of[i].waits));
    return alone;
}

/* SPEC 8: the fences that this request drew. */
static const char *check_fences(const walk_world *world, const walk_before *before) {
    uint64_t drawn[WALK_HANDLES];
    size_t count = 0;
    for (int i = 0; i < WALK_HANDLES; i++) {
        const lkc_record *hold = world_pair(world, i).hold;
        if (!hold)
            continue;
        bool anew = !before->of[i].holds || before->of[i].since_us != hold->since_us;
        uint64_t fence = hold->hold.fence;
        if (anew && fence < before->fence_most)
            return "the fence of a new hold is below an earlier fence";
        if (hold->hold.writes > 0 && (anew || before->of[i].writes == 0)) {
            if (fence <= before->fence_most && !begins_at_last_fence(world, before, i))
                return "the fence of a new write is not above every earlier fence";
            for (size_t k = 0; k < count; k++)
                if (drawn[k] == fence)
                    return "two new writes have the same fence";
            drawn[count++] = fence;
        } else if (!anew && fence != before->of[i].fence) {
            return "the fence of a hold has changed without a new write";
        }
    }
    return NULL;
}

static bool is_repetition(const walk_request *request) {
    return request->kind == WALK_AGAIN_GRANTED || request->kind == WALK_AGAIN_LAST ||
           request->kind == WALK_RENEW_HOLD || request->kind == WALK_RENEW_WAITER;
}

/* The answer to a handle that has this hold now; or NULL. */
static const char *check_answer(const walk_before *before, const walk_request *request,
                                const lkc_record *hold) {
    unsigned reads = hold ? hold->hold.reads : 0, writes = hold ? hold->hold.writes : 0;
    int i = request->handle;
    if (request->reply.answer == LKC_GRANTED && (!hold || hold->hold.fence != request->reply.fence))
        return "granted was answered, and there is no such hold";
    if (request->reply.answer == LKC_GRANTED && request->op == LKC_OP_ACQUIRE &&
        !is_repetition(request) && (request->mode == LKC_READ ? reads : writes) == 0)
        return "granted was answered, and there is no such count";
    if (request->reply.answer == LKC_RELEASED &&
        (request->reply.reads != reads || request->reply.writes != writes))
        return "released was answered with other counts than are left";
    if (is_repetition(request) && before->of[i].lives && !before->of[i].waits &&
        (reads != before->of[i].reads || writes != before->of[i].writes))
        return "a repeated request or a renewal has changed a count";
    if (is_repetition(request) && before->of[i].lives && !before->of[i].waits &&
        (request->reply.answer == LKC_STALE || request->reply.answer == LKC_NOT_HELD))
        return "a repeated request or a renewal was refused";
    return NULL;
}

/* SPEC 5.3: a client that does not claim its grant keeps the others out for a second at most. */
static const char *check_claims(const walk_world *world, const walk_before *before,
                                const walk_request *request) {
    for (int i = 0; i < WALK_HANDLES; i++) {
        const lkc_record *hold = world_pair(world, i).hold;
        if (hold && i != request->handle && !before->of[i].lives &&
            hold->deadline_us != world->now_us + WALK_SECOND_US)
            return "a hold that settling granted does not last a second";
    }
    return NULL;
}

/* Nobody but its own client, a forced release or its deadline takes a hold from a handle. */
static const char *check_bystanders(const walk_world *world, const walk_before *before,
                                    const walk_request *request) {
    for (int i = 0; request->op != LKC_OP_FORCE && i < WALK_HANDLES; i++) {
        const lkc_record *hold = world_pair(world, i).hold;
        if (i == request->handle || !before->of[i].lives)
            continue;
        if (!hold || hold->hold.reads < before->of[i].reads ||
            hold->hold.writes < before->of[i].writes)
            return "a request of one handle has taken a count from another handle";
    }
    return NULL;
}

const char *judge_request(const walk_world *world, const walk_before *before,
                          const walk_request *request) {
    if (request->is_time)
        return NULL;
    const char *fault = lkc_lock_check(world->lock, world->now_us);
    if (!fault)
        fault = check_exclusion(world);
    if (!fault)
        fault = check_fences(world, before);
    if (!fault)
        fault = check_claims(world, before, request);
    if (!fault)
        fault = check_bystanders(world, before, request);
    if (!fault && request->op != LKC_OP_FORCE)
        fault = check_answer(before, request, world_pair(world, request->handle).hold);
    return fault;
}

/* What comes of a state. */

typedef struct {
    uint64_t wanted[WALK_HANDLES]; /* the number of the waiter; 0: none, or it was granted */
} waiting;

static void note_grant(const lkc_event *event, void *context) {
    waiting *all = context;
    for (int i = 0; i < WALK_HANDLES; i++) {
        lkc_handle handle = world_handle(i);
        if (event->kind == LKC_EVENT_GRANTED && all->wanted[i] == event->req &&
            lkc_handle_is(&handle, &event->handle))
            all->wanted[i] = 0;
    }
}

/* Releases one count of the first handle that holds. False: nobody holds. */
static bool release_one(walk_world *world, const char **fault) {
    for (int i = 0; i < WALK_HANDLES; i++) {
        const lkc_record *hold = world_pair(world, i).hold;
        if (!hold)
            continue;
        walk_request request = {.handle = i,
                                .op = LKC_OP_RELEASE,
                                .req = world->number + 1,
                                .fence = hold->hold.fence,
                                .mode = hold->hold.writes > 0 ? LKC_WRITE : LKC_READ,
                                .told = true};
        world_send(world, &request);
        if (request.reply.answer != LKC_RELEASED)
            *fault = "a holder cannot release";
        return true;
    }
    return false;
}

static const char *release_all(walk_world *world, waiting *all) {
    const char *fault = NULL;
    for (int i = 0; i < REQUESTS_MOST && !fault; i++) {
        if (!release_one(world, &fault))
            return NULL;
        lkc_lock_events(world->lock, note_grant, all);
    }
    return fault ? fault : "the holders release for ever";
}

static const char *check_waiters(walk_world *world) {
    waiting all = {{0}};
    for (int i = 0; i < WALK_HANDLES; i++) {
        const lkc_record *waiter = world_pair(world, i).waiter;
        if (waiter && waiter->role == LKC_ROLE_WAITER)
            all.wanted[i] = waiter->wait.req;
    }
    const char *fault = release_all(world, &all);
    for (int i = 0; !fault && i < WALK_HANDLES; i++)
        if (all.wanted[i] != 0)
            fault = "all holders release, and a waiter is never granted";
    return fault;
}

static void touch(walk_world *world) {
    walk_request request = {.op = LKC_OP_FORCE, .owner = cast_text("nobody")};
    world_send(world, &request);
}

/* An hour after the last deadline nothing is left, whatever was there (SPEC 7.3). */
static const char *check_nothing_left(walk_world *world) {
    world->now_us += HOUR_US + (WALK_LEASE_MS + 2) * LKC_MS_US;
    if (lkc_lock_expires_ms(world->lock) * LKC_MS_US > world->now_us)
        return "an hour after the last deadline the lock has not expired";
    touch(world);
    if (lkc_lock_expires_ms(world->lock) != 0 || world->lock->handles.root)
        return "an hour after the last deadline something is left";
    if (world_end(world) > 0)
        return "the lock has not given back all of its memory";
    return NULL;
}

static const char *check_giving_up(walk_world *world) {
    waiting nobody = {{0}};
    for (int i = 0; i < WALK_HANDLES; i++) {
        const lkc_record *waiter = world_pair(world, i).waiter;
        if (!waiter)
            continue;
        walk_request request = {
            .handle = i, .op = LKC_OP_CANCEL, .req = world->number + 1, .target = waiter->wait.req};
        world_send(world, &request);
        if (world_pair(world, i).waiter)
            return "a waiter was cancelled, and still waits";
    }
    const char *fault = release_all(world, &nobody);
    const lkc_lock *lock = world->lock;
    if (!fault)
        touch(world); /* SPEC 7.1: it forgets a fence that the clock has reached meanwhile */
    if (!fault && !lock->marked && lkc_lock_expires_ms(lock) != 0 && lock->fence <= world->now_us)
        fault = "everybody has released and cancelled, and something is left";
    return fault ? fault : check_nothing_left(world);
}

const char *judge_future(walk_world *world) {
    static walk_world saved;
    const char *fault = NULL;
    saved = *world;
    if (!world_has_expired(world)) { /* otherwise the next request drops some of them */
        fault = check_waiters(world);
        *world = saved;
        if (!fault)
            fault = check_giving_up(world);
        *world = saved;
    }
    if (!fault)
        fault = check_nothing_left(world);
    *world = saved;
    return fault;
}
