/* See walk_sample.h. */
#include "walk_sample.h"

#include "differential_cast.h"
#include "differential_pair.h"
#include "differential_random.h"

#include <stdio.h>
#include <stdlib.h>

#define LONG_AFTER_US UINT64_C(7200000000)

enum { SEED = 1 };

/*
 * A sequence of the walk ends with an operation that led to a new state. Operations that lead back
 * to a known one are played only if something random follows.
 */
enum { FURTHER_OPS = 3 };

static const char *const policy_names[] = {[LKC_FAIR] = "fair",
                                           [LKC_PHASE_FAIR] = "phase-fair",
                                           [LKC_PREFER_WRITER] = "prefer-writer",
                                           [LKC_PREFER_READER] = "prefer-reader"};

static void add_acquire(step *one, const walk_world *world, const walk_request *request) {
    step_add_number(one, request->req);
    step_add_number(one, request->fence);
    step_add(one, cast_text(request->mode == LKC_READ ? "read" : "write"));
    step_add_number(one, request->wait);
    step_add_number(one, WALK_LEASE_MS);
    step_add(one, cast_text(policy_names[world->policy]));
    step_add_number(one, 0); /* floor */
    step_add(one, world_owner(request->handle));
    step_add(one, world_group(request->handle));
    step_add(one, cast_text("")); /* who */
}

static void make_step(step *one, const walk_world *world, const walk_request *request) {
    one->now_us = world->now_us;
    one->op = request->op;
    step_add_name(one, cast_text("walk"));
    if (request->op == LKC_OP_FORCE) {
        step_add(one, request->owner);
        return;
    }
    step_add(one, world_handle_text(request->handle));
    if (request->op == LKC_OP_ACQUIRE) {
        add_acquire(one, world, request);
    } else if (request->op == LKC_OP_RENEW) {
        step_add_number(one, request->fence);
        step_add_number(one, request->req);
        step_add_number(one, WALK_LEASE_MS);
    } else {
        step_add_number(one, request->req);
        step_add_number(one, request->op == LKC_OP_CANCEL ? request->target : request->fence);
    }
    if (request->op == LKC_OP_RELEASE) {
        step_add(one, cast_text(request->mode == LKC_READ ? "read" : "write"));
        step_add_number(one, request->told);
    }
}

static void print_steps(const step_list *steps) {
    for (size_t i = 0; i < steps->count; i++) {
        test_text line = {0};
        step_print(&line, &steps->steps[i]);
        printf("%4zu  %s\n", i + 1, line.bytes);
        free(line.bytes);
    }
}

/* One operation in the world and, if it is a request, in both forms. */
static char *play_op(form_pair *pair, walk_world *world, walk_op op, step_list *steps) {
    walk_request request;
    world_run(world, op, &request);
    if (request.is_time)
        return NULL;
    step *one = step_list_add(steps);
    make_step(one, world, &request);
    return form_pair_run(pair, one);
}

/* NULL, or how the forms differ. */
static char *play_path(form_pair *pair, const walk_path *path, random_source *random,
                       step_list *steps) {
    static walk_world world;
    char *text = NULL;
    world_begin(&world, path->policy);
    form_pair_reset(pair);
    for (size_t i = 0; i < path->count && !text; i++)
        text = play_op(pair, &world, path->ops[i], steps);
    for (size_t i = 0; i < FURTHER_OPS && !text; i++) {
        walk_op ops[WALK_OPS_MOST];
        size_t count = world_ops(&world, ops);
        text = play_op(pair, &world, ops[random_below(random, count)], steps);
    }
    return text ? text : form_pair_empty(pair, world.now_us + LONG_AFTER_US);
}

bool sample_play(const walk_store *store, const test_server *server, bool indexed, size_t count) {
    lock_form *scripts = form_scripts_new(server, indexed);
    if (!scripts)
        return false;
    form_pair pair = {.first = form_core_new(), .second = scripts};
    random_source random = {SEED};
    char *text = NULL;
    size_t played = 0, operations = 0;
    for (; played < count && !text; played++) {
        walk_path path;
        step_list steps = {0};
        store_path(store, random_below(&random, store->count), &path);
        text = play_path(&pair, &path, &random, &steps);
        operations += steps.count;
        if (text) {
            printf("\nthe forms differ after these steps on an empty lock:\n");
            print_steps(&steps);
            printf("%s", text);
        }
        step_list_clear(&steps);
    }
    if (!text)
        printf("%s: %zu sequences, %zu requests, no difference\n", form_name(scripts), played,
               operations);
    bool same = !text;
    free(text);
    form_pair_reset(&pair);
    form_free(pair.first);
    form_free(scripts);
    return same;
}
