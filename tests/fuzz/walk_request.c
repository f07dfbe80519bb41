/* What the operations of the walk ask of the lock; see walk_world.h. */
#include "differential_cast.h"
#include "form.h"
#include "walk_world.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const kind_texts[] = {
#define WALK_KIND(name, text) [WALK_##name] = text,
    WALK_KINDS(WALK_KIND)
#undef WALK_KIND
};

static const char *const forced[WALK_HANDLES] = {"x", "y", ""};
static const char nobody[] = "nobody";

static lkc_mode mode_of(walk_kind kind) {
    switch (kind) {
    case WALK_ACQUIRE_WRITE:
    case WALK_ACQUIRE_WRITE_WAIT:
    case WALK_FORGET_WRITE:
    case WALK_FORGET_WRITE_WAIT:
    case WALK_RELEASE_WRITE:
    case WALK_RELEASE_UNTOLD:
        return LKC_WRITE;
    default:
        return LKC_READ;
    }
}

/* The repetition of the request that changed the hold last. The number alone decides its mode. */
static void repeat_last(const lkc_record *hold, walk_request *out) {
    static const lkc_op ops[] = {[LKC_BY_ACQUIRE] = LKC_OP_ACQUIRE,
                                 [LKC_BY_RELEASE] = LKC_OP_RELEASE,
                                 [LKC_BY_CONVERT] = LKC_OP_CONVERT};
    out->op = ops[hold->hold.last_by];
    out->req = hold->hold.last;
    out->told = true;
    out->mode = hold->hold.writes > 0 ? LKC_WRITE : LKC_READ;
}

void world_request(const walk_world *world, walk_op op, walk_request *out) {
    int handle = op % WALK_HANDLES;
    walk_kind kind = op / WALK_HANDLES;
    lkc_pair pair = world_pair(world, handle);
    *out = (walk_request){.kind = kind,
                          .handle = handle,
                          .req = world->number + 1,
                          .fence = pair.hold ? pair.hold->hold.fence : 0,
                          .mode = mode_of(kind)};
    switch (kind) {
    case WALK_FORGET_READ:
    case WALK_FORGET_WRITE:
    case WALK_FORGET_READ_WAIT:
    case WALK_FORGET_WRITE_WAIT:
        out->fence = 0;
        out->wait = kind == WALK_FORGET_READ_WAIT || kind == WALK_FORGET_WRITE_WAIT;
        break;
    case WALK_ACQUIRE_READ_WAIT:
    case WALK_ACQUIRE_WRITE_WAIT:
        out->wait = true;
        break;
    case WALK_AGAIN_WAITER:
        out->req = pair.waiter->wait.req;
        out->mode = pair.waiter->wait.mode;
        out->wait = true;
        break;
    case WALK_AGAIN_GRANTED: /* as it was sent: before its client had this hold */
        out->req = pair.hold->hold.granted_for;
        out->fence = 0;
        out->wait = true;
        break;
    case WALK_AGAIN_LAST:
        repeat_last(pair.hold, out);
        break;
    case WALK_RELEASE_READ:
    case WALK_RELEASE_WRITE:
    case WALK_RELEASE_UNTOLD:
        out->op = LKC_OP_RELEASE;
        out->told = kind != WALK_RELEASE_UNTOLD;
        break;
    case WALK_CONVERT:
        out->op = LKC_OP_CONVERT;
        break;
    case WALK_RENEW_HOLD:
        out->op = LKC_OP_RENEW;
        break;
    case WALK_RENEW_WAITER:
        out->op = LKC_OP_RENEW;
        out->fence = 0;
        out->req = pair.waiter ? pair.waiter->wait.req : pair.hold->hold.granted_for;
        break;
    case WALK_CANCEL:
        out->op = LKC_OP_CANCEL;
        out->target = pair.waiter->wait.req;
        break;
    case WALK_FORCE:
    case WALK_TOUCH:
        out->op = LKC_OP_FORCE;
        out->owner = cast_text(kind == WALK_FORCE ? forced[handle] : nobody);
        break;
    case WALK_SECOND:
    case WALK_END:
        out->is_time = true;
        break;
    default:
        break;
    }
}

