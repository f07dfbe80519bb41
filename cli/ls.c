/* `latchkey ls`: every lock, a line each. */
#include "command.h"
#include "common.h"
#include "duration.h"
#include "exits.h"
#include "say.h"
#include "show.h"
#include "table.h"

#include <stdio.h>

static const option options[] = {
    {'j', "json", NULL, "an object for each lock, one a line"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    bool json;
    lk_client *client;
    table *rows;
    size_t count;
    int code;
} listing;

static int taken(void *arg, const option *row, char *value) {
    listing *self = arg;
    if (!option_is(row, "json"))
        return common_taken(&self->common, row, value);
    self->json = true;
    return 0;
}

static void add_row(const listing *self, const lk_info *info) {
    char oldest[DURATION_SIZE];
    table_add(self->rows, "%s", info->name);
    table_add(self->rows, "%s",
              info->holder_count ? show_mode(info)
              : info->abandoned  ? "abandoned"
                                 : "-");
    table_add(self->rows, "%zu", info->holder_total);
    table_add(self->rows, "%zu", info->waiter_total);
    table_add(self->rows, "%s",
              info->waiter_total ? duration_write(show_oldest_wait_ms(info), oldest) : "-");
}

static bool list_one(const char *name, void *arg) {
    listing *self = arg;
    lk_info *info;
    lk_status status = lk_inspect(self->client, name, &info);
    if (status != LK_OK) {
        self->code = say_status(status);
        return false;
    }
    bool is_there = info->holder_total || info->waiter_total || info->abandoned;
    self->count += is_there; /* it may have gone since it was listed */
    if (is_there && self->json)
        self->code = show_json(show_summary(info));
    else if (is_there)
        add_row(self, info);
    lk_info_free(info);
    return self->code == 0 && !ferror(stdout);
}

static int list(listing *self, const char *pattern) {
    static const char *const headings[] = {"LOCK",     "MODE",         ">HOLDERS",
                                           ">WAITERS", ">OLDEST WAIT", NULL};
    self->rows = table_new(headings);
    if (!self->rows)
        return say_failure(EXIT_BROKEN, "out of memory");
    lk_status status = lk_list(self->client, pattern, list_one, self);
    if (self->code == 0 && status != LK_OK)
        self->code = say_status(status);
    if (self->code == 0 && !self->json && self->count)
        table_print(self->rows);
    table_free(self->rows);
    if (self->code == 0 && pattern && !self->count)
        self->code = say_failure(EXIT_FINDING, "no lock is called %s", pattern);
    return self->code;
}

static int run(int count, char **words) {
    listing self = {0};
    int rest;
    int code = options_parse(options, false, count, words, taken, &self, &rest);
    if (code == 0 && self.common.help) {
        command_help(command_find("ls"));
        return 0;
    }
    if (code == 0 && words[rest] && words[rest + 1])
        code = say_usage("one pattern, not %s too; quote it against the shell", words[rest + 1]);
    if (code == 0)
        code = common_open(&self.common, &self.client);
    if (code != 0)
        return code;
    code = list(&self, words[rest]);
    lk_close(self.client);
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
