/* `latchkey server`: the private server of local:. */
#include "command.h"
#include "common.h"
#include "exits.h"
#include "say.h"
#include "show.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const option options[] = {
    {'j', "json", NULL, "status: one object"},
    {0, "prefix", "TEXT", "of the keys of the locks that are counted; lk"},
    {0, "verbose", NULL, "log to stderr"},
    {'h', "help", NULL, "print this, and end"},
    {0, NULL, NULL, NULL},
};

static char local_url[] = "local:";

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

/* ------------------------------------------------------------------------------ status */

static bool count_one(const char *name, void *arg) {
    (void)name;
    ++*(size_t *)arg;
    return true;
}

static lk_status count_locks(const lk_client_options *client_options, size_t *count) {
    lk_client *client;
    lk_status status = lk_open(local_url, client_options, &client);
    if (status != LK_OK)
        return status;
    status = lk_list(client, NULL, count_one, count);
    lk_close(client);
    return status;
}

static const char *since_text(const lk_facts *facts, char *buffer, size_t size) {
    struct tm parts;
    time_t since = time(NULL) - (time_t)facts->uptime_s;
    if (facts->uptime_s < 0 || !localtime_r(&since, &parts) ||
        strftime(buffer, size, "%Y-%m-%dT%H:%M:%S%z", &parts) == 0)
        snprintf(buffer, size, "-");
    return buffer;
}

static int print_running(const lk_local_info *info, const lk_facts *facts, size_t locks,
                         bool json) {
    char since[40];
    since_text(facts, since, sizeof since);
    if (json)
        return show_json(json_pack("{s:b,s:s,s:s,s:I,s:s,s:s,s:s,s:I,s:I}", "running", 1, "folder",
                                   info->folder, "socket", info->socket, "pid",
                                   (json_int_t)info->pid, "kind", facts->kind, "version",
                                   facts->version, "since", since, "uptime_s",
                                   (json_int_t)facts->uptime_s, "locks", (json_int_t)locks));
    printf("folder   %s\nsocket   %s\npid      %lld\nversion  %s %s\nsince    %s\nlocks    %zu\n",
           info->folder, info->socket, (long long)info->pid, facts->kind, facts->version, since,
           locks);
    return 0;
}

static int show_running(const lk_local_info *info, const wishes *wanted) {
    lk_client_options client_options = {.prefix = wanted->common.prefix,
                                        .log = says_notes() ? say_log : NULL};
    lk_facts *facts;
    size_t locks = 0;
    lk_status status = lk_examine(local_url, &client_options, &facts);
    if (status != LK_OK)
        return say_status(status);
    status = count_locks(&client_options, &locks);
    int code =
        status == LK_OK ? print_running(info, facts, locks, wanted->json) : say_status(status);
    lk_facts_free(facts);
    return code;
}

static int show_none(const lk_local_info *info, bool json) {
    int code = 0;
    if (json)
        code = show_json(json_pack("{s:b,s:s,s:s}", "running", 0, "folder", info->folder, "socket",
                                   info->socket));
    else
        printf("folder   %s\nno private server runs; the next use of local: starts it\n",
               info->folder);
    return code ? code : EXIT_FINDING;
}

static int show_status(const wishes *wanted) {
    lk_local_info *info;
    lk_status status = lk_local_status(&info);
    if (status != LK_OK)
        return say_status(status);
    int code = info->running ? show_running(info, wanted) : show_none(info, wanted->json);
    lk_local_info_free(info);
    return code;
}

/* ------------------------------------------------------------------------------ start, stop */

static int start(const wishes *wanted) {
    lk_client_options client_options = {.prefix = wanted->common.prefix,
                                        .log = says_notes() ? say_log : NULL};
    lk_local_info *before = NULL, *now = NULL;
    lk_client *client = NULL;
    lk_status status = lk_local_status(&before);
    if (status == LK_OK)
        status = lk_open(local_url, &client_options, &client);
    if (status == LK_OK)
        status = lk_local_status(&now);
    int code = status == LK_OK ? 0 : say_status(status);
    if (code == 0)
        printf("the private server %s in %s (pid %lld)\n",
               before->running ? "ran already" : "was started", now->folder, (long long)now->pid);
    lk_close(client);
    lk_local_info_free(before);
    lk_local_info_free(now);
    return code;
}

static int stop(const wishes *wanted) {
    lk_local_info *info;
    bool ran;
    (void)wanted;
    lk_status status = lk_local_status(&info);
    if (status != LK_OK)
        return say_status(status);
    status = lk_local_stop(&ran);
    int code = status == LK_OK ? 0 : say_status(status);
    if (code == 0)
        printf(ran ? "the private server in %s has ended\n" : "no private server runs in %s\n",
               info->folder);
    lk_local_info_free(info);
    return code;
}

static const struct {
    const char *word;
    int (*act)(const wishes *);
} acts[] = {{"start", start}, {"stop", stop}, {"status", show_status}};

static int run(int count, char **words) {
    wishes wanted = {0};
    int rest;
    int code = options_parse(options, false, count, words, taken, &wanted, &rest);
    if (code != 0)
        return code;
    if (wanted.common.help) {
        command_help(command_find("server"));
        return 0;
    }
    if (!words[rest] || words[rest + 1])
        return say_usage(words[rest] ? "one thing at a time" : "start, stop or status?");
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (strcmp(words[rest], acts[i].word) == 0)
            return acts[i].act(&wanted);
    return say_usage("%s is none of start, stop and status", words[rest]);
}

const command server_command = {
    .name = "server",
    .arguments = "start|stop|status",
    .summary = "the private server of local:",
    .text =
        "Every use of local: starts the private server of this user if it does not run; it goes "
        "on running.\n"
        "  start   starts it now, if it does not run\n"
        "  stop    ends it in good order; its locks are there again when it is started, as far "
        "as their\n"
        "          leases last. A program that uses local: starts it again. It is no failure if "
        "none runs\n"
        "  status  where it is, which version, since when, how many locks; ends with 1 if it "
        "does not run",
    .examples = "  latchkey server status\n"
                "  latchkey server status --json | jq .pid\n"
                "  latchkey server stop\n",
    .options = options,
    .run = run,
};
