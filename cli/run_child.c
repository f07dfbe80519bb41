/*
 * Runs the command under the lock. `run` tells the guard when the lease ends, passes signals on, and
 * reports how the command ended.
 *
 * The command stays in our process group, as under flock(1). So keys of the terminal reach the command
 * and the rest of a pipeline, and the shell sees them stop and continue together.
 */
#include "duration.h"
#include "exits.h"
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
    GRACE_PART = 4, /* SIGTERM comes when 1/GRACE_PART of the lease is left */
    GRACE_MOST_MS = 5000,
    MARGIN_PART = 8, /* SIGKILL comes when 1/MARGIN_PART of the lease is left */
    MARGIN_MOST_MS = 500,
    LOST_GRACE_MS = 300, /* from SIGTERM to SIGKILL if the lock is already lost */
    RENEWAL_PART = 10,   /* the guard is told the end of the lease every 1/RENEWAL_PART of it */
    RENEWAL_MOST_MS = 1000,
    GUARD_LATE_MS = 200, /* if the guard has not ended a command by then, we end both */
    STOPPED_MS = 100     /* a command stopped for longer, while we run, has stopped itself */
};

/* What `run` waits for: signals, a loss of the lock, reports of the guard, the end of the command. */
enum { SIGNALS, LOSS, REPORTS, END, SOURCES };

static const int64_t never_ms = INT64_MAX;

/* Read before the fork: the child must not call the library. */
typedef struct {
    char fence[24];
    const char *owner;
} token;

