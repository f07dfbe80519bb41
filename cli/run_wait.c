/*
 * The waits of `run`: for the server at the start, for the lock, and for its release. The thread does
 * not block in the library, so that signals get a reaction. The library reports an outage after its
 * command_timeout, which may be long; this file decides whether the wait goes on.
 */
#include "duration.h"
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
    PAUSE_LEAST_MS = 50, /* between two attempts to connect */
    PAUSE_MOST_MS = 1000,
    CANCEL_MS = 1000, /* for a cancel to reach the server; without it, our place expires */
    TICK_MS = 1000,   /* how often the limits are checked, and the status line is updated */
    NOTICE_MS = 5000, /* a server that is silent for less is not away */
    LEAVE_MS = 5000,  /* for leaving the queue, after the end of -w */
    RETRY_MS = 200    /* the least time from one attempt to the next */
};

/* ------------------------------------------------------------------------------ connecting */

static void report_absent_server(const run_opening *self) {
    char waited[DURATION_SIZE];
    if (isatty(STDERR_FILENO))
        run_line_put("waiting for the server, for %s: %s",
                     duration_write(monotonic_ms() - self->began_ms, waited), lk_last_error());
    else if (!self->pause_ms)
        say_failure(0, "waiting for the server: %s", lk_last_error());
}

/* No signal is blocked yet, so each one ends the program as usual. */
bool run_opening_should_retry(void *arg) {
    run_opening *self = arg;
    int64_t left_ms = self->until_ms - monotonic_ms();
    if (left_ms <= 0) {
        run_line_clear();
        return false;
    }
    report_absent_server(self);
    self->pause_ms = self->pause_ms ? 2 * self->pause_ms : PAUSE_LEAST_MS;
    if (self->pause_ms > PAUSE_MOST_MS)
        self->pause_ms = PAUSE_MOST_MS;
    poll(NULL, 0, (int)(left_ms < self->pause_ms ? left_ms : self->pause_ms));
    return true;
}

/* ------------------------------------------------------------------------------ async calls */

typedef struct {
    int done_fd;
    atomic_int status; /* written after `error`, and read before it */
    char error[sizeof((run *)0)->error];
} pending_call;

static void keep_error(run *self) {
    snprintf(self->error, sizeof self->error, "%s", lk_last_error());
}

static void on_call_done(lk_lock *lock, lk_status status, void *arg) {
    static const uint64_t one = 1;
    pending_call *call = arg;
    (void)lock;
    snprintf(call->error, sizeof call->error, "%s",
             lk_last_error()); /* valid only in this thread */
    atomic_store(&call->status, (int)status);
    if (write(call->done_fd, &one, sizeof one) < 0)
        return; /* cannot fail: the counter is never full */
}

/* Returns the signal that ends the wait, or 0. There is no command yet to pass signals on to. */
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

/* Called every second. False: it is time to give up. */
typedef bool tick_fn(void *arg);

/*
 * Waits for the end of the call. `tick` may be NULL. A signal, or a tick that gives up, cancels the
 * call; the signal is returned in *ended_by. Returns false if the server did not answer the cancel
 * in time.
 */
static bool await_call(const run *self, const pending_call *call, tick_fn *tick, void *arg,
                       int *ended_by) {
    struct pollfd polled[] = {{call->done_fd, POLLIN, 0}, {self->signal_fd, POLLIN, 0}};
    bool is_ending = *ended_by != 0;
    int64_t until_ms = monotonic_ms() + CANCEL_MS;
    for (;;) {
        int64_t left_ms = until_ms - monotonic_ms();
        if (is_ending && left_ms <= 0)
            return false;
        int ready = poll(polled, 2, is_ending ? (int)left_ms : tick ? TICK_MS : -1);
        if (ready < 0 && errno != EINTR)
            return false;
        if (ready > 0 && polled[0].revents)
            return true;
        int number = read_signals(self);
        bool gives_up = ready == 0 && tick && !tick(arg);
        if (number && !*ended_by)
            *ended_by = number;
        if ((number || gives_up) && !is_ending) {
            is_ending = true;
            lk_cancel(self->lock);
            until_ms = monotonic_ms() + CANCEL_MS;
        }
    }
}

