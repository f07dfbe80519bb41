/*
 * `latchkey run`, in three parts: run.c reads the command line and goes through the whole of it,
 * run_wait.c takes the lock, run_child.c starts the command and looks after it.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "common.h"

#include <signal.h>

typedef enum { ON_LOST_TERM, ON_LOST_KILL, ON_LOST_IGNORE } on_lost;

typedef struct {
    const char *name;
    lk_client *client;
    lk_lock *lock;
    int64_t lease_ms;
    on_lost on_lost;
    int lost_fd;           /* an eventfd: readable once the lock is lost */
    int signal_fd;         /* for the signals that are blocked from the start of `run` on */
    sigset_t mask;         /* what was blocked before, for the child */
    void (*on_child)(int); /* what SIGCHLD did before, for the child */
    char **command;        /* ended by NULL */
    char error[600];       /* why the lock could not be taken */
    bool leaves;           /* nothing is left to give back, or nobody there who would take it */
    int interrupted;       /* SIGINT, if the terminal's ended the command; or 0 */
} run;

/*
 * Takes the lock; wait_ms below 0: without end. While it waits it tells a terminal on stderr whom
 * for. Returns the status, with the reason in `error`; LK_CANCELED and *by when a signal ended the
 * wait.
 */
lk_status run_take(run *, lk_mode, int64_t wait_ms, int *by);

/* Runs the command under the lock, to its end. Returns the code to end with. */
int run_child(run *);

/* The next signal that waits at signal_fd, or 0. */
int run_next_signal(const run *);

/* Whether a line can be written to stderr without waiting for who reads it. */
bool run_may_write(void);

/* Stops this process as Ctrl-Z would, or with `job` the whole of its group. */
void run_stop(bool job);

#endif
