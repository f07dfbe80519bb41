/*
 * The guard: a process between `run` and the command. It is the parent of the command and adopts its
 * orphans, so it can find and end all processes of the command.
 *
 *   run ── guard ── command ── …
 *
 * `run` writes the end of the lease into shared memory. The guard ends the command before that
 * instant, by its own clock, even if `run` is stopped, killed or gets no CPU. If the guard is stopped,
 * `run` ends guard and command a little later, but still in time. The guard has a session
 * of its own and blocks all signals, so no key of the terminal reaches it. The command stays in the
 * session and the process group of `run`, as under flock(1).
 */
#ifndef CLI_RUN_GUARD_H
#define CLI_RUN_GUARD_H

#include "run.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

/* How the guard ends the command at the end of the lease. */
typedef struct {
    bool kills_at_once;              /* no SIGTERM before SIGKILL */
    int64_t grace_ms, margin_ms;     /* SIGTERM and SIGKILL come this long before the end */
    int64_t lost_grace_ms;           /* from SIGTERM to SIGKILL if the lock is already lost */
    void (*exec_command)(void *arg); /* called in the child; returns only on failure */
    void *arg;
} run_guard_plan;

/* Memory that `run` and the guard share. */
typedef struct {
    _Atomic int64_t lease_end_ms; /* by CLOCK_BOOTTIME */
    atomic_bool has_begun;        /* the child is about to become the command, or has */
} run_guard_shared;

typedef struct {
    pid_t pid; /* below 1: it has ended, or was not started */
    int fd;    /* a socket to the guard; -1: none */
    run_guard_shared *shared;
} run_guard;

/* No exec fails with it. */
enum { RUN_GUARD_TOO_LATE = ETIME };

typedef enum {
    GUARD_CANNOT_BEGIN, /* value: errno; RUN_GUARD_TOO_LATE: the lease is over, or nearly */
    GUARD_BEGUN,        /* value: the pid of the command */
    GUARD_STOPPED,      /* a signal stopped the command */
    GUARD_ENDING,       /* the guard has begun to end the command */
    GUARD_ENDED,        /* value: the status of the command, as from waitpid(2) */
    GUARD_GONE          /* the guard itself has ended */
} run_guard_word;

typedef struct {
    run_guard_word word;
    int value;
} run_guard_report;

/*
 * Starts the guard, which starts the command. The lease ends left_ms after since_ms, which is a time of
 * run_guard_clock_ms(). left_ms below 0: it never ends. False with errno.
 */
bool run_guard_start(run_guard *, const run_guard_plan *, int64_t since_ms, int64_t left_ms);

/* The lease was renewed: it now ends left_ms after since_ms. */
void run_guard_renew(const run_guard *, int64_t since_ms, int64_t left_ms);
int64_t run_guard_clock_ms(void);

void run_guard_report_loss(const run_guard *);                /* the guard ends the command now */
void run_guard_forward_signal(const run_guard *, int number); /* to all processes of the command */
bool run_guard_read_report(const run_guard *, run_guard_report *); /* false: no new report */
void run_guard_continue(const run_guard *);                        /* if somebody stopped it */

/*
 * Kills the guard, which works even if it is stopped. The kernel then kills the command. After
 * GUARD_ENDED, processes that still run are left alone.
 */
void run_guard_kill(const run_guard *);

/* Kills the guard and frees what it used. */
void run_guard_end(run_guard *);

#endif
