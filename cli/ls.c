/* `latchkey ls`: every lock, a line each. */
#include "command.h"
#include "common.h"
#include "duration.h"
#include "exits.h"
#include "say.h"
#include "show.h"
#include "snapshot.h"
#include "table.h"

#include <stdio.h>

static const option options[] = {
    {'j', "json", NULL, "an object for each lock, one a line"},
    COMMON_OPTIONS,
};

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

static int list(lk_client *client, const char *pattern, bool json) {
    snapshot *seen;
    lk_status status = snapshot_take(client, pattern, &seen);
    if (status != LK_OK)
        return say_failure(exit_code_of(status), "%s", snapshot_error(status));
    int code = 0;
    if (seen->count)
        code = json ? print_objects(seen) : print_table(seen);
    else if (pattern)
        code = say_failure(EXIT_FINDING, "no lock is called %s", pattern);
    snapshot_free(seen);
    return code;
}

static int run(int count, char **words) {
    common wanted = {0};
    lk_client *client;
    int rest;
    int code = options_parse(options, false, count, words, common_taken, &wanted, &rest);
    if (code == 0 && words[rest] && words[rest + 1])
        code = say_usage("one pattern, not %s too; quote it against the shell", words[rest + 1]);
    if (code == 0)
        code = common_open(&wanted, &client);
    if (code != 0)
        return code;
    code = list(client, words[rest], wanted.json);
    lk_close(client);
    return code;
}

const command ls_command = {
    .name = "ls",
    .arguments = "[PATTERN]",
    .summary = "every lock: mode, holders, waiters, oldest wait",
    .text = "Lists the locks that somebody holds or waits for, or left abandoned. PATTERN is as in "
            "the\n"
            "shell: *, ?, [a-z]. Ends with 1 if there is a pattern and nothing fits it.",
    .examples = "  latchkey ls                  # all of them\n"
                "  latchkey ls 'deploy:*'       # some\n"
                "  latchkey ls --json | jq -r 'select(.waiters > 0).name'\n",
    .options = options,
    .run = run,
};
