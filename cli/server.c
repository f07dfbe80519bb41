/* `latchkey server`: the private server of local:. */
#include "command.h"
#include "common.h"
#include "exits.h"
#include "say.h"
#include "show.h"
#include "snapshot.h"

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

/* Each of these returns 0 or the code to end with, after saying why. */
static int ask_where(lk_local_info **out) {
    lk_status status = lk_local_status(out);
    return status == LK_OK ? 0 : say_status(status);
}

/* ------------------------------------------------------------------------------ status */

static int count_locks(const common *wanted, size_t *count) {
    lk_client *client;
    snapshot *seen;
    int code = common_open(wanted, &client);
    if (code != 0)
        return code;
    lk_status status = snapshot_take(client, NULL, &seen);
    if (status != LK_OK)
        code = say_sentence(status, snapshot_error(status));
    if (status == LK_OK) {
        *count = seen->count;
        snapshot_free(seen);
    }
    lk_close(client);
    return code;
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
        return show_json(json_pack("{s:b,s:o,s:o,s:I,s:o,s:o,s:s,s:I,s:I}", "running", 1, "folder",
                                   show_text(info->folder), "socket", show_text(info->socket),
                                   "pid", (json_int_t)info->pid, "kind", show_text(facts->kind),
                                   "version", show_text(facts->version), "since", since, "uptime_s",
                                   (json_int_t)facts->uptime_s, "locks", (json_int_t)locks));
    printf("folder   %s\nsocket   %s\npid      %lld\nversion  %s %s\nsince    %s\nlocks    %zu\n",
           info->folder, info->socket, (long long)info->pid, facts->kind, facts->version, since,
           locks);
    return 0;
}

static int show_running(const lk_local_info *info, const common *wanted) {
    lk_facts *facts;
    size_t locks = 0;
    int code = common_examine(wanted, &facts);
    if (code != 0)
        return code;
    code = count_locks(wanted, &locks);
    if (code == 0)
        code = print_running(info, facts, locks, wanted->json);
    lk_facts_free(facts);
    return code;
}

static int show_none(const lk_local_info *info, bool json) {
    int code = 0;
    if (json)
        code = show_json(json_pack("{s:b,s:o,s:o}", "running", 0, "folder", show_text(info->folder),
                                   "socket", show_text(info->socket)));
    else
        printf("folder   %s\nno private server runs; the next use of local: starts it\n",
               info->folder);
    return code ? code : EXIT_FINDING;
}

static int show_status(const common *wanted) {
    lk_local_info *info;
    int code = ask_where(&info);
    if (code != 0)
        return code;
    code = info->running ? show_running(info, wanted) : show_none(info, wanted->json);
    lk_local_info_free(info);
    return code;
}

/* ------------------------------------------------------------------------------ start, stop */

static int start(const common *wanted) {
    lk_local_info *before = NULL, *now = NULL;
    lk_client *client = NULL;
    int code = ask_where(&before);
    if (code == 0)
        code = common_open(wanted, &client);
    if (code == 0)
        code = ask_where(&now);
    if (code == 0)
        printf("the private server %s in %s (pid %lld)\n",
               before->running ? "ran already" : "was started", now->folder, (long long)now->pid);
    lk_close(client);
    lk_local_info_free(before);
    lk_local_info_free(now);
    return code;
}

static int stop(const common *wanted) {
    lk_local_info *info;
    bool ran;
    (void)wanted;
    int code = ask_where(&info);
    if (code != 0)
        return code;
    lk_status status = lk_local_stop(&ran);
    code = status == LK_OK ? 0 : say_status(status);
    if (code == 0)
        printf(ran ? "the private server in %s has ended\n" : "no private server runs in %s\n",
               info->folder);
    lk_local_info_free(info);
    return code;
}

static const struct {
    const char *word;
    int (*act)(const common *);
} acts[] = {{"start", start}, {"stop", stop}, {"status", show_status}};

static int run(int count, char **words) {
    common wanted = {.url = "local:"};
    int rest;
    int code = options_parse(options, false, count, words, common_taken, &wanted, &rest);
    if (code != 0)
        return code;
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
