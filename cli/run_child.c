/*
 * The command under the lock: its start, its signals, its end; and its end before the lock can be
 * somebody else's.
 *
 * It has a process group of its own, so that all of it can be ended, and the terminal while it runs.
 */
#include "exits.h"
#include "moment.h"
#include "run.h"
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    GRACE_PART = 4, /* of a lease that was not renewed: time enough to end in good order */
    GRACE_MOST_MS = 5000,
    MARGIN_PART = 20, /* of a lease: the last instant for SIGKILL is so long before its end */
    MARGIN_MOST_MS = 500,
    LATE_MS = 300, /* from SIGTERM to SIGKILL when the lock is lost already */
    REST_MS = 10   /* how often we look whether those that the command left behind have ended */
};

typedef struct {
    run *self;
    pid_t pid;
    run_terminal terminal;
    run_guard guard;
    int64_t grace_ms, margin_ms;
    int64_t kill_at_ms; /* once it is termed */
    bool termed, told, killed, over;
    int status; /* of waitpid */
} child;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ------------------------------------------------------------------------------ its start */

/* What the library can be asked for on our side of the fork only. */
typedef struct {
    char fence[24];
    const char *owner;
} token;

/* In the child: threads may read the environment here. */
static bool set_environment(const run *self, const token *given) {
    return setenv("LATCHKEY_NAME", self->name, 1) == 0 &&
           setenv("LATCHKEY_FENCE", given->fence, 1) == 0 &&
           setenv("LATCHKEY_OWNER", given->owner, 1) == 0 &&
           (self->abandoned ? setenv("LATCHKEY_ABANDONED", "1", 1)
                            : unsetenv("LATCHKEY_ABANDONED")) == 0;
}

/* Never returns. Tells at `report` why it could not begin. */
static void become(const child *c, const token *given, pid_t parent, int report) {
    const run *self = c->self;
    setpgid(0, 0);
    run_terminal_give(&c->terminal, getpid());
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_LOST); /* it was killed before we asked to be told */
    signal(SIGCHLD, self->on_child);
    sigprocmask(SIG_SETMASK, &self->mask, NULL);
    if (run_guard_tell(&c->guard, getpid()) && set_environment(self, given))
        execvp(self->command[0], self->command);
    int why = errno;
    if (write(report, &why, sizeof why) < 0)
        _exit(EXIT_NOT_RUNNABLE);
    _exit(EXIT_NOT_FOUND);
}

/* Returns 0, or the code to end with. */
static int start(child *c) {
    int report[2], why = 0;
    pid_t parent = getpid();
    if (!run_guard_start(&c->guard))
        return say_failure(EXIT_BROKEN, "the command cannot be started: %s", strerror(errno));
    if (pipe2(report, O_CLOEXEC) != 0)
        return say_failure(EXIT_BROKEN, "no descriptors are left");
    token given = {.owner = lk_owner(c->self->lock)};
    snprintf(given.fence, sizeof given.fence, "%" PRIu64, lk_fence(c->self->lock));
    c->terminal = run_terminal_open();
    c->pid = fork();
    if (c->pid == 0)
        become(c, &given, parent, report[1]);
    close(report[1]);
    if (c->pid < 0) {
        close(report[0]);
        return say_failure(EXIT_BROKEN, "the command cannot be started: %s", strerror(errno));
    }
    setpgid(c->pid, c->pid);
    ssize_t length = read(report[0], &why, sizeof why);
    close(report[0]);
    if (length != (ssize_t)sizeof why)
        return 0;
    waitpid(c->pid, &c->status, 0);
    c->over = true;
    return say_failure(why == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE, "%s: %s",
                       c->self->command[0], strerror(why));
}

/* ------------------------------------------------------------------------------ its signals */

static void signal_all(const child *c, int number) {
    kill(-c->pid, number);
}

/* With less than that left, the command has to end. */
static int64_t least_left_ms(const child *c) {
    return c->self->on_lost == ON_LOST_KILL ? c->margin_ms : c->grace_ms;
}

/* It may go on, and has the terminal if the shell gave it to us; not without the lock. */
static void go_on(child *c) {
    run_terminal_follow(&c->terminal, c->pid);
    if (c->self->on_lost == ON_LOST_IGNORE || lk_remaining_ms(c->self->lock) > least_left_ms(c))
        signal_all(c, SIGCONT); /* otherwise it is continued to be ended */
}

/*
 * The shell is to see that the job has stopped, and may continue it. Where nobody could (a group of
 * orphans), the kernel does not stop us, and the command goes on. It stays stopped, with its lock,
 * where it is not in front.
 */
static void stop_along(child *c) {
    bool was_in_front = c->terminal.in_front;
    if (c->terminal.fd < 0)
        return;
    run_terminal_give(&c->terminal, getpgrp());
    run_stop(true);
    if (was_in_front)
        go_on(c);
}

