/* `latchkey ls`: one line for each lock, or with -l for each holder. */
#include "command.h"
#include "common.h"
#include "duration.h"
#include "exits.h"
#include "holders.h"
#include "say.h"
#include "show.h"
#include "snapshot.h"
#include "table.h"

#include <stdio.h>

static const option options[] = {
    {'l', "long", NULL, "one line for each holder: program, host, process, time"},
    HOLDER_OPTIONS,
    {'j', "json", NULL, "print JSON, one object for each line"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    bool holders;
    holder_filter filter;
} settings;

static int take_option(void *arg, const option *row, char *value) {
    settings *wanted = arg;
    int code = holder_filter_take_option(&wanted->filter, row, value);
    wanted->holders = wanted->holders || wanted->filter.given || option_is(row, "long");
    return code == 0 ? common_take_option(&wanted->common, row, value) : code;
}

static void add_row(table *rows, const lk_info *info) {
    char oldest[DURATION_SIZE];
    table_add(rows, "%s", info->name);
    table_add(rows, "%s", show_state(info));
    table_add(rows, "%zu", info->holder_total);
    table_add(rows, "%zu", info->waiter_total);
    table_add(rows, "%s",
              info->waiter_total ? duration_write(show_oldest_wait_ms(info), oldest) : "-");
}

static int print_table(const snapshot *seen) {
    static const char *const headings[] = {"LOCK",     "MODE",         ">HOLDERS",
                                           ">WAITERS", ">OLDEST WAIT", NULL};
    table *rows = table_new(headings);
    if (!rows)
        return say_failure(EXIT_BROKEN, "out of memory");
    for (size_t i = 0; i < seen->count; i++)
        add_row(rows, seen->locks[i]);
    table_print(rows, stdout);
    table_free(rows);
    return 0;
}

static int print_objects(const snapshot *seen) {
    int code = 0;
    for (size_t i = 0; i < seen->count && code == 0; i++)
        code = show_json(show_summary(seen->locks[i]));
    return code;
}

static int print_locks(const snapshot *seen, bool json) {
    if (!seen->count)
        return 0;
    return json ? print_objects(seen) : print_table(seen);
}

/* Without a pattern or filter, an empty list is a success. */
static int report_nothing(const char *pattern, const holder_filter *filter) {
    if (filter->given && pattern)
        return say_failure(EXIT_FINDING, "no holder matches the options in the locks that match %s",
                           pattern);
    if (filter->given)
        return say_failure(EXIT_FINDING, "no holder matches the options");
    return pattern ? say_failure(EXIT_FINDING, "no lock matches %s", pattern) : 0;
}

/* Each lock is inspected only once, also with -l and filters. */
static int list(lk_client *client, const char *pattern, const settings *wanted) {
    snapshot *seen;
    lk_status status = snapshot_take(client, pattern, &seen);
    if (status != LK_OK)
        return say_sentence(status, snapshot_error(status));
    size_t shown = seen->count;
    int code = wanted->holders ? holders_print(seen, &wanted->filter, wanted->common.json, &shown)
                               : print_locks(seen, wanted->common.json);
    if (code == 0 && !shown)
        code = report_nothing(pattern, &wanted->filter);
    snapshot_free(seen);
    return code;
}

static int run(int count, char **words) {
    settings wanted = {.filter = HOLDER_FILTER_NONE};
    lk_client *client;
    int rest;
    int code = options_parse(options, false, count, words, take_option, &wanted, &rest);
    if (code == 0 && words[rest] && words[rest + 1])
        code = say_usage(
            "only one pattern is allowed, and %s is a second one; quote the pattern for the shell",
            words[rest + 1]);
    if (code == 0)
        code = common_open(&wanted.common, &client);
    if (code != 0)
        return code;
    code = list(client, words[rest], &wanted);
    lk_close(client);
    return code;
}

const command ls_command = {
    .name = "ls",
    .arguments = "[PATTERN]",
    .summary = "list locks: mode, holders, waiters, longest wait",
    .text =
        "Lists all locks that have a holder or a waiter, or that a writer left abandoned. PATTERN\n"
        "works as in the shell: *, ?, [a-z]. With -l there is one line for each holder. Options\n"
        "that select holders imply -l; a holder must match all of them. The exit code is 1 if a\n"
        "pattern or such an option is given and nothing matches.",
    .examples = "  latchkey ls                  # all locks\n"
                "  latchkey ls 'deploy:*'       # only these\n"
                "  latchkey ls --host web3 --held-for 10m   # who on web3 forgot to release?\n"
                "  latchkey ls --json | jq -r 'select(.waiters > 0).name'\n",
    .options = options,
    .run = run,
};
