/*
 * Taking the lock for `run`, and giving it back: without being blocked in the library, so that
 * signals are answered. The library reports a server that has been away for AWAY_MS; whether the
 * wait goes on then is decided here.
 */
#include "moment.h"
#include "run.h"
#include "say.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    CANCEL_MS = 1000, /* for the server to hear of our end; it finds out anyway */
    TICK_MS = 1000,   /* how often the terminal is told that the server does not answer */
    AWAY_MS = 5000,   /* command_timeout_ms of the client */
    LATE_MS = 2000,   /* by how much more an attempt may last while the server is away */
    AGAIN_MS = 200    /* from one attempt to the next, at least */
};

static const int64_t never_ms = INT64_MAX;

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

/*
 * Calls `tick` each second, unless it is NULL. Returns false if the server did not answer soon after
 * a signal had come (*by).
 */
static bool await(const run *self, const waiting *wait, void (*tick)(const run *), int *by) {
    struct pollfd polled[] = {{wait->done_fd, POLLIN, 0}, {self->signal_fd, POLLIN, 0}};
    int64_t until_ms = moment_ms() + CANCEL_MS;
    for (;;) {
        int64_t left_ms = until_ms - moment_ms();
        if (*by && left_ms <= 0)
            return false;
        int ready = poll(polled, 2, *by ? (int)left_ms : tick ? TICK_MS : -1);
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready == 0 && tick)
            tick(self);
        if (ready > 0 && polled[0].revents)
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
    uint64_t times;
    lk_status status = (lk_status)atomic_load(&wait->status);
    memcpy(self->error, wait->error, sizeof self->error);
    if (read(wait->done_fd, &times, sizeof times) < 0)
        return LK_INTERNAL; /* it was readable */
    return status;
}

static bool prepare(waiting *wait, run *self) {
    wait->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wait->done_fd < 0)
        snprintf(self->error, sizeof self->error, "no descriptors are left");
    return wait->done_fd >= 0;
}

const char *run_reason(const run *self, const char *error) {
    char start[600];
    int length = snprintf(start, sizeof start, "lock \"%s\" on ", self->name);
    bool has_it = length > 0 && strncmp(error, start, (size_t)length) == 0;
    return error + (has_it ? length : 0);
}

/* ------------------------------------------------------------------------------ giving back */

static void tell_release(const run *self) {
    run_line_put("releasing %s: the server does not answer", self->name);
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
    bool answered = await(self, &wait, tell_release, &number);
    run_line_clear();
    if (answered)
        return outcome(self, &wait);
    *by = number;
    snprintf(self->error, sizeof self->error, "the server was not waited for");
    return LK_UNAVAILABLE;
}

/* ------------------------------------------------------------------------------ taking */

/* How long the wait may go on. */
typedef struct {
    lk_mode mode;
    int64_t until_ms;      /* as -w has it */
    int64_t asked_ms;      /* when the last attempt began */
    int64_t away_since_ms; /* the server; or never_ms */
    bool is_cut;           /* the last attempt was to end before until_ms */
    bool told;             /* that the server is away */
} patience;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* When --server-timeout is over, if the server stays away. */
static int64_t away_until_ms(const run *self, const patience *p) {
    bool is_bound = self->server_timeout_ms >= 0 && p->away_since_ms != never_ms;
    return is_bound ? p->away_since_ms + self->server_timeout_ms : never_ms;
}

/* For the next attempt. Below 0: without end. */
static int64_t next_wait_ms(const run *self, patience *p) {
    int64_t end_ms = least(p->until_ms, away_until_ms(self, p));
    p->asked_ms = moment_ms();
    p->is_cut = end_ms < p->until_ms;
    if (end_ms == never_ms)
        return -1;
    return end_ms > p->asked_ms ? end_ms - p->asked_ms : 0;
}

static void tell_wait(const run *self) {
    run_line_tick(self->line);
}

static lk_status take_once(run *self, patience *p, waiting *wait, int *by) {
    lk_status status = lk_acquire_async(self->lock, p->mode, next_wait_ms(self, p), finished, wait);
    if (status != LK_OK) {
        keep_error(self);
        return status;
    }
    bool answered = await(self, wait, self->line ? tell_wait : NULL, by);
    if (answered)
        status = outcome(self, wait);
    if (*by) {
        if (answered && status == LK_OK)
            run_give_back(self, p->mode, by);
        self->leaves = true; /* what is left to tell the server, it finds out by itself */
        return LK_CANCELED;
    }
    if (status == LK_OK) {
        status = claim(self);
        if (status != LK_OK)
            keep_error(self);
    }
    return status;
}

/* A terminal has the line for it; in front of others it is said once, for the mail of cron(8). */
static void tell_outage(const run *self, patience *p) {
    if (!p->told && !self->line)
        say_failure(0, "still waiting for lock \"%s\", while the server does not answer (%s)",
                    self->name, run_reason(self, self->error));
    p->told = true;
}

/* The server has been away for AWAY_MS. */
static bool outlasts_outage(const run *self, patience *p) {
    int64_t now_ms = moment_ms();
    bool is_new = p->away_since_ms == never_ms || now_ms - p->asked_ms > AWAY_MS + LATE_MS;
    if (is_new) /* a configuration may have a shorter command_timeout */
        p->away_since_ms = p->asked_ms > now_ms - AWAY_MS ? p->asked_ms : now_ms - AWAY_MS;
    if (now_ms >= p->until_ms || now_ms >= away_until_ms(self, p))
        return false;
    tell_outage(self, p);
    return true;
}

static bool goes_on(run *self, patience *p, lk_status status) {
    switch (status) {
    case LK_LOST: /* handed over, and not claimed in time: nothing has begun */
        say_note("lock \"%s\" could not be claimed in time; queueing again", self->name);
        p->away_since_ms = never_ms;
        break;
    case LK_BUSY:
    case LK_TIMEOUT: /* so the server has answered */
        if (!p->is_cut)
            return false;
        p->away_since_ms = never_ms;
        break;
    case LK_UNAVAILABLE:
        if (!outlasts_outage(self, p))
            return false;
        break;
    default:
        return false;
    }
    if (lk_fence(self->lock)) /* the claim failed, so there is a hold to give back */
        lk_release_async(self->lock, p->mode, NULL, NULL);
    return true;
}

/* Returns false if a signal came (*by). */
static bool rest(run *self, const patience *p, int *by) {
    struct pollfd polled = {self->signal_fd, POLLIN, 0};
    int64_t ms = p->asked_ms + AGAIN_MS - moment_ms();
    if (ms > 0)
        poll(&polled, 1, (int)ms);
    *by = read_signals(self);
    self->leaves = *by != 0;
    return *by == 0;
}

lk_status run_take(run *self, lk_mode mode, int64_t wait_ms, int *by) {
    static waiting wait; /* as above */
    patience p = {.mode = mode,
                  .until_ms = wait_ms < 0 ? never_ms : moment_ms() + wait_ms,
                  .away_since_ms = never_ms};
    if (!prepare(&wait, self))
        return LK_NOMEM;
    self->line = run_line_start(self);
    lk_status status;
    do {
        status = take_once(self, &p, &wait, by);
    } while (!*by && goes_on(self, &p, status) && rest(self, &p, by));
    run_line_end(self->line);
    return *by ? LK_CANCELED : status;
}
