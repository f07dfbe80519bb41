/* latchkey-top, the program behind `latchkey top`: its command line and its loop. */
#include "command.h"
#include "common.h"
#include "duration.h"
#include "ending.h"
#include "exits.h"
#include "say.h"
#include "snapshot_loop.h"
#include "top.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NCURSES_NOMACROS
#include <curses.h>

const command *const commands[] = {&top_command, NULL};

enum { CLOCK_MS = 1000 }; /* the screen is drawn at least this often, for the times on it */

typedef struct {
    common common;
    int64_t interval_ms;
} settings;

static int take_option(void *arg, const option *row, char *value) {
    settings *wanted = arg;
    if (option_is(row, "interval"))
        return snapshot_loop_read_interval(value, &wanted->interval_ms);
    return common_take_option(&wanted->common, row, value);
}

/* Any failure may be temporary: the screen shows it, and the loop goes on. */
static void take_result(top *self, snapshot_loop *loop) {
    snapshot_result got;
    if (!snapshot_loop_get(loop, &got))
        return;
    if (got.status != LK_OK) {
        snprintf(self->status, sizeof self->status, "%s", got.error);
    } else if (top_take(self, got.snapshot)) {
        self->status[0] = '\0';
        self->looked_ms = monotonic_ms();
    } else {
        snapshot_free(got.snapshot);
        snprintf(self->status, sizeof self->status, "%s", lk_status_text(LK_NOMEM));
    }
}

/* Handles all keys typed so far. False: quit. */
static bool take_keys(top *self) {
    wint_t typed;
    int kind;
    while ((kind = get_wch(&typed)) != ERR)
        if (!top_key(self, typed, kind == KEY_CODE_YES))
            return false;
    return true;
}

static int show(top *self, snapshot_loop *loop, int end_fd) {
    struct pollfd fds[] = {
        {.fd = end_fd, .events = POLLIN},
        {.fd = snapshot_loop_fd(loop), .events = POLLIN},
        {.fd = STDIN_FILENO, .events = POLLIN},
    };
    for (;;) {
        top_screen_draw(self);
        if (poll(fds, sizeof fds / sizeof *fds, CLOCK_MS) < 0) {
            if (errno != EINTR)
                return EXIT_BROKEN;
            fds[0].revents = fds[2].revents = 0; /* maybe SIGWINCH, which arrives as a key */
        }
        if (fds[0].revents || fds[2].revents & (POLLHUP | POLLERR | POLLNVAL))
            return 0;
        take_result(self, loop);
        if (!take_keys(self))
            return 0;
    }
}

static int show_client(lk_client *client, int64_t interval_ms) {
    top self = {0};
    int end_fd = ending_fd(); /* before curses, which would handle these signals itself */
    snapshot_loop *loop = end_fd < 0 ? NULL : snapshot_loop_start(client, NULL, interval_ms);
    int code = 0;
    if (!loop) {
        lk_close(client);
        return say_failure(EXIT_BROKEN, "out of memory, threads or descriptors");
    }
    self.looked_ms = monotonic_ms();
    if (top_screen_open()) {
        code = show(&self, loop, end_fd);
        top_screen_close();
    } else {
        const char *term = getenv("TERM");
        code = term && *term ? say_usage("the terminal %s cannot show a full screen", term)
                             : say_usage("TERM is not set, so top cannot use the terminal");
    }
    snapshot_loop_end(loop);
    top_free(&self);
    return code;
}

int top_run(int count, char **words) {
    settings wanted = {.interval_ms = 1000};
    lk_client *client;
    int rest;
    int code = options_parse(top_command.options, false, count, words, take_option, &wanted, &rest);
    if (code == 0 && words[rest])
        code = say_usage("unexpected argument %s; to filter names, press / on the screen",
                         words[rest]);
    if (code == 0 && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        code = say_usage("top needs a terminal; without one, use latchkey ls or latchkey watch");
    if (code == 0)
        code = common_open(&wanted.common, &client);
    return code != 0 ? code : show_client(client, wanted.interval_ms);
}

int main(int count, char **words) {
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C");
    signal(SIGPIPE, SIG_IGN);
    say_set_subcommand(top_command.name);
    return command_end(&top_command, top_command.run(count, words));
}