typedef struct {
    run *self;
    token token;
    run_guard guard;
    run_guard_plan plan;
    int64_t end_at_ms;     /* the guard must have ended the command by then; by its clock */
    pid_t pid;             /* of the command, once it has begun */
    int end_fd;            /* readable when the command has ended; -1: none */
    int64_t stopped_at_ms; /* when the command stopped; 0: it runs */
    bool has_terminal;
    bool lost, ending, reported, over, interrupted, unguarded;
    int status;  /* of waitpid */
    int failure; /* errno if the command could not be started */
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

/* Sets the environment in the child: in `run`, threads may be reading it. Returns only on failure. */
static void exec_command(void *arg) {
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

static bool ends_on_loss(const child *c) {
    return c->self->on_lost != ON_LOST_IGNORE;
}

/* How long before the end of the lease the guard acts. */
static int64_t lead_time_ms(const run_guard_plan *plan) {
    return plan->kills_at_once ? plan->margin_ms : plan->grace_ms;
}

/* The guard kills the command margin_ms before the end of the lease. It is late after half of that. */
static int64_t late_at_ms(const child *c, int64_t lease_end_ms) {
    return lease_end_ms - c->plan.margin_ms / 2;
}

/* We become the subreaper: if the guard is killed, we end the processes that it leaves behind. */
static bool start(child *c) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    c->has_terminal = has_terminal();
    c->token.owner = lk_owner(c->self->lock);
    snprintf(c->token.fence, sizeof c->token.fence, "%" PRIu64, lk_fence(c->self->lock));
    int64_t since_ms = run_guard_clock_ms(); /* before left_ms, as in renew_guard() */
    int64_t left_ms = ends_on_loss(c) ? lk_remaining_ms(c->self->lock) : -1;
    c->end_at_ms = left_ms < 0 ? never_ms : late_at_ms(c, since_ms + left_ms);
    return run_guard_start(&c->guard, &c->plan, since_ms, left_ms);
}

/* ------------------------------------------------------------------------------ its lock */

/* A full pipe on stderr must not block the supervision of the command. */
static void report_loss(child *c, bool wait) {
    if (c->reported || (!wait && !run_can_write_stderr()))
        return;
    c->reported = true;
    say_failure(
        EXIT_LOST,
        lk_remaining_ms(c->self->lock) > 0
            ? "lock \"%s\" is about to be lost: its lease was not renewed; ending the command"
            : "lock \"%s\" is lost: its lease was not renewed in time, or it was released "
              "by force; ending the command",
        c->self->name);
}

/* Returns the time until the next call is due; -1: none is. */
static int64_t renew_guard(child *c) {
    if (!ends_on_loss(c) || c->lost)
        return -1;
    int64_t since_ms = run_guard_clock_ms(); /* before left_ms: we may be stopped in between */
    int64_t left_ms = lk_remaining_ms(c->self->lock);
    if (left_ms > 0) {
        run_guard_renew(&c->guard, since_ms, left_ms);
        c->end_at_ms = late_at_ms(c, since_ms + left_ms);
        return least(c->self->lease_ms / RENEWAL_PART, RENEWAL_MOST_MS);
    }
    c->lost = true;
    int64_t grace_ms = c->plan.kills_at_once ? 0 : c->plan.lost_grace_ms;
    c->end_at_ms = least(c->end_at_ms, since_ms + grace_ms + GUARD_LATE_MS);
    run_guard_report_loss(&c->guard);
    return -1; /* the guard ends the command and sends a report */
}

static void drain_lost_fd(const child *c) {
    uint64_t times;
    if (read(c->self->lost_fd, &times, sizeof times) < 0)
        return; /* it was not readable */
}

/* ------------------------------------------------------------------------------ its signals */

/* A signal from the terminal has reached the command already: it is in our process group. */
static void read_signals(child *c) {
    for (run_signal got; (got = run_read_signal(c->self)).number != 0;) {
        if (got.is_terminals && got.number == SIGTSTP)
            run_stop(false);
        else if (got.is_terminals)
            c->interrupted = c->interrupted || got.number == SIGINT;
        else
            run_guard_forward_signal(&c->guard, got.number);
        if (got.number == SIGCONT && c->stopped_at_ms)
            c->stopped_at_ms = monotonic_ms(); /* the command may be continued along with us */
    }
}

/*
 * A command that stops itself stops its whole job, so that the shell sees it and can continue it.
 * Without a terminal there is no such shell: the command stays stopped and keeps its lock. Returns
 * as renew_guard().
 */
static int64_t stop_with_command(child *c) {
    if (!c->stopped_at_ms || !c->has_terminal)
        return -1;
    int64_t until_ms = c->stopped_at_ms + STOPPED_MS - monotonic_ms();
    if (until_ms > 0)
        return until_ms;
    c->stopped_at_ms = 0;
    if (run_tree_is_stopped(c->pid))
        run_stop(true);
    return -1;
}

/* ------------------------------------------------------------------------------ its end */

/* `run` adopts orphans too, for example a private server. None may stay a zombie. */
static void reap_orphans(child *c) {
    for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;)
        if (pid == c->guard.pid)
            c->guard.pid = -1; /* the number may soon belong to another process */
}

/*
 * Ends the guard, the command and all processes of the command. The kernel kills the command with its
 * guard, even without /proc, and we adopt the rest. Daemons are noted before that: later, a daemon
 * looks like any orphan of a process that was killed.
 */
static void end_without_guard(child *c) {
    run_tree tree = {.root = getpid(), .guard = c->guard.pid, .session = getsid(0)};
    run_tree_note_daemons(&tree);
    run_guard_kill(&c->guard);
    run_tree_end(&tree);
    c->over = true;
}

static void await_end_of_command(child *c, pid_t pid) {
    c->pid = pid;
    c->end_fd = run_tree_open_process(pid);
}

/* The guard reports the end, but not while it is stopped. */
static void continue_guard(child *c) {
    run_guard_continue(&c->guard);
    close(c->end_fd);
    c->end_fd = -1; /* poll() skips it */
}

static void read_reports(child *c) {
    for (run_guard_report got; !c->over && run_guard_read_report(&c->guard, &got);) {
        switch (got.word) {
        case GUARD_CANNOT_BEGIN:
            c->failure = got.value;
            break;
        case GUARD_BEGUN:
            await_end_of_command(c, got.value);
            break;
        case GUARD_STOPPED:
            c->stopped_at_ms = monotonic_ms();
            break;
        case GUARD_ENDING:
            c->ending = true;
            report_loss(c, false);
            break;
        case GUARD_ENDED:
            c->status = got.value;
            c->over = true;
            break;
        case GUARD_GONE:
            c->over = true;
            c->unguarded = !c->failure;
            if (c->unguarded)
                end_without_guard(c);
            break;
        }
    }
}

