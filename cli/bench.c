/*
 * `latchkey bench`: what locks cost on this server, from here. The workloads need nothing but the
 * library; each figure is also told as a multiple of a round trip of the same run.
 */
#include "bench_work.h"
#include "command.h"
#include "common.h"
#include "duration.h"
#include "exits.h"
#include "say.h"
#include "show.h"
#include "table.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const option options[] = {
    {'t', "time", "TIME", "how long each workload runs; 2s"},
    {'T', "threads", "N", "of the workloads with many, 2 to 256; 16"},
    {'j', "json", NULL, "an object for each workload, one a line"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    bench_plan plan;
} wishes;

static int take_threads(const char *value, size_t *threads) {
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    if (*end || end == value || *value == '-' || number < 2 || number > BENCH_THREADS_MOST)
        return say_usage("--threads %s: it must be 2 to %d", value, BENCH_THREADS_MOST);
    *threads = number;
    return 0;
}

static int taken(void *arg, const option *row, char *value) {
    wishes *wanted = arg;
    if (option_is(row, "threads"))
        return take_threads(value, &wanted->plan.threads);
    if (option_is(row, "time")) {
        if (!duration_read(value, &wanted->plan.run_ms) || wanted->plan.run_ms == 0)
            return say_usage("--time %s is no time; write 2, 0.5, 500ms or 1m", value);
        return 0;
    }
    return common_taken(&wanted->common, row, value);
}

/* One that was ignored when we started stays so. */
static void hear_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = bench_end, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

static int print_json(const bench_result *result, double floor_us) {
    return show_json(json_pack("{s:s,s:I,s:f,s:f,s:f,s:f,s:f}", "workload", result->name,
                               "operations", (json_int_t)result->count, "per_second",
                               result->per_second, "p50_us", result->p50_us, "p99_us",
                               result->p99_us, "longest_us", result->longest_us, "round_trips",
                               result->p50_us / floor_us));
}

static void add_row(table *rows, const bench_result *result, double floor_us) {
    table_add(rows, "%s", result->text);
    table_add(rows, "%.0f", result->per_second);
    table_add(rows, "%.0f", result->p50_us);
    table_add(rows, "%.0f", result->p99_us);
    table_add(rows, "%.0f", result->longest_us);
    table_add(rows, "%.1f", result->p50_us / floor_us);
}

/* Returns 0, or the code to end with. */
static int measure(lk_client *client, const bench_workload *load, const bench_plan *plan,
                   bench_result *result) {
    say_progress("%s", load->text);
    lk_status status = bench_measure(client, load, plan, result);
    say_progress(NULL);
    if (status == LK_CANCELED)
        return EXIT_BY_SIGNAL + bench_ended_by();
    return status == LK_OK ? 0 : say_sentence(status, result->error);
}

/* A workload takes a while: each object is written at once, and nobody who has left is measured for. */
static int measure_all(lk_client *client, const wishes *wanted) {
    static const char *const headings[] = {"WORKLOAD", ">A SECOND",    ">P50 µs", ">P99 µs",
                                           ">LONGEST", ">ROUND TRIPS", NULL};
    table *rows = table_new(headings);
    double floor_us = 0;
    int code = rows ? 0 : say_failure(EXIT_BROKEN, "out of memory");
    for (size_t i = 0; code == 0 && !ferror(stdout) && i < bench_workload_count; i++) {
        bench_result result;
        code = measure(client, &bench_workloads[i], &wanted->plan, &result);
        floor_us = i == 0 ? result.p50_us : floor_us;
        if (code == 0 && wanted->common.json) {
            code = print_json(&result, floor_us);
            fflush(stdout);
        } else if (code == 0) {
            add_row(rows, &result, floor_us);
        }
    }
    if (code == 0 && !wanted->common.json)
        table_print(rows, stdout);
    table_free(rows);
    return code;
}

static int run(int count, char **words) {
    wishes wanted = {.plan = {.run_ms = 2000, .threads = 16}};
    lk_client *client;
    int rest;
    int code = options_parse(options, false, count, words, taken, &wanted, &rest);
    if (code == 0 && words[rest])
        code = say_usage("%s: bench takes options alone", words[rest]);
    if (code == 0)
        code = common_open(&wanted.common, &client);
    if (code != 0)
        return code;
    hear_signals();
    code = measure_all(client, &wanted);
    lk_close(client);
    return code;
}

const command bench_command = {
    .name = "bench",
    .arguments = "",
    .summary = "what locks cost on this server, from here",
    .text = "Takes and gives back locks whose names begin with latchkey-bench: for a while, and "
            "prints how\n"
            "many went through a second and how long each took. ROUND TRIPS: the median, as a "
            "multiple\n"
            "of a bare question to the server in the same run. It loads the server; do not\n"
            "run it where others wait for theirs.",
    .examples = "  latchkey bench                        # the private server\n"
                "  latchkey bench -u redis://db1 -t 10s  # another one, for longer\n",
    .options = options,
    .run = run,
};
