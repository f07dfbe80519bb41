/* `latchkey inspect`: one lock, with everybody who holds it or waits for it. */
#include "colour.h"
#include "command.h"
#include "common.h"
#include "duration.h"
#include "exits.h"
#include "say.h"
#include "show.h"
#include "table.h"

#include <inttypes.h>
#include <stdio.h>

enum { NAME_SIZE = 513 };

static const option options[] = {
    {'j', "json", NULL, "an object on one line"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    bool json;
} wishes;

static int taken(void *arg, const option *row, char *value) {
    wishes *wanted = arg;
    if (!option_is(row, "json"))
        return common_taken(&wanted->common, row, value);
    wanted->json = true;
    return 0;
}

static void print_head(const lk_info *info) {
    static const char *const policies[] = {"fair", "phase-fair", "prefer-writer", "prefer-reader"};
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%s", info->name);
    text_tame(name);
    printf("lock     %s%s%s\n", colour(COLOUR_BOLD), name, colour(COLOUR_NONE));
    if (!info->holder_total && !info->waiter_total && !info->abandoned) {
        printf("state    free\n");
        return;
    }
    printf("state    %s, %zu hold it, %zu wait\n",
           info->holder_total ? show_mode(info) : "nobody holds it", info->holder_total,
           info->waiter_total);
    printf("policy   %s\nfence    %" PRIu64 "\n", policies[info->policy], info->fence);
    if (info->abandoned)
        printf("%sabandoned: a writer was lost, and none has ended in good order since%s\n",
               colour(COLOUR_YELLOW), colour(COLOUR_NONE));
}

static void add_who(table *rows, const char *app, const char *host, int64_t pid) {
    table_add(rows, "%s", *app ? app : "-");
    table_add(rows, "%s", *host ? host : "-");
    table_add(rows, "%" PRId64, pid);
}

static void print_holders(const lk_info *info) {
    static const char *const headings[] = {"HELD BY", "HOST",  ">PID",        ">READS",
                                           ">WRITES", ">FOR",  ">LEASE LEFT", ">FENCE",
                                           "GROUP",   "OWNER", NULL};
    table *rows = table_new(headings);
    for (size_t i = 0; rows && i < info->holder_count; i++) {
        const lk_holder_info *one = &info->holders[i];
        char held[DURATION_SIZE], left[DURATION_SIZE];
        add_who(rows, one->app, one->host, one->pid);
        table_add(rows, "%u", one->reads);
        table_add(rows, "%u", one->writes);
        table_add(rows, "%s", duration_write(one->held_ms, held));
        table_add(rows, "%s", duration_write(one->left_ms, left));
        table_add(rows, "%" PRIu64, one->fence);
        table_add(rows, "%s", *one->group ? one->group : "-");
        table_add(rows, "%s", one->owner);
    }
    putchar('\n');
    if (rows)
        table_print(rows);
    table_free(rows);
}

static void print_waiters(const lk_info *info) {
    static const char *const headings[] = {">",      "WAITS", "HOST",  ">PID", "FOR A",
                                           ">SINCE", "GROUP", "OWNER", NULL};
    table *rows = table_new(headings);
    for (size_t i = 0; rows && i < info->waiter_count; i++) {
        const lk_waiter_info *one = &info->waiters[i];
        char waited[DURATION_SIZE];
        table_add(rows, "%zu", i + 1);
        add_who(rows, one->app, one->host, one->pid);
        table_add(rows, "%s", one->upgrade ? "upgrade" : one->mode == LK_WRITE ? "write" : "read");
        table_add(rows, "%s", duration_write(one->waited_ms, waited));
        table_add(rows, "%s", *one->group ? one->group : "-");
        table_add(rows, "%s", one->owner);
    }
    putchar('\n');
    if (rows)
        table_print(rows);
    table_free(rows);
}

static int print(const lk_info *info, bool json) {
    if (json)
        return show_json(show_everything(info));
    print_head(info);
    if (info->holder_count)
        print_holders(info);
    if (info->waiter_count)
        print_waiters(info);
    return 0;
}

static int run(int count, char **words) {
    wishes wanted = {0};
    lk_client *client;
    lk_info *info;
    int rest;
    int code = options_parse(options, false, count, words, taken, &wanted, &rest);
    if (code == 0 && wanted.common.help) {
        command_help(command_find("inspect"));
        return 0;
    }
    if (code == 0 && (!words[rest] || words[rest + 1]))
        code = say_usage(words[rest] ? "one lock at a time" : "which lock?");
    if (code == 0)
        code = common_open(&wanted.common, &client);
    if (code != 0)
        return code;
    lk_status status = lk_inspect(client, words[rest], &info);
    code = status == LK_OK ? print(info, wanted.json) : say_status(status);
    if (status == LK_OK)
        lk_info_free(info);
    lk_close(client);
    return code;
}

const command inspect_command = {
    .name = "inspect",
    .arguments = "NAME",
    .summary = "who holds a lock, who waits, since when",
    .text = "Shows one lock: its state and policy, the last fencing token, and everybody who holds "
            "it or\n"
            "waits for it, those who come next first.",
    .examples = "  latchkey inspect deploy:web\n"
                "  latchkey inspect deploy:web --json | jq '.held_by[].host'\n",
    .options = options,
    .run = run,
};
