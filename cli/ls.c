/* `latchkey ls`: every lock, a line each; with -l, every holder. */
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
    {'l', "long", NULL, "a line for each holder: who, where, since when"},
    HOLDER_OPTIONS,
    {'j', "json", NULL, "an object for each line"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    bool holders;
    holder_filter filter;
} wishes;

static int taken(void *arg, const option *row, char *value) {
    wishes *wanted = arg;
    int code = holder_filter_taken(&wanted->filter, row, value);
    wanted->holders = wanted->holders || wanted->filter.given || option_is(row, "long");
    return code == 0 ? common_taken(&wanted->common, row, value) : code;
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

/* To a question, nothing is an answer too, and a script should notice it. */
static int report_nothing(const char *pattern, const holder_filter *filter) {
    if (filter->given && pattern)
        return say_failure(EXIT_FINDING, "no holder of a lock called %s fits", pattern);
    if (filter->given)
        return say_failure(EXIT_FINDING, "no holder fits");
    return pattern ? say_failure(EXIT_FINDING, "no lock is called %s", pattern) : 0;
}

/* One walk: each lock is inspected once, and what it says is all that is chosen from. */
static int list(lk_client *client, const char *pattern, const wishes *wanted) {
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
    wishes wanted = {.filter = HOLDER_FILTER_NONE};
    lk_client *client;
    int rest;
    int code = options_parse(options, false, count, words, taken, &wanted, &rest);
    if (code == 0 && words[rest] && words[rest + 1])
        code = say_usage("one pattern, not %s too; quote it against the shell", words[rest + 1]);
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
    .summary = "every lock: mode, holders, waiters, oldest wait",
    .text = "Lists the locks that somebody holds or waits for, or left abandoned. PATTERN is as in "
            "the\n"
            "shell: *, ?, [a-z]. With -l there is a line for each holder; options that choose "
            "holders\n"
            "imply -l, and a holder must fit all of them. Ends with 1 if there is a pattern or "
            "such an\n"
            "option, and nothing fits it.",
    .examples = "  latchkey ls                  # all of them\n"
                "  latchkey ls 'deploy:*'       # some\n"
                "  latchkey ls --host web3 --held-for 10m   # who on web3 forgot to unlock?\n"
                "  latchkey ls --json | jq -r 'select(.waiters > 0).name'\n",
    .options = options,
    .run = run,
};
