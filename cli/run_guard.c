/* See run_guard.h. The guard is a fork of a program with threads, so it only makes system calls. */
#include "run_guard.h"

#include "run_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the guard waits for: orders from `run`, the exec of the command, the end of children, a timer. */
enum { RUN, EXEC, CHILDREN, TIMER, SOURCES };

static const int64_t never_ms = INT64_MAX;

typedef enum { ORDER_LOST, ORDER_SIGNAL } order_word;

typedef struct {
    order_word word;
    int number;
} order;

/*
 *   WORKS ──terminate()──> ENDING ──kill_all()──> ENDED
 *     │                       │                     ^
 *     └───────────────────────┴── the command ends ─┘
 *
 * The guard reports ENDED to `run`. In WORKS, the command has ended when its first process has; other
 * processes that it started go on. In ENDING, the command has ended when all of them have.
 */
typedef enum { WORKS, ENDING, ENDED } state;

typedef struct {
    const run_guard_plan *plan;
    run_guard_shared *shared;
    struct pollfd sources[SOURCES];
    state state;
    bool command_ended;
    int status; /* of the command */
    int64_t kill_at_ms;
    run_tree tree;
} guard;

int64_t run_guard_clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t earlier(int64_t a_ms, int64_t b_ms) {
    return a_ms < b_ms ? a_ms : b_ms;
}

/* ------------------------------------------------------------------------------ reports */

static void report(const guard *self, run_guard_word word, int value) {
    run_guard_report said = {word, value};
    /* `run` may be stopped, and the socket full. Only the last report is worth blocking for. */
    int flags = MSG_NOSIGNAL | (word == GUARD_ENDED ? 0 : MSG_DONTWAIT);
    while (send(self->sources[RUN].fd, &said, sizeof said, flags) < 0 && errno == EINTR) {}
}

static void ended(guard *self) {
    self->state = ENDED;
    report(self, GUARD_ENDED, self->status);
}

/* ------------------------------------------------------------------------------ the end */

static void reap(guard *self) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != self->tree.command)
            continue;
        if (WIFSTOPPED(status)) {
            report(self, GUARD_STOPPED, WSTOPSIG(status));
        } else {
            self->status = status;
            self->command_ended = true;
        }
    }
}

static void kill_all(guard *self) {
    if (!self->command_ended)
        kill(self->tree.command, SIGKILL); /* works without /proc too */
    run_tree_end(&self->tree);
    while (!self->command_ended) {
        reap(self);
        if (!self->command_ended)
            poll(NULL, 0, 1);
    }
    ended(self);
}

/* Begins the end of the command: with SIGTERM, or with SIGKILL if the plan says so. */
static void terminate(guard *self, int64_t kill_at_ms) {
    self->state = ENDING;
    self->kill_at_ms = kill_at_ms;
    run_tree_note_daemons(&self->tree);
    report(self, GUARD_ENDING, 0);
    if (self->plan->kills_at_once) {
        kill_all(self);
        return;
    }
    run_tree_signal(&self->tree, SIGTERM);
    run_tree_signal(&self->tree, SIGCONT); /* a stopped process cannot react to SIGTERM */
}

static void lost(guard *self) {
    int64_t kill_at_ms = run_guard_clock_ms() + self->plan->lost_grace_ms;
    if (self->state == WORKS)
        terminate(self, kill_at_ms);
    else if (self->state == ENDING)
        self->kill_at_ms = earlier(self->kill_at_ms, kill_at_ms);
}

/* When the guard has to act next. */
static int64_t due_ms(const guard *self) {
    int64_t end_ms = atomic_load(&self->shared->lease_end_ms);
    if (self->state == ENDED || end_ms == never_ms)
        return self->state == ENDING ? self->kill_at_ms : never_ms;
    if (self->state == ENDING)
        return self->kill_at_ms;
    return end_ms - (self->plan->kills_at_once ? self->plan->margin_ms : self->plan->grace_ms);
}

static void act_if_due(guard *self) {
    int64_t now_ms = run_guard_clock_ms();
    if (self->state == WORKS && now_ms >= due_ms(self))
        terminate(self, atomic_load(&self->shared->lease_end_ms) - self->plan->margin_ms);
    if (self->state == ENDING && now_ms >= due_ms(self))
        kill_all(self);
}

