/*
 * Visits every state that three handles can bring one lock of the core into, breadth first from the
 * empty lock, under each of the four policies, as deep as the time allows.
 *
 *   walk [--seconds N] [--states N] [--one-group] [--sample N] [--server BINARY | --no-server]
 *
 * walk_world.h says who the handles are and what they do, walk_judge.h what is checked, and
 * walk_state.h when two states are the same. After a fault, the operations that led to it are
 * printed: no shorter sequence has one. Then a sample of the sequences is played on the scripts
 * (walk_sample.h).
 */
#include "walk_judge.h"
#include "walk_sample.h"
#include "walk_state.h"
#include "walk_twin.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { EXIT_USAGE = 2, EXIT_NOT_THERE = 77 };
enum { POLICIES = 4 };
enum { TWIN_EACH = 256 }; /* of this many states that were there already, one is compared */

typedef struct {
    uint64_t seconds, states, sample;
    const char *server; /* NULL: without one */
} settings;

static double clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The walk. There is one, because a signal handler must find it. */

static struct {
    walk_store store;
    walk_world world;
    double ends_at;
    uint64_t operations;
    size_t state; /* whose operations are being tried */
    walk_op op;   /* the one that is being tried */
} walk;

static void replay(walk_world *world, const walk_path *path, size_t count) {
    walk_request request;
    world_begin(world, path->policy);
    for (size_t i = 0; i < count; i++)
        world_run(world, path->ops[i], &request);
}

static void print_line(const walk_world *world, const walk_request *request, bool answered) {
    test_text line = {0};
    world_print(&line, world, request, answered);
    printf("%s\n", line.bytes);
    free(line.bytes);
}

/* The way to the present state, and the operation that is being tried there. */
static void print_sequence(bool answered) {
    static const char *const policies[POLICIES] = {"fair", "phase-fair", "prefer-writer",
                                                   "prefer-reader"};
    static walk_world world;
    walk_path path;
    walk_request request;
    store_path(&walk.store, walk.state, &path);
    printf("\nafter these %zu operations on an empty lock, policy %s:\n", path.count + 1,
           policies[path.policy]);
    replay(&world, &path, 0);
    for (size_t i = 0; i < path.count; i++) {
        world_run(&world, path.ops[i], &request);
        print_line(&world, &request, true);
    }
    if (answered)
        world_run(&world, walk.op, &request);
    else
        world_request(&world, walk.op, &request);
    print_line(&world, &request, answered);
}

/*
 * The core has failed an assert or followed a bad pointer, in the operation or in what the judge
 * tried after it. No other thread runs, so the handler may print. The handler is gone then, and the
 * signal ends the program.
 */
static void on_fault(int number) {
    print_sequence(false);
    fflush(stdout);
    raise(number);
}

static void handle_faults(void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGABRT, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
}

/* An earlier sequence has reached the present state too. */
static const char *compare_with(size_t earlier) {
    static walk_world twin;
    walk_path path;
    store_path(&walk.store, earlier, &path);
    replay(&twin, &path, path.count);
    return twin_compare(&walk.world, &twin);
}

static const char *try_op(const walk_before *before) {
    walk_request request;
    bool is_new;
    world_run(&walk.world, walk.op, &request);
    walk.operations++;
    const char *fault = judge_request(&walk.world, before, &request);
    if (fault)
        return fault;
    walk_digest digest = state_digest(&walk.world);
    size_t state = store_add(&walk.store, &digest, walk.state, walk.op, &is_new);
    if (is_new)
        return judge_future(&walk.world);
    return walk.operations % TWIN_EACH == 0 ? compare_with(state) : NULL;
}

/* All operations of one state. */
static const char *visit(size_t state) {
    static walk_world saved;
    walk_path path;
    walk_before before;
    walk_op ops[WALK_OPS_MOST];
    const char *fault = NULL;
    walk.state = state;
    store_path(&walk.store, state, &path);
    replay(&walk.world, &path, path.count);
    judge_look(&walk.world, &before);
    saved = walk.world;
    size_t count = world_ops(&walk.world, ops);
    for (size_t i = 0; i < count && !fault && !store_is_full(&walk.store); i++) {
        walk.op = ops[i];
        fault = try_op(&before);
        walk.world = saved;
    }
    return fault;
}