static void send_acquire(walk_world *world, walk_request *request) {
    lkc_acquire_args args = {.handle = world_handle(request->handle),
                             .req = request->req,
                             .fence = request->fence,
                             .mode = request->mode,
                             .wait = request->wait,
                             .lease_ms = WALK_LEASE_MS,
                             .policy = world->policy,
                             .owner = world_owner(request->handle),
                             .group = world_group(request->handle)};
    if (lkc_lock_acquire(world->lock, world->now_us, &args, &request->reply) != LKC_DONE)
        abort();
}

static void send_other(walk_world *world, walk_request *request) {
    lkc_handle handle = world_handle(request->handle);
    lkc_reply *out = &request->reply;
    uint64_t req = request->req, fence = request->fence;
    lkc_outcome outcome = LKC_DONE;
    if (request->op == LKC_OP_RELEASE)
        outcome = lkc_lock_release(
            world->lock, world->now_us,
            &(lkc_release_args){handle, req, fence, request->mode, request->told}, out);
    else if (request->op == LKC_OP_CONVERT)
        outcome = lkc_lock_convert(world->lock, world->now_us,
                                   &(lkc_convert_args){handle, req, fence}, out);
    else if (request->op == LKC_OP_RENEW)
        outcome = lkc_lock_renew(world->lock, world->now_us,
                                 &(lkc_renew_args){handle, fence, req, WALK_LEASE_MS}, out);
    else if (request->op == LKC_OP_CANCEL)
        outcome = lkc_lock_cancel(world->lock, world->now_us,
                                  &(lkc_cancel_args){handle, req, request->target}, out);
    else
        outcome = lkc_lock_force(world->lock, world->now_us, request->owner, out);
    if (outcome != LKC_DONE)
        abort();
}

void world_send(walk_world *world, walk_request *request) {
    world->now_us += request->op == LKC_OP_ACQUIRE;
    world->number = lkc_max(world->number, request->req);
    if (request->op == LKC_OP_ACQUIRE)
        send_acquire(world, request);
    else
        send_other(world, request);
    for (int i = 0; i < WALK_HANDLES; i++) {
        lkc_pair pair = world_pair(world, i);
        if (pair.hold)
            world->fence_most = lkc_max(world->fence_most, pair.hold->hold.fence);
    }
}

void world_run(walk_world *world, walk_op op, walk_request *done) {
    world_request(world, op, done);
    if (done->kind == WALK_SECOND)
        world->now_us += WALK_SECOND_US;
    else if (done->kind == WALK_END)
        world->now_us = lkc_lock_expires_ms(world->lock) * LKC_MS_US;
    else
        world_send(world, done);
}

/* Printing. */

static void print_reply(test_text *out, const lkc_reply *answer) {
    static const char *const words[] = {
        [LKC_GRANTED] = "granted",   [LKC_QUEUED] = "queued",     [LKC_BUSY] = "busy",
        [LKC_DEADLOCK] = "deadlock", [LKC_NOT_HELD] = "not held", [LKC_STALE] = "stale",
        [LKC_RELEASED] = "released", [LKC_LEASE] = "renewed",     [LKC_CANCELLED] = "cancelled",
        [LKC_FORCED] = "forced",
    };
    test_text_print(out, ": %s", words[answer->answer]);
    if (answer->answer == LKC_GRANTED)
        test_text_print(out, ", fence start+%" PRIu64, answer->fence - FORM_CLOCK_START_US);
    else if (answer->answer == LKC_QUEUED)
        test_text_print(out, " at place %zu", answer->place);
    else if (answer->answer == LKC_RELEASED)
        test_text_print(out, ", left: %u reads, %u writes", answer->reads, answer->writes);
}

void world_print(test_text *out, const walk_world *world, const walk_request *request,
                 bool answered) {
    uint64_t at_us = world->now_us - FORM_CLOCK_START_US;
    const char *subject = world_label(request->handle);
    if (request->kind == WALK_FORCE)
        subject = request->owner.length > 0 ? forced[request->handle] : "everyone";
    else if (request->kind == WALK_TOUCH)
        subject = nobody;
    test_text_print(out, "%4" PRIu64 ".%06" PRIu64 " s  %s%s%s", at_us / WALK_SECOND_US,
                    at_us % WALK_SECOND_US, request->is_time ? "" : subject,
                    request->is_time ? "" : " ", kind_texts[request->kind]);
    if (answered && !request->is_time)
        print_reply(out, &request->reply);
}