/* ------------------------------------------------------------------------------ the loop */

static void follow_order(guard *self, const order *given) {
    bool stops = given->number == SIGTSTP || given->number == SIGSTOP;
    switch (given->word) {
    case ORDER_LOST:
        lost(self);
        break;
    case ORDER_SIGNAL:
        if (self->state == WORKS || (self->state == ENDING && !stops))
            run_tree_signal(&self->tree, given->number);
        break;
    }
}

/* A closed socket means that `run` was killed. */
static void read_orders(guard *self) {
    order given;
    ssize_t length;
    while ((length = recv(self->sources[RUN].fd, &given, sizeof given, MSG_DONTWAIT)) ==
           (ssize_t)sizeof given)
        follow_order(self, &given);
    if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR)) {
        run_tree_end(&self->tree);
        _exit(0);
    }
}

/* A successful exec closes the pipe of the child. If exec fails, the child writes errno first. */
static void read_exec_result(guard *self) {
    int why;
    bool failed = read(self->sources[EXEC].fd, &why, sizeof why) == (ssize_t)sizeof why;
    report(self, failed ? GUARD_CANNOT_BEGIN : GUARD_BEGUN, failed ? why : (int)self->tree.command);
    close(self->sources[EXEC].fd);
    self->sources[EXEC].fd = -1; /* poll() skips it */
    self->sources[EXEC].revents = 0;
}

static void reap_children(guard *self) {
    struct signalfd_siginfo signal;
    while (read(self->sources[CHILDREN].fd, &signal, sizeof signal) > 0) {}
    reap(self);
    if (self->state == WORKS && self->command_ended)
        ended(self);
    /* The guard adopts orphans. So if it has no child, no process of the command is left. */
    else if (self->state == ENDING && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
        ended(self);
}

/* The timer uses CLOCK_BOOTTIME: a lease also runs while the machine sleeps. */
static void set_timer(const guard *self, int64_t at_ms) {
    struct itimerspec when = {0};
    if (at_ms != never_ms) {
        at_ms = at_ms > 0 ? at_ms : 1;
        when.it_value = (struct timespec){at_ms / 1000, at_ms % 1000 * 1000000};
    }
    timerfd_settime(self->sources[TIMER].fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static _Noreturn void guard_loop(guard *self) {
    for (;;) {
        set_timer(self, due_ms(self));
        poll(self->sources, SOURCES, -1);
        act_if_due(self);
        if (self->sources[EXEC].revents)
            read_exec_result(self);
        reap_children(self);
        read_orders(self);
    }
}

/* ------------------------------------------------------------------------------ the start */

/* `run` may have been stopped since the lock was granted. Then another may have the lock by now. */
static bool is_too_late(const guard *self) {
    return run_guard_clock_ms() >= due_ms(self);
}

static _Noreturn void become_command(const guard *self, int failure) {
    int why = RUN_GUARD_TOO_LATE;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self->tree.root)
        _exit(1); /* the guard was killed before the prctl() */
    if (!is_too_late(self)) {
        atomic_store(&self->shared->has_begun, true);
        self->plan->exec_command(self->plan->arg);
        why = errno;
    }
    if (write(failure, &why, sizeof why) < 0)
        _exit(1);
    _exit(1);
}

static bool is_source(const guard *self, int fd) {
    for (size_t i = 0; i < SOURCES; i++)
        if (self->sources[i].fd == fd)
            return true;
    return false;
}

/* A pipe must end with the command, so the guard keeps no descriptor of `run` open. */
static void close_others(const guard *self) {
    int last = 0;
    for (size_t i = 0; i < SOURCES; i++)
        last = self->sources[i].fd > last ? self->sources[i].fd : last;
    for (int fd = 0; fd < last; fd++)
        if (!is_source(self, fd))
            close(fd);
    if (close_range((unsigned)last + 1, ~0U, 0) != 0) /* before Linux 5.9 */
        for (int fd = (int)sysconf(_SC_OPEN_MAX); fd > last; fd--)
            close(fd);
}

/*
 * The guard must act in time on a busy machine. Without the right to do so, this has no effect. The
 * command gets the usual priority.
 */
static void raise_priority(void) {
    struct sched_param least = {.sched_priority = sched_get_priority_min(SCHED_RR)};
    sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &least);
}

static bool open_sources(guard *self, int failure) {
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    self->sources[EXEC] = (struct pollfd){failure, POLLIN, 0};
    self->sources[CHILDREN] = (struct pollfd){signals, POLLIN, 0};
    self->sources[TIMER] = (struct pollfd){timer, POLLIN, 0};
    return signals >= 0 && timer >= 0;
}

/* Runs in the guard. False with errno: the command was not started. */
static bool begin(guard *self) {
    int failure[2];
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, RUN_GUARD_NAME);
    self->tree = (run_tree){.root = getpid(), .session = getsid(0)};
    if (pipe2(failure, O_CLOEXEC) != 0 || !open_sources(self, failure[0]))
        return false;
    raise_priority();
    if (is_too_late(self)) {
        errno = RUN_GUARD_TOO_LATE;
        return false;
    }
    self->tree.command = fork();
    if (self->tree.command == 0)
        become_command(self, failure[1]);
    if (self->tree.command < 0)
        return false;
    setsid(); /* after the fork: the command stays in the session of `run` */
    close_others(self);
    return true;
}

