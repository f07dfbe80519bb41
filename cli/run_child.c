/*
 * The command under the lock: `run` tells the guard how long the lock is ours, passes signals on,
 * and says how it ended.
 *
 * The command is in our process group, so the terminal is the job's as under flock(1): its keys reach
 * the command and the rest of a pipeline, and the shell sees them stop and go on together.
 */
#include "exits.h"
#include "moment.h"
#include "run.h"
#include "run_guard.h"
#include "run_tree.h"
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
    LATE_MS = 300,     /* from SIGTERM to SIGKILL when the lock is lost already */
    RENEWAL_PART = 10, /* of a lease: how often the guard is told of its end */
    RENEWAL_MOST_MS = 1000,
    STOPPED_MS = 100 /* a command that stays stopped so long, while we run, has stopped by itself */
};

/* What the library can be asked for on our side of the fork only. */
typedef struct {
    char fence[24];
    const char *owner;
} token;

typedef struct {
    run *self;
    token token;
    run_guard guard;
    run_guard_plan plan;
    pid_t pid;             /* of the command, once it has begun */
    int64_t stopped_at_ms; /* the command; 0: it is not */
    bool has_terminal;
    bool lost, ending, told, over, interrupted, unguarded;
    int status;  /* of waitpid */
    int failure; /* errno: why it could not begin */
} child;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ------------------------------------------------------------------------------ its start */

static bool set_environment(const run *self, const token *given) {
    return setenv("LATCHKEY_NAME", self->name, 1) == 0 &&
           setenv("LATCHKEY_FENCE", given->fence, 1) == 0 &&
           setenv("LATCHKEY_OWNER", given->owner, 1) == 0 &&
           (self->abandoned ? setenv("LATCHKEY_ABANDONED", "1", 1)
                            : unsetenv("LATCHKEY_ABANDONED")) == 0;
}

/* In the child: threads may read the environment in `run`. Returns only if it fails. */
static void become(void *arg) {
    const child *c = arg;
    const run *self = c->self;
    signal(SIGCHLD, self->on_child);
    sigprocmask(SIG_SETMASK, &self->mask, NULL);
    if (set_environment(self, &c->token))
        execvp(self->command[0], self->command);
}

static bool has_terminal(void) {
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool heeds_lock(const child *c) {
    return c->self->on_lost != ON_LOST_IGNORE;
}

/* The guard ends the command so long before the end of the lease. */
static int64_t ending_ms(const run_guard_plan *plan) {
    return plan->kills_at_once ? plan->margin_ms : plan->grace_ms;
}

/* Should the guard be killed, what it leaves behind is ours to end. */
static bool start(child *c) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    c->has_terminal = has_terminal();
    c->token.owner = lk_owner(c->self->lock);
    snprintf(c->token.fence, sizeof c->token.fence, "%" PRIu64, lk_fence(c->self->lock));
    int64_t since_ms = run_guard_clock_ms(); /* first, as in renew_guard() */
    int64_t left_ms = heeds_lock(c) ? lk_remaining_ms(c->self->lock) : -1;
    return run_guard_start(&c->guard, &c->plan, since_ms, left_ms);
}

/* ------------------------------------------------------------------------------ its lock */

/* A full pipe on stderr must not keep `run` from looking after the command. */
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

/* Returns for how long there is nothing to do; -1: for ever. */
static int64_t renew_guard(child *c) {
    if (!heeds_lock(c) || c->lost)
        return -1;
    int64_t since_ms = run_guard_clock_ms(); /* first: we may be stopped in between */
    int64_t left_ms = lk_remaining_ms(c->self->lock);
    if (left_ms > 0) {
        run_guard_renew(&c->guard, since_ms, left_ms);
        return least(c->self->lease_ms / RENEWAL_PART, RENEWAL_MOST_MS);
    }
    c->lost = true;
    run_guard_lost(&c->guard);
    return -1; /* the guard ends the command, and reports that */
}

static void hear_of_loss(const child *c) {
    uint64_t times;
    if (read(c->self->lost_fd, &times, sizeof times) < 0)
        return; /* nothing new; renew_guard() looks for itself */
}

/* ------------------------------------------------------------------------------ its signals */

/* Keys of the terminal have reached the command already: it is in the same process group. */
static void read_signals(child *c) {
    for (run_signal got; (got = run_read_signal(c->self)).number != 0;) {
        if (got.is_terminals && got.number == SIGTSTP)
            run_stop(false);
        else if (got.is_terminals)
            c->interrupted = c->interrupted || got.number == SIGINT;
        else
            run_guard_pass_on(&c->guard, got.number);
        if (got.number == SIGCONT && c->stopped_at_ms)
            c->stopped_at_ms = moment_ms(); /* it may be continued along with us */
    }
}

