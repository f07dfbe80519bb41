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
#include <unistd.h>

enum { FIRST_LINE_MS = 300, LINE_MS = 1000 };

typedef struct {
    int done_fd;
    atomic_int status;
    char error[600]; /* of the library, on the thread of the callback */
} waiting;

static void finished(lk_lock *lock, lk_status status, void *arg) {
    static const uint64_t one = 1;
    waiting *self = arg;
    (void)lock;
    snprintf(self->error, sizeof self->error, "%s", lk_last_error());
    atomic_store(&self->status, (int)status);
    if (write(self->done_fd, &one, sizeof one) < 0)
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

static void show_line(const run *self, int64_t waited_ms) {
    lk_info *info;
    char holder[300], waited[DURATION_SIZE];
    if (lk_inspect(self->client, self->name, &info) != LK_OK)
        return;
    describe_holder(info, holder, sizeof holder);
    dprintf(STDERR_FILENO, "\r\033[Kwaiting for %s: %s; place %zu of %zu, waited %s", self->name,
            holder, place_of(info, lk_owner(self->lock)), info->waiter_total,
            duration_write(waited_ms, waited));
    lk_info_free(info);
}

static void clear_line(void) {
    dprintf(STDERR_FILENO, "\r\033[K");
}

/* ------------------------------------------------------------------------------ the wait */

static bool ends_the_wait(int number) {
    return number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM;
}

/* Returns the signal that ends the wait, or 0. */
static int read_signals(const run *self) {
    int number;
    while ((number = run_next_signal(self)) != 0)
        if (ends_the_wait(number))
            return number;
    return 0;
}

static void await(run *self, const waiting *wait, int *by) {
    bool shows = isatty(STDERR_FILENO), shown = false;
    int64_t began_ms = moment_ms(), line_ms = began_ms + FIRST_LINE_MS;
    struct pollfd polled[] = {{wait->done_fd, POLLIN, 0}, {self->signal_fd, POLLIN, 0}};
    for (;;) {
        int64_t left_ms = line_ms - moment_ms();
        if (poll(polled, 2, shows ? (int)(left_ms > 0 ? left_ms : 0) : -1) < 0 && errno != EINTR)
            break;
        if (polled[0].revents)
            break;
        int number = read_signals(self);
        if (number && !*by) {
            *by = number;
            lk_cancel(self->lock);
        }
        if (shows && moment_ms() >= line_ms) {
            show_line(self, moment_ms() - began_ms);
            shown = true;
            line_ms = moment_ms() + LINE_MS;
        }
    }
    if (shown)
        clear_line();
}

/* What was handed over is ours for a second only, until it is claimed. */
static lk_status claim(const run *self) {
    if (lk_remaining_ms(self->lock) > self->lease_ms / 2)
        return LK_OK;
    return lk_renew(self->lock, 0);
}

lk_status run_take(run *self, lk_mode mode, int64_t wait_ms, int *by) {
    waiting wait = {.done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    lk_status status = lk_acquire_async(self->lock, mode, wait_ms, finished, &wait);
    if (status != LK_OK)
        return status;
    await(self, &wait, by);
    status = (lk_status)atomic_load(&wait.status);
    close(wait.done_fd);
    if (status == LK_OK && *by)
        return mode == LK_WRITE ? lk_wrunlock(self->lock) : lk_rdunlock(self->lock);
    if (status == LK_OK)
        return claim(self);
    *by = status == LK_CANCELED ? *by : 0;
    return status;
}
