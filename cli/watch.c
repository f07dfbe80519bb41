/* `latchkey watch`: prints events, which it finds by comparing snapshots. */
#include "command.h"
#include "common.h"
#include "ending.h"
#include "exits.h"
#include "say.h"
#include "snapshot_loop.h"
#include "watch_events.h"
#include "watch_print.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

static const option options[] = {
    {'j', "json", NULL, "print JSON, one object for each event"},
    {'i', "interval", "TIME", "time between two snapshots. Default: 0.5s"},
    COMMON_OPTIONS,
};

typedef struct {
    common common;
    int64_t interval_ms;
    snapshot_loop *loop;
    snapshot *before; /* NULL until the first one */
    bool away;
} watching;

static int take_option(void *arg, const option *row, char *value) {
    watching *self = arg;
    if (option_is(row, "interval"))
        return snapshot_loop_read_interval(value, &self->interval_ms);
    return common_take_option(&self->common, row, value);
}

static void print(const watch_event *event, void *arg) {
    const watching *self = arg;
    if (self->common.json)
        watch_print_json(event);
    else
        watch_print_line(event);
}

static void report_changes(watching *self, snapshot *now) {
    watch_event event = {.kind = self->before ? EVENT_BACK : EVENT_WATCHING, .count = now->count};
    if (self->away || !self->before)
        print(&event, self);
    if (self->before)
        watch_compare(self->before, now, print, self);
    self->away = false;
    snapshot_free(self->before);
    self->before = now;
}

/* Returns 0 to go on, or the exit code. */
static int take_result(watching *self) {
    snapshot_result got;
    if (!snapshot_loop_get(self->loop, &got))
        return 0;
    if (got.status == LK_OK) {
        report_changes(self, got.snapshot);
        return 0;
    }
    if (got.status != LK_UNAVAILABLE)
        return say_failure(exit_code_of(got.status), "%s", got.error);
    watch_event event = {.kind = EVENT_AWAY, .reason = got.error};
    if (!self->away)
        print(&event, self);
    self->away = true;
    return 0;
}

/* Returns -1 to go on, or the exit code. A reader that closes the pipe is a normal end. */
static int flush_output(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return -1;
    int reason = errno;
    __fpurge(stdout);
    clearerr(stdout);
    if (reason == EPIPE)
        return 0;
    return say_failure(EXIT_BROKEN, "cannot write the output: %s", strerror(reason));
}

static int watch(watching *self) {
    /* No events are requested for stdout: poll() still reports that its reader has gone. */
    struct pollfd fds[] = {
        {.fd = ending_fd(), .events = POLLIN},
        {.fd = snapshot_loop_fd(self->loop), .events = POLLIN},
        {.fd = STDOUT_FILENO},
    };
    for (;;) {
        if (poll(fds, sizeof fds / sizeof *fds, -1) < 0 && errno != EINTR)
            return say_failure(EXIT_BROKEN, "cannot wait: %s", strerror(errno));
        if (fds[0].revents || fds[2].revents)
            return 0;
        int code = take_result(self);
        int output = flush_output();
        if (code != 0 || output >= 0)
            return code != 0 ? code : output;
    }
}

static int run(int count, char **words) {
    watching self = {.interval_ms = 500};
    lk_client *client;
    int rest;
    int code = options_parse(options, false, count, words, take_option, &self, &rest);
    if (code == 0 && words[rest] && words[rest + 1])
        code = say_usage(
            "only one pattern is allowed, and %s is a second one; quote the pattern for the shell",
            words[rest + 1]);
    if (code == 0)
        code = common_open(&self.common, &client);
    if (code != 0)
        return code;
    self.loop = snapshot_loop_start(client, words[rest], self.interval_ms);
    if (!self.loop) {
        lk_close(client);
        return say_failure(EXIT_BROKEN, "out of memory or threads");
    }
    code = watch(&self);
    snapshot_loop_end(self.loop);
    snapshot_free(self.before);
    return code;
}

const command watch_command = {
    .name = "watch",
    .arguments = "[PATTERN]",
    .summary = "print grants, releases, losses and waits as they happen",
    .text =
        "Takes a snapshot of all locks every interval, compares it with the one before, and\n"
        "prints one line for each difference: time of day, lock, event, mode, client, duration.\n"
        "PATTERN works as in the shell: *, ?, [a-z].\n"
        "\n"
        "A hold or a wait that begins and ends between two snapshots is missed. If the fencing\n"
        "token of the lock has risen meanwhile, the event fence reports at least that. A list of\n"
        "more than 1000 holders or waiters is not compared. Each snapshot makes the server list\n"
        "its keys, so a short interval costs the server more. While nobody watches,\n"
        "this costs nothing.\n"
        "\n"
        "  waiting     a client has begun to wait\n"
        "  left        a waiter gave up or died, or held the lock only between two snapshots\n"
        "  granted     a client holds the lock\n"
        "  upgraded    a reader is now a writer; downgraded: a writer is now a reader\n"
        "  released    a holder has released the lock, or a read has expired\n"
        "  lost        a writer has lost the lock and left it abandoned\n"
        "  fence       the lock was granted, but the hold ended before the snapshot\n"
        "  away, back  the server cannot be reached, or can be again; watch keeps trying\n"
        "\n"
        "--json has event (as above, and `watching` for the first snapshot) and at (UTC, when the\n"
        "event was seen). If they apply, it has lock, app, host, pid, mode (read, write, "
        "upgrade),\n"
        "fence, fence_before, held_ms, waited_ms, reason (only in away) and locks (the number in\n"
        "use; only in watching and back). The exit code is 0 after SIGINT and SIGTERM, and when\n"
        "the reader of the output has gone.",
    .examples = "  latchkey watch                      # all locks\n"
                "  latchkey watch 'deploy:*' -i 100ms  # only these, and misses less\n"
                "  latchkey watch --json | jq 'select(.event == \"lost\")'\n",
    .options = options,
    .run = run,
};