/*
 * A command that stops by itself stops its whole job: so the shell sees it, and can continue it.
 * Without a terminal nobody would; then it stays stopped, and keeps its lock. Returns as
 * renew_guard().
 */
static int64_t stop_along(child *c) {
    if (!c->stopped_at_ms || !c->has_terminal)
        return -1;
    int64_t until_ms = c->stopped_at_ms + STOPPED_MS - moment_ms();
    if (until_ms > 0)
        return until_ms;
    c->stopped_at_ms = 0;
    if (run_tree_is_stopped(c->pid))
        run_stop(true);
    return -1;
}

/* ------------------------------------------------------------------------------ its end */

/* `run` adopts orphans too, for example a private server: none must stay a zombie. */
static void reap_orphans(void) {
    while (waitpid(-1, NULL, WNOHANG) > 0) {}
}

/* The kernel has killed the command along with its guard. What the command started is ours now. */
static void end_without_guard(child *c) {
    run_tree tree = {.root = getpid(), .session = getsid(0)};
    run_tree_end(&tree);
    c->unguarded = true;
}

static void read_reports(child *c) {
    for (run_guard_report got; !c->over && run_guard_hear(&c->guard, &got);) {
        switch (got.word) {
        case GUARD_CANNOT_BEGIN:
            c->failure = got.value;
            break;
        case GUARD_BEGUN:
            c->pid = got.value;
            break;
        case GUARD_STOPPED:
            c->stopped_at_ms = moment_ms();
            break;
        case GUARD_ENDING:
            c->ending = true;
            tell_loss(c, false);
            break;
        case GUARD_ENDED:
            c->status = got.value;
            c->over = true;
            break;
        case GUARD_GONE:
            c->over = true;
            if (!c->failure)
                end_without_guard(c);
            break;
        }
    }
}

static int64_t sooner(int64_t a_ms, int64_t b_ms) {
    return a_ms < 0 ? b_ms : b_ms < 0 ? a_ms : least(a_ms, b_ms);
}

static void look_after(child *c) {
    struct pollfd polled[] = {
        {c->self->signal_fd, POLLIN, 0}, {c->self->lost_fd, POLLIN, 0}, {c->guard.fd, POLLIN, 0}};
    while (!c->over) {
        int64_t wait_ms = sooner(renew_guard(c), stop_along(c));
        poll(polled, 3, (int)wait_ms);
        hear_of_loss(c);
        read_reports(c);
        read_signals(c);
        reap_orphans();
    }
}

static int code_of(const child *c) {
    if (c->failure)
        return say_failure(c->failure == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE, "%s: %s",
                           c->self->command[0], strerror(c->failure));
    if (c->unguarded)
        return say_failure(EXIT_BROKEN,
                           "the process that guards the command was killed, and the command too");
    if (c->ending)
        return EXIT_LOST;
    if (WIFSIGNALED(c->status))
        return EXIT_BY_SIGNAL + WTERMSIG(c->status);
    return WEXITSTATUS(c->status);
}

int run_child(run *self) {
    child c = {.self = self};
    c.plan = (run_guard_plan){.kills_at_once = self->on_lost == ON_LOST_KILL,
                              .grace_ms = least(self->lease_ms / GRACE_PART, GRACE_MOST_MS),
                              .margin_ms = least(self->lease_ms / MARGIN_PART, MARGIN_MOST_MS),
                              .late_ms = LATE_MS,
                              .become = become,
                              .arg = &c};
    if (!start(&c)) {
        int why = errno;
        run_guard_end(&c.guard);
        return say_failure(EXIT_BROKEN, "the command cannot be started: %s", strerror(why));
    }
    look_after(&c);
    run_guard_end(&c.guard);
    if (c.ending) {
        tell_loss(&c, true);
        /* Not renewed since: it runs out by itself before the server would be heard of. */
        self->leaves = lk_remaining_ms(self->lock) <= ending_ms(&c.plan);
    }
    /* A shell that runs us in a loop looks for that to end the loop too. */
    if (!c.ending && c.interrupted && WIFSIGNALED(c.status) && WTERMSIG(c.status) == SIGINT)
        self->interrupted = SIGINT;
    return code_of(&c);
}
