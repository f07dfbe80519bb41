/* `latchkey server`: controls the private server of local:. */
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
    {'j', "json", NULL, "status: print JSON, one object"},
    {0, "prefix", "TEXT", "the prefix of the locks to count. Default: lk"},
    {0, "verbose", NULL, "log to stderr"},
    {'h', "help", NULL, "print this help"},
    {0, NULL, NULL, NULL},
};

/* Returns 0, or the exit code after a message. */
static int read_local_status(lk_local_info **out) {
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
        printf("folder   %s\nno private server is running; the next use of local: starts one\n",
               info->folder);
    return code ? code : EXIT_FINDING;
}

static int show_status(const common *wanted) {
    lk_local_info *info;
    int code = read_local_status(&info);
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
    int code = read_local_status(&before);
    if (code == 0)
        code = common_open(wanted, &client);
    if (code == 0)
        code = read_local_status(&now);
    if (code == 0)
        printf("the private server %s in %s (pid %lld)\n",
               before->running ? "was already running" : "was started", now->folder,
               (long long)now->pid);
    lk_close(client);
    lk_local_info_free(before);
    lk_local_info_free(now);
    return code;
}

static int stop(const common *wanted) {
    lk_local_info *info;
    bool ran;
    (void)wanted;
    int code = read_local_status(&info);
    if (code != 0)
        return code;
    lk_status status = lk_local_stop(&ran);
    code = status == LK_OK ? 0 : say_status(status);
    if (code == 0)
        printf(ran ? "the private server in %s has stopped\n"
                   : "no private server is running in %s\n",
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
    int code = options_parse(options, false, count, words, common_take_option, &wanted, &rest);
    if (code != 0)
        return code;
    if (!words[rest] || words[rest + 1])
        return say_usage(words[rest] ? "give only one of start, stop and status"
                                     : "give one of start, stop and status");
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (strcmp(words[rest], acts[i].word) == 0)
            return acts[i].act(&wanted);
    return say_usage("%s is not start, stop or status", words[rest]);
}

const command server_command = {
    .name = "server",
    .arguments = "start|stop|status",
    .summary = "start, stop or check the private server of local:",
    .text =
        "Every use of local: starts the private server of this user, unless it is running. It\n"
        "keeps running until it is stopped.\n"
        "  start   starts the server now, unless it is running\n"
        "  stop    stops the server. After the next start it has its locks again, except those\n"
        "          whose lease has ended. A program that uses local: starts the server again.\n"
        "          It is not an error if no server is running\n"
        "  status  shows the folder, version, start time and number of locks. The exit code is 1\n"
        "          if no server is running",
    .examples = "  latchkey server status\n"
                "  latchkey server status --json | jq .pid\n"
                "  latchkey server stop\n",
    .options = options,
    .run = run,
};
