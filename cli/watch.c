/* `latchkey watch`: what happens to the locks, a line each, by comparing one look with the next. */
#include "command.h"
#include "common.h"
#include "ending.h"
#include "exits.h"
#include "looker.h"
#include "say.h"
#include "watch_events.h"
#include "watch_print.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

static const option options[] = {
    {'j', "json", NULL, "an object for each event, one a line"},
    {'i', "interval", "TIME", "between two looks; 0.5s"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    int64_t interval_ms;
    looker *looker;
    snapshot *before; /* NULL until the first look */
    bool away;
} watching;

static int taken(void *arg, const option *row, char *value) {
    watching *self = arg;
    if (option_is(row, "interval"))
        return looker_interval(value, &self->interval_ms);
    return common_taken(&self->common, row, value);
}

static void print(const watch_event *event, void *arg) {
    const watching *self = arg;
    if (self->common.json)
        watch_print_json(event);
    else
        watch_print_line(event);
}

static void take_snapshot(watching *self, snapshot *seen) {
    watch_event event = {.kind = self->before ? EVENT_BACK : EVENT_WATCHING, .count = seen->count};
    if (self->away || !self->before)
        print(&event, self);
    if (self->before)
        watch_compare(self->before, seen, print, self);
    self->away = false;
    snapshot_free(self->before);
    self->before = seen;
}

/* Returns 0 to go on, or the code to end with. */
static int take_look(watching *self) {
    look seen;
    if (!looker_get(self->looker, &seen))
        return 0;
    if (seen.status == LK_OK) {
        take_snapshot(self, seen.seen);
        return 0;
    }
    if (seen.status != LK_UNAVAILABLE)
        return say_failure(exit_code_of(seen.status), "%s", seen.error);
    watch_event event = {.kind = EVENT_AWAY, .reason = seen.error};
    if (!self->away)
        print(&event, self);
    self->away = true;
    return 0;
}

/* Below 0: go on. That the reader of the output leaves is how a watch may well end. */
static int flush_output(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return -1;
    int reason = errno;
    __fpurge(stdout);
    clearerr(stdout);
    if (reason == EPIPE)
        return 0;
    return say_failure(EXIT_BROKEN, "the output cannot be written: %s", strerror(reason));
}

static int watch(watching *self) {
    /* Nothing is asked of stdout: only that nobody reads it any more is heard. */
    struct pollfd fds[] = {
        {.fd = ending_fd(), .events = POLLIN},
        {.fd = looker_fd(self->looker), .events = POLLIN},
        {.fd = STDOUT_FILENO},
    };
    for (;;) {
        if (poll(fds, sizeof fds / sizeof *fds, -1) < 0 && errno != EINTR)
            return say_failure(EXIT_BROKEN, "cannot wait: %s", strerror(errno));
        if (fds[0].revents || fds[2].revents)
            return 0;
        int code = take_look(self);
        int output = flush_output();
        if (code != 0 || output >= 0)
            return code != 0 ? code : output;
    }
}

static int run(int count, char **words) {
    watching self = {.interval_ms = 500};
    lk_client *client;
    int rest;
    int code = options_parse(options, false, count, words, taken, &self, &rest);
    if (code == 0 && words[rest] && words[rest + 1])
        code = say_usage("one pattern, not %s too; quote it against the shell", words[rest + 1]);
    if (code == 0)
        code = common_open(&self.common, &client);
    if (code != 0)
        return code;
    self.looker = looker_start(client, words[rest], self.interval_ms);
    if (!self.looker) {
        lk_close(client);
        return say_failure(EXIT_BROKEN, "out of memory or threads");
    }
    code = watch(&self);
    looker_end(self.looker);
    snapshot_free(self.before);
    return code;
}

const command watch_command = {
    .name = "watch",
    .arguments = "[PATTERN]",
    .summary = "grants, releases, losses, waits as they happen",
    .text =
        "Looks at all locks every interval, and prints how they differ from the look before: time\n"
        "of day, lock, what, mode, who, for how long. PATTERN is as in the shell: *, ?, [a-z].\n"
        "\n"
        "What begins and ends between two looks is not seen; where the lock's fence tells of it,\n"
        "there is a line with how the fence moved. Looking asks the server to list its keys: a\n"
        "short interval costs it more. While nobody watches it costs nothing: holders do not know\n"
        "of watchers. Of a lock with more than 1000 holders (or waiters) those are not compared.\n"
        "\n"
        "  waiting     somebody has begun to wait\n"
        "  left        no longer waits and does not hold: gave up, or had it between two looks\n"
        "  granted     somebody holds it\n"
        "  upgraded    a reader writes now; downgraded: a writer only reads now\n"
        "  released    somebody gave it back; also a read that ran out, which leaves no mark\n"
        "  lost        a writer is gone, and has left the lock abandoned\n"
        "  fence       rose by a grant that no look saw\n"
        "  away, back  the server cannot be reached, and can be again; the watch goes on\n"
        "\n"
        "--json has event (as above, and `watching` for the first look), at (UTC, when it was\n"
        "seen), and where they apply lock, app, host, pid, mode (read, write, upgrade), fence,\n"
        "fence_before, held_ms, waited_ms, reason (of away), locks (how many are in use; of\n"
        "watching and back). Ends with 0 on SIGINT and SIGTERM, and when nobody reads its output.",
    .examples = "  latchkey watch                      # all locks\n"
                "  latchkey watch 'deploy:*' -i 100ms  # some, with few things missed\n"
                "  latchkey watch --json | jq 'select(.event == \"lost\")'\n",
    .options = options,
    .run = run,
};