static void look_after_child(child *c) {
    int status;
    while (waitpid(c->pid, &status, WNOHANG | WUNTRACED) == c->pid) {
        if (WIFSTOPPED(status)) {
            stop_along(c);
            continue;
        }
        c->status = status;
        c->over = true;
        return;
    }
}

static void read_signals(child *c) {
    int number;
    while ((number = run_next_signal(c->self)) != 0) {
        if (number == SIGCHLD)
            look_after_child(c);
        else if (number == SIGCONT)
            go_on(c);
        else if (number != SIGWINCH || !c->terminal.in_front) /* in front it has its own already */
            signal_all(c, number);
    }
}

/* ------------------------------------------------------------------------------ its lock */

static void kill_it(child *c) {
    c->killed = true;
    signal_all(c, SIGKILL);
}

/* A reader of stderr that has gone to sleep must not keep the command alive. */
static void tell_loss(child *c, bool wait) {
    if (c->told || (!wait && !run_may_write()))
        return;
    c->told = true;
    say_failure(EXIT_LOST,
                lk_remaining_ms(c->self->lock) > 0
                    ? "lock \"%s\" is about to be lost, the server has not renewed it; ending the "
                      "command"
                    : "lock \"%s\" is lost, not renewed in time or taken away by force; ending the "
                      "command",
                c->self->name);
}

static void term_it(child *c, int64_t left_ms) {
    c->termed = true;
    if (left_ms > 0) /* nobody else has it yet */
        c->kill_at_ms = moment_ms() + left_ms - least(left_ms, c->margin_ms);
    else
        c->kill_at_ms = moment_ms() + LATE_MS;
    if (c->self->on_lost == ON_LOST_KILL)
        kill_it(c);
    else
        signal_all(c, SIGTERM);
    signal_all(c, SIGCONT); /* what is stopped could not end */
    tell_loss(c, false);
}

/* Ends the command in time. Returns for how long there is nothing to do, -1: for ever. */
static int64_t guard_lock(child *c) {
    if (c->self->on_lost == ON_LOST_IGNORE || c->killed)
        return -1;
    int64_t left_ms = lk_remaining_ms(c->self->lock);
    if (!c->termed) {
        if (left_ms > least_left_ms(c))
            return left_ms - least_left_ms(c);
        term_it(c, left_ms);
    }
    if (left_ms == 0) /* it was taken from us after that */
        c->kill_at_ms = least(c->kill_at_ms, moment_ms() + LATE_MS);
    int64_t until_ms = c->kill_at_ms - moment_ms();
    if (until_ms > 0 && !c->killed)
        return until_ms;
    kill_it(c);
    return -1;
}

static void hear_of_loss(const child *c) {
    uint64_t times;
    if (read(c->self->lost_fd, &times, sizeof times) < 0)
        return; /* nothing new; guard_lock() looks for itself */
}

/* ------------------------------------------------------------------------------ its end */

static int code_of(const child *c) {
    if (c->termed)
        return EXIT_LOST;
    if (WIFSIGNALED(c->status))
        return EXIT_BY_SIGNAL + WTERMSIG(c->status);
    return WEXITSTATUS(c->status);
}

/* A shell dies of SIGTERM at once; its children keep the time that is left to end in good order. */
static void end_the_rest(child *c) {
    while (!c->killed && kill(-c->pid, 0) == 0) {
        int64_t wait_ms = guard_lock(c);
        if (!c->killed)
            poll(NULL, 0, (int)least(wait_ms, REST_MS));
    }
    tell_loss(c, true);
}

int run_child(run *self) {
    child c = {.self = self,
               .terminal = {.fd = -1},
               .guard = {.line = -1},
               .grace_ms = least(self->lease_ms / GRACE_PART, GRACE_MOST_MS),
               .margin_ms = least(self->lease_ms / MARGIN_PART, MARGIN_MOST_MS)};
    int code = start(&c);
    struct pollfd polled[] = {{self->signal_fd, POLLIN, 0}, {self->lost_fd, POLLIN, 0}};
    while (!c.over && c.pid > 0) {
        int64_t wait_ms = guard_lock(&c);
        poll(polled, 2, (int)least(wait_ms, 1000000));
        hear_of_loss(&c);
        read_signals(&c);
    }
    if (c.termed) {
        end_the_rest(&c);
        /* Not renewed since: it runs out by itself before the server would be heard of. */
        self->leaves = lk_remaining_ms(self->lock) <= least_left_ms(&c);
    }
    run_guard_end(&c.guard);
    run_terminal_close(&c.terminal);
    /* A shell that runs us in a loop looks for that to end the loop too. */
    if (!code && !c.termed && c.terminal.in_front && WIFSIGNALED(c.status) &&
        WTERMSIG(c.status) == SIGINT)
        self->interrupted = SIGINT;
    return code ? code : code_of(&c);
}