/*
 * If a process exits with orders unread, its peer gets ECONNRESET, and not the reports that were sent before. So
 * the guard reads all orders until `run` has read the reports.
 */
static _Noreturn void await_end_of_run(const guard *self) {
    order given;
    while (recv(self->sources[RUN].fd, &given, sizeof given, 0) > 0) {}
    _exit(1);
}

static _Noreturn void guard_main(const run_guard_plan *plan, run_guard_shared *shared, int run_fd) {
    guard self = {.plan = plan, .shared = shared};
    self.sources[RUN] = (struct pollfd){run_fd, POLLIN, 0};
    if (begin(&self))
        guard_loop(&self);
    report(&self, GUARD_CANNOT_BEGIN, errno);
    ended(&self);
    await_end_of_run(&self);
}

/* ------------------------------------------------------------------------------ run's side */

bool run_guard_start(run_guard *self, const run_guard_plan *plan, int64_t since_ms,
                     int64_t left_ms) {
    int ends[2];
    *self = (run_guard){.pid = -1, .fd = -1};
    void *shared = mmap(NULL, sizeof *self->shared, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    self->shared = shared;
    run_guard_renew(self, since_ms, left_ms);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    self->pid = fork();
    if (self->pid == 0) {
        close(ends[0]); /* otherwise the guard would not notice the end of `run` */
        guard_main(plan, self->shared, ends[1]);
    }
    close(ends[1]);
    self->fd = ends[0];
    return self->pid > 0;
}

void run_guard_renew(const run_guard *self, int64_t since_ms, int64_t left_ms) {
    atomic_store(&self->shared->lease_end_ms, left_ms < 0 ? never_ms : since_ms + left_ms);
}

static void send_order(const run_guard *self, order given) {
    if (send(self->fd, &given, sizeof given, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* the guard has ended (see GUARD_GONE), or somebody stopped it */
}

void run_guard_report_loss(const run_guard *self) {
    send_order(self, (order){ORDER_LOST, 0});
}

void run_guard_forward_signal(const run_guard *self, int number) {
    send_order(self, (order){ORDER_SIGNAL, number});
}

bool run_guard_read_report(const run_guard *self, run_guard_report *out) {
    ssize_t length = recv(self->fd, out, sizeof *out, MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (length != (ssize_t)sizeof *out)
        *out = (run_guard_report){GUARD_GONE, 0};
    return true;
}

static void send_signal(const run_guard *self, int number) {
    if (self->pid > 0)
        kill(self->pid, number);
}

void run_guard_continue(const run_guard *self) {
    send_signal(self, SIGCONT);
}

void run_guard_kill(const run_guard *self) {
    send_signal(self, SIGKILL);
}

void run_guard_end(run_guard *self) {
    run_guard_kill(self);
    if (self->pid > 0)
        waitpid(self->pid, NULL, 0);
    if (self->fd >= 0)
        close(self->fd); /* only now: the guard must not take it for the end of `run` */
    if (self->shared)
        munmap(self->shared, sizeof *self->shared);
    *self = (run_guard){.pid = -1, .fd = -1};
}