/*
 * The guard has not ended the command in time: somebody stopped it, or it gets no CPU. The time is
 * read before the reports: we may have been stopped ourselves, and the guard may have done its work.
 */
static void end_if_guard_is_late(child *c) {
    bool is_late = run_guard_clock_ms() >= c->end_at_ms;
    read_reports(c);
    if (c->over || !is_late)
        return;
    end_without_guard(c);
    if (atomic_load(&c->guard.shared->has_begun))
        c->ending = true;
    else
        c->failure = RUN_GUARD_TOO_LATE;
}

/* Returns as renew_guard(). */
static int64_t until_guard_is_late_ms(const child *c) {
    int64_t until_ms = c->end_at_ms - run_guard_clock_ms();
    return c->end_at_ms == never_ms ? -1 : until_ms > 0 ? until_ms : 0;
}

static int64_t earlier(int64_t a_ms, int64_t b_ms) {
    return a_ms < 0 ? b_ms : b_ms < 0 ? a_ms : least(a_ms, b_ms);
}

static void supervise(child *c) {
    struct pollfd polled[SOURCES] = {[SIGNALS] = {c->self->signal_fd, POLLIN, 0},
                                     [LOSS] = {c->self->lost_fd, POLLIN, 0},
                                     [REPORTS] = {c->guard.fd, POLLIN, 0}};
    while (!c->over) {
        int64_t wait_ms = earlier(renew_guard(c), stop_with_command(c));
        wait_ms = earlier(wait_ms, until_guard_is_late_ms(c));
        polled[END] = (struct pollfd){c->end_fd, POLLIN, 0};
        poll(polled, SOURCES, (int)wait_ms);
        drain_lost_fd(c);
        end_if_guard_is_late(c);
        if (polled[END].revents)
            continue_guard(c);
        read_signals(c);
        reap_orphans(c);
    }
}

static int code_of(const child *c) {
    if (c->failure)
        return say_failure(c->failure == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE, "%s: %s",
                           c->self->command[0], strerror(c->failure));
    if (c->unguarded)
        return say_failure(EXIT_BROKEN,
                           "the guard process of the command was killed, and the command with it");
    if (c->ending)
        return EXIT_LOST;
    if (WIFSIGNALED(c->status))
        return EXIT_BY_SIGNAL + WTERMSIG(c->status);
    return WEXITSTATUS(c->status);
}

int run_child(run *self) {
    child c = {.self = self, .end_fd = -1};
    c.plan = (run_guard_plan){.kills_at_once = self->on_lost == ON_LOST_KILL,
                              .grace_ms = least(self->lease_ms / GRACE_PART, GRACE_MOST_MS),
                              .margin_ms = least(self->lease_ms / MARGIN_PART, MARGIN_MOST_MS),
                              .lost_grace_ms = LOST_GRACE_MS,
                              .exec_command = exec_command,
                              .arg = &c};
    if (!start(&c)) {
        int why = errno;
        run_guard_end(&c.guard);
        return say_failure(EXIT_BROKEN, "cannot start the command: %s", strerror(why));
    }
    supervise(&c);
    if (c.end_fd >= 0)
        close(c.end_fd);
    run_guard_end(&c.guard);
    self->is_too_late = c.failure == RUN_GUARD_TOO_LATE;
    if (self->is_too_late)
        return EXIT_LOST;
    if (c.ending) {
        report_loss(&c, true);
        /* Not renewed since: the lease expires before a release could succeed. */
        self->skips_cleanup = lk_remaining_ms(self->lock) <= lead_time_ms(&c.plan);
    }
    /* A shell that runs us in a loop ends the loop only if we die of SIGINT too. */
    if (!c.ending && c.interrupted && WIFSIGNALED(c.status) && WTERMSIG(c.status) == SIGINT)
        self->interrupted = SIGINT;
    return code_of(&c);
}
