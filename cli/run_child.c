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
    LATE_MS = 300 /* from SIGTERM to SIGKILL when the lock is lost already */
};

typedef struct {
    run *self;
    pid_t pid;
    int terminal; /* -1: none, or it is not ours to give */
    int64_t grace_ms, margin_ms;
    int64_t kill_at_ms; /* when it is late; 0: not decided */
    bool termed, killed, over;
    int status; /* of waitpid */
} child;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ------------------------------------------------------------------------------ its start */

static int open_terminal(void) {
    int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal >= 0 && tcgetpgrp(terminal) != getpgrp()) {
        close(terminal);
        return -1;
    }
    return terminal;
}

static void set_environment(const run *self) {
    char fence[24];
    snprintf(fence, sizeof fence, "%" PRIu64, lk_fence(self->lock));
    setenv("LATCHKEY_NAME", self->name, 1);
    setenv("LATCHKEY_FENCE", fence, 1);
    setenv("LATCHKEY_OWNER", lk_owner(self->lock), 1);
}

/* Never returns. Tells at `report` why it could not begin. */
static void become(const child *c, pid_t parent, int report) {
    const run *self = c->self;
    setpgid(0, 0);
    if (c->terminal >= 0)
        tcsetpgrp(c->terminal, getpid());
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_LOST); /* it was killed before we asked to be told */
    sigprocmask(SIG_SETMASK, &self->mask, NULL);
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
    if (pipe2(report, O_CLOEXEC) != 0)
        return say_failure(EXIT_BROKEN, "no descriptors are left");
    set_environment(c->self);
    c->terminal = open_terminal();
    c->pid = fork();
    if (c->pid == 0)
        become(c, parent, report[1]);
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

/* The shell is to see that the job has stopped, and may continue it. */
static void stop_along(const child *c) {
    if (c->terminal < 0)
        return;
    tcsetpgrp(c->terminal, getpgrp());
    raise(SIGSTOP);
    if (tcgetpgrp(c->terminal) == getpgrp())
        tcsetpgrp(c->terminal, c->pid);
    signal_all(c, SIGCONT);
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
        else if (number != SIGWINCH || c->terminal < 0)
            signal_all(c, number);
    }
}

/* ------------------------------------------------------------------------------ its lock */

static void kill_it(child *c) {
    c->killed = true;
    signal_all(c, SIGKILL);
}

static void term_it(child *c, int64_t left_ms) {
    c->termed = true;
    c->kill_at_ms = left_ms > c->margin_ms ? 0 : moment_ms() + LATE_MS;
    say_failure(EXIT_LOST,
                left_ms > 0 ? "lock \"%s\" is about to be lost, the server has not renewed it; "
                              "ending the command"
                            : "lock \"%s\" is lost; ending the command",
                c->self->name);
    if (c->self->on_lost == ON_LOST_KILL)
        kill_it(c);
    else
        signal_all(c, SIGTERM);
    signal_all(c, SIGCONT); /* what is stopped could not end */
}

/* Ends the command in time. Returns for how long there is nothing to do, -1: for ever. */
static int64_t guard_lock(child *c) {
    const run *self = c->self;
    if (self->on_lost == ON_LOST_IGNORE || c->killed)
        return -1;
    int64_t left_ms = lk_remaining_ms(self->lock);
    int64_t first_ms = self->on_lost == ON_LOST_KILL ? c->margin_ms : c->grace_ms;
    if (!c->termed) {
        if (left_ms > first_ms)
            return left_ms - first_ms;
        term_it(c, left_ms);
    }
    if (c->killed)
        return -1;
    int64_t until_ms = c->kill_at_ms ? c->kill_at_ms - moment_ms() : left_ms - c->margin_ms;
    if (until_ms > 0)
        return until_ms;
    kill_it(c);
    return -1;
}

/* ------------------------------------------------------------------------------ its end */

static int code_of(const child *c) {
    if (c->termed)
        return EXIT_LOST;
    if (WIFSIGNALED(c->status))
        return EXIT_BY_SIGNAL + WTERMSIG(c->status);
    return WEXITSTATUS(c->status);
}

static void take_terminal_back(const child *c) {
    if (c->terminal < 0)
        return;
    tcsetpgrp(c->terminal, getpgrp());
    close(c->terminal);
}

int run_child(run *self) {
    child c = {.self = self,
               .terminal = -1,
               .grace_ms = least(self->lease_ms / GRACE_PART, GRACE_MOST_MS),
               .margin_ms = least(self->lease_ms / MARGIN_PART, MARGIN_MOST_MS)};
    int code = start(&c);
    struct pollfd polled[] = {{self->signal_fd, POLLIN, 0}, {self->lost_fd, POLLIN, 0}};
    while (!c.over && c.pid > 0) {
        int64_t wait_ms = guard_lock(&c);
        poll(polled, c.termed ? 1 : 2, (int)least(wait_ms, 1000000));
        read_signals(&c);
    }
    if (c.termed)
        signal_all(&c, SIGKILL); /* those that it left behind */
    take_terminal_back(&c);
    return code ? code : code_of(&c);
}