/* A lock that was handed over stays ours for only a second, unless we claim it by a renewal. */
static lk_status claim(const run *self) {
    if (lk_remaining_ms(self->lock) > self->lease_ms / 2)
        return LK_OK;
    return lk_renew(self->lock, 0);
}

/* Only after on_call_done() has signalled done_fd. */
static lk_status call_status(const pending_call *call) {
    uint64_t times;
    lk_status status = (lk_status)atomic_load(&call->status);
    if (read(call->done_fd, &times, sizeof times) < 0)
        return LK_INTERNAL; /* cannot happen: done_fd was readable */
    return status;
}

static bool prepare(pending_call *call, run *self) {
    call->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (call->done_fd < 0)
        snprintf(self->error, sizeof self->error, "no file descriptors left");
    return call->done_fd >= 0;
}

const char *run_reason(const run *self, const char *error) {
    char start[600];
    int length = snprintf(start, sizeof start, "lock \"%s\" on ", self->name);
    bool has_it = length > 0 && strncmp(error, start, (size_t)length) == 0;
    const char *url = error + (has_it ? length : 0), *end = strstr(url, ": ");
    if (!has_it || !end || !memmem(end, strlen(end), url, (size_t)(end - url)))
        return url;
    return end + 2; /* "cannot connect to URL: …" */
}

/* ------------------------------------------------------------------------------ releasing */

static bool show_release(void *arg) {
    const run *self = arg;
    run_line_put("releasing %s: the server does not answer", self->name);
    return true;
}

lk_status run_release(run *self, lk_mode mode, int *ended_by) {
    static pending_call call; /* static: the callback may run after this function has returned */
    if (!prepare(&call, self))
        return LK_NOMEM;
    lk_status status = lk_release_async(self->lock, mode, on_call_done, &call);
    if (status != LK_OK) {
        keep_error(self);
        return status;
    }
    int number = *ended_by;
    bool answered = await_call(self, &call, show_release, self, &number);
    run_line_clear();
    if (answered) {
        memcpy(self->error, call.error, sizeof self->error);
        return call_status(&call);
    }
    *ended_by = number;
    snprintf(self->error, sizeof self->error, "a signal ended the wait for the server");
    return LK_UNAVAILABLE;
}

/* ------------------------------------------------------------------------------ acquiring */

/* How long the wait for the lock may last. */
typedef struct {
    run *self;
    lk_mode mode;
    int64_t until_ms; /* the end of -w */
    bool does_wait;   /* false: -n; then command_timeout alone bounds the attempt */
    int64_t asked_ms; /* the start of the last attempt */
    /*
     * The last attempt failed because the server is away. The next attempts do not wait for the
     * lock, so that each of them finds out whether the outage is over.
     */
    bool is_away;
    int64_t away_since_ms; /* while is_away */
    bool reported;         /* the outage */
} wait_limits;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t silent_since_ms(const run *self) {
    return self->line ? run_line_silent_since_ms(self->line) : RUN_NEVER_MS;
}

/* The end of --server-timeout if the server stays away. */
static int64_t away_until_ms(const wait_limits *p) {
    int64_t timeout_ms = p->self->server_timeout_ms, silent_ms = silent_since_ms(p->self);
    if (timeout_ms < 0)
        return RUN_NEVER_MS;
    if (p->is_away)
        return p->away_since_ms + timeout_ms;
    return silent_ms == RUN_NEVER_MS ? RUN_NEVER_MS : silent_ms + most(timeout_ms, NOTICE_MS);
}

/* The library itself ends an attempt at the end of -w. It then waits for the server to confirm. */
static int64_t attempt_until_ms(const wait_limits *p) {
    bool is_bound = p->does_wait && p->until_ms != RUN_NEVER_MS;
    int64_t until_ms = is_bound ? p->until_ms + (p->is_away ? 0 : LEAVE_MS) : RUN_NEVER_MS;
    return least(until_ms, away_until_ms(p));
}

static bool tick_wait(void *arg) {
    const wait_limits *p = arg;
    if (p->self->line)
        run_line_tick(p->self->line);
    return monotonic_ms() < attempt_until_ms(p);
}

/* The limit of the next attempt. Below 0: none. */
static int64_t next_wait_ms(wait_limits *p) {
    p->asked_ms = monotonic_ms();
    if (p->is_away)
        return 0;
    return p->until_ms == RUN_NEVER_MS ? -1 : most(p->until_ms - p->asked_ms, 0);
}

