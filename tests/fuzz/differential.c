/*
 * Does the same at random to two forms of the lock, the C core and the Lua scripts in a server, and
 * fails when they differ in a single byte of what they answer, send or leave behind.
 *
 *   differential --seed N --steps N [--server BINARY] [--indexed] [--trace]
 *
 * A seed always means the same steps, as long as the core answers the same. After a difference the
 * steps that led to it are shortened and printed. Runs of many steps also fail when they miss
 * something that they should have met (differential_cover.h). With --trace each step is printed
 * before it is run: for a fault that ends the program.
 */
#include "differential_cover.h"
#include "differential_generate.h"
#include "differential_shrink.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_NOT_THERE = 77 };
enum { SHRINK_MOST_S = 30, COVERED_FROM = 50000, PROGRESS_EACH = 1000 };

enum { INDEX_OUTLIVES_US = 9000000 };

typedef struct {
    uint64_t seed, steps;
    const char *server;
    bool indexed, trace;
} settings;

typedef struct {
    const settings *set;
    form_pair pair;
    generator make;
    cover seen;
    step_list round; /* the steps since the forms were empty */
    uint64_t done;
} run;

static void print_step(uint64_t number, const step *one) {
    test_text line = {0};
    step_print(&line, one);
    printf("%4" PRIu64 "  %s\n", number, line.bytes);
    fflush(stdout);
    free(line.bytes);
}

static void show_progress(const run *all) {
    if (all->done % PROGRESS_EACH == 0 && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " steps", all->done, all->set->steps);
}

/* One step; how the forms differ, or NULL. */
static char *go_on(run *all) {
    step *one = step_list_add(&all->round);
    generator_next(&all->make, one);
    if (all->set->trace)
        print_step(all->done + 1, one);
    char *text = form_pair_run(&all->pair, one);
    if (text)
        return text;
    belief before = all->make.known;
    belief_learn(&all->make.known, one, &all->pair);
    cover_step(&all->seen, &before, &all->make.known, one, &all->pair);
    all->done++;
    show_progress(all);
    return NULL;
}

static char *run_round(run *all) {
    char *text = NULL;
    form_pair_reset(&all->pair);
    step_list_clear(&all->round);
    generator_begin_round(&all->make);
    while (!text && !generator_round_is_over(&all->make) && all->done < all->set->steps)
        text = go_on(all);
    return text ? text : form_pair_empty(&all->pair, generator_end_us(&all->make));
}

static void report(run *all, char *text) {
    printf("\nseed %" PRIu64 ", step %" PRIu64 ", after %zu others on empty forms:\n%s",
           all->set->seed, all->done + 1, all->round.count - 1, text);
    free(text);
    fflush(stdout);
    text = shrink_run(&all->pair, &all->round, SHRINK_MOST_S);
    printf("\nthe shortest list of steps that was found to fail:\n");
    for (size_t i = 0; i < all->round.count; i++)
        print_step(i + 1, &all->round.steps[i]);
    printf("%s", text);
    free(text);
}

static int judge(const run *all, double seconds) {
    size_t never = cover_print(&all->seen);
    printf("seed %" PRIu64 ": %" PRIu64 " steps without a difference in %.1f s, %.0f us each\n",
           all->set->seed, all->done, seconds, seconds * 1e6 / (double)all->done);
    if (never == 0 || all->done < COVERED_FROM)
        return EXIT_SUCCESS;
    printf("but %zu of the things above were never seen\n", never);
    return EXIT_FAILURE;
}

static double clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run_forms(const settings *set, lock_form *core, lock_form *scripts) {
    run all = {.set = set, .pair = {.first = core, .second = scripts}};
    double started = clock_now();
    char *text = NULL;
    /* SPEC 11.2: the index is gone 10 s after the last deadline, also if the clock then goes back. */
    generator_begin(&all.make, set->seed, set->indexed ? INDEX_OUTLIVES_US : UINT64_MAX / 4);
    cover_begin(&all.seen);
    while (!text && all.done < set->steps)
        text = run_round(&all);
    int status = EXIT_FAILURE;
    if (text)
        report(&all, text);
    else
        status = judge(&all, clock_now() - started);
    form_pair_reset(&all.pair);
    step_list_clear(&all.round);
    cover_end(&all.seen);
    return status;
}

static bool to_number(const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *text >= '0' && *text <= '9' && *end == '\0';
}

static bool read_settings(int count, char **words, settings *out) {
    static const struct option options[] = {{"seed", required_argument, NULL, 'n'},
                                            {"steps", required_argument, NULL, 'c'},
                                            {"server", required_argument, NULL, 's'},
                                            {"indexed", no_argument, NULL, 'i'},
                                            {"trace", no_argument, NULL, 't'},
                                            {NULL, 0, NULL, 0}};
    bool seed = false, steps = false;
    for (int option; (option = getopt_long(count, words, "", options, NULL)) != -1;) {
        if (option == 'n')
            seed = to_number(optarg, &out->seed);
        else if (option == 'c')
            steps = to_number(optarg, &out->steps) && out->steps > 0;
        else if (option == 's')
            out->server = optarg;
        else if (option == 'i')
            out->indexed = true;
        else if (option == 't')
            out->trace = true;
        else
            return false;
    }
    return seed && steps && optind == count;
}

int main(int count, char **words) {
    settings set = {.server = "redis-server"};
    if (!read_settings(count, words, &set)) {
        fprintf(stderr, "usage: %s --seed N --steps N [--server BINARY] [--indexed] [--trace]\n", words[0]);
        return EXIT_USAGE;
    }
    if (!test_server_available(set.server)) {
        fprintf(stderr, "there is no %s\n", set.server);
        return EXIT_NOT_THERE;
    }
    test_server *server = test_server_start(set.server, NULL);
    lock_form *scripts = server ? form_scripts_new(server, set.indexed) : NULL;
    int status = EXIT_FAILURE;
    if (scripts) {
        lock_form *core = form_core_new();
        status = run_forms(&set, core, scripts);
        form_free(core);
        form_free(scripts);
    }
    test_server_stop(server);
    return status;
}
