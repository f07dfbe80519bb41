/*
 * Taking the lock for `run`, and giving it back: without being blocked in the library, so that
 * signals are answered.
 */
#include "moment.h"
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CANCEL_MS = 1000 }; /* for the server to hear of our end; it finds out anyway */

typedef struct {
    int done_fd;
    atomic_int status; /* written last, and read first */
    char error[sizeof((run *)0)->error];
} waiting;

static void keep_error(run *self) {
    snprintf(self->error, sizeof self->error, "%s", lk_last_error());
}

static void finished(lk_lock *lock, lk_status status, void *arg) {
    static const uint64_t one = 1;
    waiting *wait = arg;
    (void)lock;
    snprintf(wait->error, sizeof wait->error, "%s", lk_last_error()); /* of the callbacks' thread */
    atomic_store(&wait->status, (int)status);
    if (write(wait->done_fd, &one, sizeof one) < 0)
        return; /* never full */
}

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

/* Returns false if the server did not answer soon after a signal had come (*by). */
static bool await(const run *self, const waiting *wait, int *by) {
    struct pollfd polled[] = {{wait->done_fd, POLLIN, 0}, {self->signal_fd, POLLIN, 0}};
    int64_t until_ms = moment_ms() + CANCEL_MS;
    for (;;) {
        int64_t left_ms = until_ms - moment_ms();
        if (*by && left_ms <= 0)
            return false;
        if (poll(polled, 2, *by ? (int)left_ms : -1) < 0 && errno != EINTR)
            return false;
        if (polled[0].revents)
            return true;
        int number = read_signals(self);
        if (number && !*by) {
            *by = number;
            lk_cancel(self->lock);
            until_ms = moment_ms() + CANCEL_MS;
        }
    }
}

/* What was handed over is ours for a second only, until it is claimed. */
static lk_status claim(const run *self) {
    if (lk_remaining_ms(self->lock) > self->lease_ms / 2)
        return LK_OK;
    return lk_renew(self->lock, 0);
}

/* Only when it is finished: the callback may come after we have gone on. */
static lk_status outcome(run *self, const waiting *wait) {
    lk_status status = (lk_status)atomic_load(&wait->status);
    memcpy(self->error, wait->error, sizeof self->error);
    return status;
}

static bool prepare(waiting *wait, run *self) {
    wait->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wait->done_fd < 0)
        snprintf(self->error, sizeof self->error, "no descriptors are left");
    return wait->done_fd >= 0;
}

lk_status run_give_back(run *self, lk_mode mode, int *by) {
    static waiting wait; /* the answer, or its thread, may still be there when we have gone on */
    if (!prepare(&wait, self))
        return LK_NOMEM;
    lk_status status = lk_release_async(self->lock, mode, finished, &wait);
    if (status != LK_OK) {
        keep_error(self);
        return status;
    }
    int number = *by;
    if (await(self, &wait, &number))
        return outcome(self, &wait);
    *by = number;
    snprintf(self->error, sizeof self->error, "the server was not waited for");
    return LK_UNAVAILABLE;
}

lk_status run_take(run *self, lk_mode mode, int64_t wait_ms, int *by) {
    static waiting wait; /* as above */
    if (!prepare(&wait, self))
        return LK_NOMEM;
    lk_status status = lk_acquire_async(self->lock, mode, wait_ms, finished, &wait);
    if (status != LK_OK) {
        keep_error(self);
        return status;
    }
    self->line = run_line_start(self);
    bool answered = await(self, &wait, by);
    run_line_end(self->line);
    if (!answered) {
        self->leaves = true;
        return LK_CANCELED;
    }
    status = outcome(self, &wait);
    if (*by) {
        if (status == LK_OK)
            self->leaves = run_give_back(self, mode, by) == LK_UNAVAILABLE;
        return LK_CANCELED;
    }
    if (status != LK_OK)
        return status;
    status = claim(self);
    if (status != LK_OK)
        keep_error(self);
    return status;
}