/* The attempt was given up. The reason of an earlier failure says more than "canceled". */
static lk_status give_up(const wait_limits *p, bool answered) {
    run *self = p->self;
    if (!p->is_away)
        snprintf(self->error, sizeof self->error, "lock \"%s\": the server does not answer",
                 self->name);
    self->skips_cleanup = !answered; /* the attempt to leave the queue has failed already */
    return LK_UNAVAILABLE;
}

static lk_status acquire_once(wait_limits *p, pending_call *call, int *ended_by) {
    run *self = p->self;
    lk_status status = lk_acquire_async(self->lock, p->mode, next_wait_ms(p), on_call_done, call);
    if (status != LK_OK) {
        keep_error(self);
        return status;
    }
    bool is_bound = self->line || p->until_ms != RUN_NEVER_MS;
    bool answered = await_call(self, call, is_bound ? tick_wait : NULL, p, ended_by);
    lk_status ended = answered ? call_status(call) : LK_CANCELED;
    if (*ended_by) {
        if (ended == LK_OK)
            run_release(self, p->mode, ended_by);
        self->skips_cleanup = true; /* whatever the server still holds for us expires */
        return LK_CANCELED;
    }
    if (ended == LK_CANCELED)
        return give_up(p, answered);
    memcpy(self->error, call->error, sizeof self->error);
    if (ended == LK_OK) {
        ended = claim(self);
        if (ended != LK_OK)
            keep_error(self);
    }
    return ended;
}

/* A terminal has the status line. Otherwise one line is printed once, for example for cron(8) mail. */
static void report_outage(const run *self, wait_limits *p) {
    if (!p->reported && !isatty(STDERR_FILENO))
        say_failure(0, "still waiting for lock \"%s\", while the server does not answer (%s)",
                    self->name, run_reason(self, self->error));
    p->reported = true;
}

/* Called after LK_UNAVAILABLE. Returns whether to try again. */
static bool waits_out_outage(wait_limits *p) {
    int64_t now_ms = monotonic_ms();
    if (!p->is_away)
        p->away_since_ms = least(now_ms, silent_since_ms(p->self));
    p->is_away = true;
    if (now_ms >= p->until_ms || now_ms >= away_until_ms(p))
        return false;
    report_outage(p->self, p);
    return true;
}

static bool should_retry(wait_limits *p, lk_status status) {
    run *self = p->self;
    switch (status) {
    case LK_LOST: /* handed over but not claimed in time; the command has not started */
        say_note("lock \"%s\" could not be claimed in time; queueing again", self->name);
        p->is_away = false;
        break;
    case LK_BUSY: /* after an outage: the server is back */
        if (!p->is_away)
            return false;
        p->is_away = false;
        break;
    case LK_UNAVAILABLE:
        if (!waits_out_outage(p))
            return false;
        break;
    default:
        return false;
    }
    if (lk_fence(self->lock)) /* the claim failed, but we hold the lock */
        lk_release_async(self->lock, p->mode, NULL, NULL);
    return true;
}

/* Returns false if a signal came, which is then in *ended_by. */
static bool pause_before_retry(run *self, const wait_limits *p, int *ended_by) {
    struct pollfd polled = {self->signal_fd, POLLIN, 0};
    int64_t ms = p->asked_ms + RETRY_MS - monotonic_ms();
    if (ms > 0)
        poll(&polled, 1, (int)ms);
    *ended_by = read_signals(self);
    self->skips_cleanup = *ended_by != 0;
    return *ended_by == 0;
}

lk_status run_acquire(run *self, lk_mode mode, int64_t wait_ms, int *ended_by) {
    static pending_call call; /* static, as in run_release() */
    wait_limits p = {.self = self,
                     .mode = mode,
                     .does_wait = wait_ms != 0,
                     .until_ms = wait_ms < 0 ? RUN_NEVER_MS : monotonic_ms() + wait_ms};
    if (!prepare(&call, self))
        return LK_NOMEM;
    self->line = run_line_start(self);
    lk_status status;
    do {
        status = acquire_once(&p, &call, ended_by);
    } while (!*ended_by && should_retry(&p, status) &&
             pause_before_retry(self, &p, ended_by));
    run_line_end(self->line);
    return *ended_by ? LK_CANCELED : status;
}
