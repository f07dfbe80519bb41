/*
 * `latchkey bench`: measures the cost of locks on this server, from this machine. Each result is also
 * given as a multiple of a round trip in the same run.
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
    {'t', "time", "TIME", "how long each workload runs. Default: 2s"},
    {'T', "threads", "N", "threads of the parallel workloads, 2 to 256. Default: 16"},
    {'j', "json", NULL, "print JSON, one object for each workload"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    bench_plan plan;
} settings;

static int take_threads(const char *value, size_t *threads) {
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    if (*end || end == value || *value == '-' || number < 2 || number > BENCH_THREADS_MOST)
        return say_usage("--threads %s is not valid; it must be 2 to %d", value,
                         BENCH_THREADS_MOST);
    *threads = number;
    return 0;
}

static int take_option(void *arg, const option *row, char *value) {
    settings *wanted = arg;
    if (option_is(row, "threads"))
        return take_threads(value, &wanted->plan.threads);
    if (option_is(row, "time")) {
        if (!duration_read(value, &wanted->plan.run_ms) || wanted->plan.run_ms == 0)
            return say_usage("--time %s is not a time above 0; write 2, 0.5, 500ms or 1m", value);
        return 0;
    }
    return common_take_option(&wanted->common, row, value);
}

/* A signal that was ignored at the start stays ignored. */
static void handle_signals(void) {
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

/* Returns 0, or the exit code. */
static int measure(lk_client *client, const bench_workload *load, const bench_plan *plan,
                   bench_result *result) {
    say_progress("%s", load->text);
    lk_status status = bench_measure(client, load, plan, result);
    say_progress(NULL);
    if (status == LK_CANCELED)
        return EXIT_BY_SIGNAL + bench_ended_by();
    return status == LK_OK ? 0 : say_sentence(status, result->error);
}

/* Workloads take time: prints each JSON object at once, and stops when the reader has gone. */
static int measure_all(lk_client *client, const settings *wanted) {
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
    settings wanted = {.plan = {.run_ms = 2000, .threads = 16}};
    lk_client *client;
    int rest;
    int code = options_parse(options, false, count, words, take_option, &wanted, &rest);
    if (code == 0 && words[rest])
        code = say_usage("unexpected argument %s; bench takes only options", words[rest]);
    if (code == 0)
        code = common_open(&wanted.common, &client);
    if (code != 0)
        return code;
    handle_signals();
    code = measure_all(client, &wanted);
    lk_close(client);
    return code;
}

const command bench_command = {
    .name = "bench",
    .arguments = "",
    .summary = "measure the cost of locks on this server",
    .text =
        "Acquires and releases locks whose names begin with latchkey-bench: and prints how many\n"
        "operations there were per second and how long each took. ROUND TRIPS is the median\n"
        "divided by the median of a single request to the server in the same run. bench puts load\n"
        "on the server: do not run it on a server that others depend on.",
    .examples = "  latchkey bench                        # the private server\n"
                "  latchkey bench -u redis://db1 -t 10s  # another server, for longer\n",
    .options = options,
    .run = run,
};
