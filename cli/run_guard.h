/*
 * The guard: a process between `run` and the command. It is the command's parent, and adopts what
 * the command leaves behind, so that it can find and end all of it.
 *
 *   run ── guard ── command ── …
 *
 * `run` writes the end of the lease into memory that both share. The guard ends the command before
 * that instant, by its own clock: also when `run` is stopped, killed or gets no CPU. It has a
 * session of its own and blocks all signals, so no key of the terminal reaches it. The command stays
 * in the session and the process group of `run`, as under flock(1).
 */
#ifndef CLI_RUN_GUARD_H
#define CLI_RUN_GUARD_H

#include "run.h"

#include <stdint.h>

/* What the guard does to the command at the end of the lease. */
typedef struct {
    bool kills_at_once;          /* SIGKILL alone; otherwise SIGTERM comes first */
    int64_t grace_ms, margin_ms; /* SIGTERM and SIGKILL come so long before the end */
    int64_t late_ms;             /* from SIGTERM to SIGKILL if the lock is lost already */
    void (*become)(void *arg);   /* in the child that becomes the command: returns if it cannot */
    void *arg;
} run_guard_plan;

typedef struct {
    pid_t pid;
    int fd;                        /* to the guard; -1: there is none */
    _Atomic int64_t *lease_end_ms; /* shared; CLOCK_BOOTTIME */
} run_guard;

typedef enum {
    GUARD_CANNOT_BEGIN, /* value: errno */
    GUARD_BEGUN,        /* value: the pid of the command */
    GUARD_STOPPED,      /* the command, by a signal */
    GUARD_ENDING,       /* the guard has begun to end the command */
    GUARD_ENDED,        /* value: the status of the command, as of waitpid */
    GUARD_GONE          /* the guard itself has ended */
} run_guard_word;

typedef struct {
    run_guard_word word;
    int value;
} run_guard_report;

/*
 * False with errno. The lease ends in left_ms from since_ms on, an instant of run_guard_clock_ms();
 * left_ms below 0: it has no end.
 */
bool run_guard_start(run_guard *, const run_guard_plan *, int64_t since_ms, int64_t left_ms);

/* The lease was renewed: it ends in left_ms from since_ms on. */
void run_guard_renew(const run_guard *, int64_t since_ms, int64_t left_ms);
int64_t run_guard_clock_ms(void);

void run_guard_lost(const run_guard *);                /* the lock: end the command now */
void run_guard_pass_on(const run_guard *, int number); /* a signal, to the whole of the command */
bool run_guard_hear(const run_guard *, run_guard_report *); /* false: nothing new */
void run_guard_end(run_guard *); /* after GUARD_ENDED or GUARD_GONE; what goes on is left alone */

#endif
