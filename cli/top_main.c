/* latchkey-top, which `latchkey top` runs: its command line, its loop. */
#include "command.h"
#include "common.h"
#include "ending.h"
#include "exits.h"
#include "looker.h"
#include "moment.h"
#include "say.h"
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

enum { CLOCK_MS = 1000 }; /* how often the screen is drawn without a reason */

typedef struct {
    common common;
    int64_t interval_ms;
} wishes;

static int taken(void *arg, const option *row, char *value) {
    wishes *wanted = arg;
    if (option_is(row, "interval"))
        return looker_interval(value, &wanted->interval_ms);
    return common_taken(&wanted->common, row, value);
}

/* Whatever a look failed with may pass: the screen says so, and looking goes on. */
static void take_look(top *self, looker *looks) {
    look seen;
    if (!looker_get(looks, &seen))
        return;
    if (seen.status != LK_OK) {
        snprintf(self->status, sizeof self->status, "%s", seen.error);
    } else if (top_take(self, seen.seen)) {
        self->status[0] = '\0';
        self->looked_ms = moment_ms();
    } else {
        snapshot_free(seen.seen);
        snprintf(self->status, sizeof self->status, "%s", lk_status_text(LK_NOMEM));
    }
}

/* All that was typed. False: quit. */
static bool take_keys(top *self) {
    wint_t typed;
    int kind;
    while ((kind = get_wch(&typed)) != ERR)
        if (!top_key(self, typed, kind == KEY_CODE_YES))
            return false;
    return true;
}

static int show(top *self, looker *looks, int end_fd) {
    struct pollfd fds[] = {
        {.fd = end_fd, .events = POLLIN},
        {.fd = looker_fd(looks), .events = POLLIN},
        {.fd = STDIN_FILENO, .events = POLLIN},
    };
    for (;;) {
        top_screen_draw(self);
        if (poll(fds, sizeof fds / sizeof *fds, CLOCK_MS) < 0) {
            if (errno != EINTR)
                return EXIT_BROKEN;
            fds[0].revents = fds[2].revents = 0; /* a new size, perhaps: it comes as a key */
        }
        if (fds[0].revents || fds[2].revents & (POLLHUP | POLLERR | POLLNVAL))
            return 0;
        take_look(self, looks);
        if (!take_keys(self))
            return 0;
    }
}

static int show_client(lk_client *client, int64_t interval_ms) {
    top self = {0};
    int end_fd = ending_fd(); /* before curses, which otherwise takes the signals for itself */
    looker *looks = end_fd < 0 ? NULL : looker_start(client, NULL, interval_ms);
    int code = 0;
    if (!looks) {
        lk_close(client);
        return say_failure(EXIT_BROKEN, "out of memory, threads or descriptors");
    }
    self.looked_ms = moment_ms();
    if (top_screen_open()) {
        code = show(&self, looks, end_fd);
        top_screen_close();
    } else {
        const char *term = getenv("TERM");
        code = say_usage("the terminal %s cannot show it", term && *term ? term : "without a TERM");
    }
    looker_end(looks);
    top_free(&self);
    return code;
}

int top_run(int count, char **words) {
    wishes wanted = {.interval_ms = 1000};
    lk_client *client;
    int rest;
    int code = options_parse(top_command.options, false, count, words, taken, &wanted, &rest);
    if (code == 0 && words[rest])
        code = say_usage("what is %s? Names are filtered with /, on the screen", words[rest]);
    if (code == 0 && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        code = say_usage("it needs a terminal; without one there are ls and watch");
    if (code == 0)
        code = common_open(&wanted.common, &client);
    return code != 0 ? code : show_client(client, wanted.interval_ms);
}

int main(int count, char **words) {
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C");
    signal(SIGPIPE, SIG_IGN);
    say_as(top_command.name);
    return command_end(&top_command, top_command.run(count, words));
}