static bool is_over(void) {
    return clock_now() >= walk.ends_at || store_is_full(&walk.store);
}

/* Returns whether it found no fault. */
static bool run_walk(const settings *set) {
    double started = clock_now();
    size_t begin = 0, depth = 0;
    const char *fault = NULL;
    walk.ends_at = started + (double)set->seconds;
    store_begin(&walk.store, set->states);
    for (unsigned policy = 0; policy < POLICIES; policy++) {
        world_begin(&walk.world, policy);
        walk_digest digest = state_digest(&walk.world);
        bool is_new;
        store_add(&walk.store, &digest, policy, (walk_op)policy, &is_new);
    }
    bool complete = true;
    while (!fault && complete && begin < walk.store.count && depth < WALK_DEPTH_MOST - 1) {
        size_t end = walk.store.count, at = begin;
        for (; at < end && !fault && !is_over(); at++)
            fault = visit(at);
        complete = at == end && !store_is_full(&walk.store);
        depth += complete && !fault;
        printf("depth %2zu%s: %9zu states, %9zu new, %10" PRIu64 " operations, %6.1f s\n",
               depth + (complete ? 0 : 1), complete ? "" : " (in part)", walk.store.count,
               walk.store.count - end, walk.operations, clock_now() - started);
        fflush(stdout);
        begin = end;
    }
    if (fault) {
        print_sequence(true);
        printf("%s\n", fault);
        return false;
    }
    printf("%zu states, %" PRIu64 " operations, every sequence of up to %zu operations%s\n",
           walk.store.count, walk.operations, depth,
           begin == walk.store.count ? ", and no other state can be reached" : "");
    return true;
}

static bool run_sample(const settings *set) {
    test_server *server = test_server_start(set->server, NULL);
    if (!server)
        return false;
    bool same = sample_play(&walk.store, server, false, set->sample) &&
                sample_play(&walk.store, server, true, set->sample);
    test_server_stop(server);
    return same;
}

static bool to_number(const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *text >= '0' && *text <= '9' && *end == '\0';
}

static bool read_settings(int count, char **words, settings *out) {
    static const struct option options[] = {{"seconds", required_argument, NULL, 't'},
                                            {"states", required_argument, NULL, 'm'},
                                            {"one-group", no_argument, NULL, 'g'},
                                            {"sample", required_argument, NULL, 'n'},
                                            {"server", required_argument, NULL, 's'},
                                            {"no-server", no_argument, NULL, 'o'},
                                            {NULL, 0, NULL, 0}};
    bool good = true;
    for (int option; (option = getopt_long(count, words, "", options, NULL)) != -1;) {
        if (option == 't')
            good &= to_number(optarg, &out->seconds);
        else if (option == 'm')
            good &= to_number(optarg, &out->states) && out->states > WALK_OPS_MOST &&
                    out->states < UINT32_MAX;
        else if (option == 'g')
            world_use_one_group();
        else if (option == 'n')
            good &= to_number(optarg, &out->sample);
        else if (option == 's')
            out->server = optarg;
        else if (option == 'o')
            out->server = NULL;
        else
            good = false;
    }
    return good && optind == count;
}

int main(int count, char **words) {
    settings set = {.seconds = 60, .states = 20000000, .sample = 2000, .server = "redis-server"};
    if (!read_settings(count, words, &set)) {
        fprintf(stderr,
                "usage: %s [--seconds N] [--states N] [--one-group] [--sample N] "
                "[--server BINARY | --no-server]\n",
                words[0]);
        return EXIT_USAGE;
    }
    if (set.server && !test_server_available(set.server)) {
        fprintf(stderr, "there is no %s\n", set.server);
        return EXIT_NOT_THERE;
    }
    handle_faults(on_fault);
    bool good = run_walk(&set);
    handle_faults(SIG_DFL);
    if (good && set.server)
        good = run_sample(&set);
    store_end(&walk.store);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
