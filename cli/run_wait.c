/*
 * Taking the lock for `run`: without a thread blocked in the library, so that signals are answered
 * and a terminal is told how the wait goes.
 */
#include "duration.h"
#include "exits.h"
#include "moment.h"
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    FIRST_LINE_MS = 300,
    LINE_MS = 1000,
    CANCEL_MS = 1000 /* for the server to hear that we wait no more; it finds out anyway */
};

typedef struct {
    int done_fd;
    atomic_int status;
    run *self;
} waiting;

static void keep_error(run *self) {
    snprintf(self->error, sizeof self->error, "%s", lk_last_error());
}

static void finished(lk_lock *lock, lk_status status, void *arg) {
    static const uint64_t one = 1;
    waiting *wait = arg;
    (void)lock;
    keep_error(wait->self); /* it is of this thread, which is the callbacks' */
    atomic_store(&wait->status, (int)status);
    if (write(wait->done_fd, &one, sizeof one) < 0)
        return; /* never full */
}

/* ------------------------------------------------------------------------------ the line */

static size_t place_of(const lk_info *info, const char *owner) {
    for (size_t i = 0; i < info->waiter_count; i++)
        if (strcmp(info->waiters[i].owner, owner) == 0)
            return i + 1;
    return 0;
}

static void describe_holder(const lk_info *info, char *text, size_t size) {
    char age[DURATION_SIZE];
    if (!info->holder_count) {
        snprintf(text, size, "nobody holds it");
        return;
    }
    const lk_holder_info *first = &info->holders[0];
    int length = snprintf(text, size, "held by %s on %s, pid %lld, for %s", first->app, first->host,
                          (long long)first->pid, duration_write(first->held_ms, age));
    if (info->holder_total > 1 && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, " and %zu more", info->holder_total - 1);
}

/* It must fit: a line that wraps cannot be taken back. What others call themselves is no terminal's. */
static void fit_line(char *line) {
    struct winsize size = {0};
    size_t room = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    for (; *line; line++) {
        bool goes_on = ((unsigned char)*line & 0xC0) == 0x80; /* UTF-8 */
        if (!goes_on && --room == 0)
            break;
        if ((unsigned char)*line < ' ' || *line == 0x7F)
            *line = '?';
    }
    *line = '\0';
}

/* Not from behind, and not to a terminal that is held with Ctrl-S. */
static bool may_show(void) {
    pid_t front = tcgetpgrp(STDERR_FILENO);
    return (front < 0 || front == getpgrp()) && run_may_write();
}

static bool show_line(const run *self, int64_t waited_ms) {
    lk_info *info;
    char holder[300], waited[DURATION_SIZE], line[1000];
    if (!may_show() || lk_inspect(self->client, self->name, &info) != LK_OK)
        return false;
    describe_holder(info, holder, sizeof holder);
    snprintf(line, sizeof line, "waiting for %s: %s; place %zu of %zu, waited %s", self->name,
             holder, place_of(info, lk_owner(self->lock)), info->waiter_total,
             duration_write(waited_ms, waited));
    lk_info_free(info);
    fit_line(line);
    dprintf(STDERR_FILENO, "\r\033[K%s", line);
    return true;
}

static void clear_line(void) {
    dprintf(STDERR_FILENO, "\r\033[K");
}

/* ------------------------------------------------------------------------------ the wait */

/* Returns the signal that ends the wait, or 0: there is no command yet that it could be meant for. */
static int read_signals(const run *self) {
    int number;
    while ((number = run_next_signal(self)) != 0) {
        if (number == SIGTSTP)
            run_stop(false);
        else if (number != SIGCHLD && number != SIGWINCH && number != SIGCONT)
            return number;
    }
    return 0;
}

/* Returns false if the server did not answer when a signal had ended the wait. */
static bool await(run *self, const waiting *wait, int *by) {
    bool shows = isatty(STDERR_FILENO), shown = false, done = false;
    int64_t began_ms = moment_ms(), next_ms = began_ms + FIRST_LINE_MS;
    struct pollfd polled[] = {{wait->done_fd, POLLIN, 0}, {self->signal_fd, POLLIN, 0}};
    for (;;) {
        int64_t left_ms = next_ms - moment_ms();
        int most_ms = shows || *by ? (int)(left_ms > 0 ? left_ms : 0) : -1;
        if (poll(polled, 2, most_ms) < 0 && errno != EINTR)
            break;
        done = polled[0].revents != 0;
        if (done || (*by && moment_ms() >= next_ms))
            break;
        int number = read_signals(self);
        if (number && !*by) {
            *by = number;
            lk_cancel(self->lock);
            next_ms = moment_ms() + CANCEL_MS;
        }
        if (shows && !*by && moment_ms() >= next_ms) {
            shown = show_line(self, moment_ms() - began_ms) || shown;
            next_ms = moment_ms() + LINE_MS;
        }
    }
    if (shown)
        clear_line();
    return done;
}

/* What was handed over is ours for a second only, until it is claimed. */
static lk_status claim(const run *self) {
    if (lk_remaining_ms(self->lock) > self->lease_ms / 2)
        return LK_OK;
    return lk_renew(self->lock, 0);
}

static lk_status give_back(const run *self, lk_mode mode) {
    return mode == LK_WRITE ? lk_wrunlock(self->lock) : lk_rdunlock(self->lock);
}

lk_status run_take(run *self, lk_mode mode, int64_t wait_ms, int *by) {
    uint64_t times;
    static waiting wait; /* an answer may still come when we have gone on */
    wait.self = self;
    wait.done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wait.done_fd < 0) {
        snprintf(self->error, sizeof self->error, "no descriptors are left");
        return LK_NOMEM;
    }
    lk_status status = lk_acquire_async(self->lock, mode, wait_ms, finished, &wait);
    if (status != LK_OK) {
        keep_error(self);
        close(wait.done_fd);
        return status;
    }
    if (!await(self, &wait, by)) {
        self->leaves = true;
        return LK_CANCELED;
    }
    status = (lk_status)atomic_load(&wait.status);
    if (read(wait.done_fd, &times, sizeof times) == sizeof times) /* finished() is done with it */
        close(wait.done_fd);
    if (*by) {
        if (status == LK_OK)
            give_back(self, mode);
        return LK_CANCELED;
    }
    if (status != LK_OK)
        return status;
    status = claim(self);
    if (status != LK_OK)
        keep_error(self);
    return status;
}
