/*
 * `latchkey run`: run.c reads the command line and goes through the whole of it, run_wait.c takes the
 * lock, run_child.c has the command run by its guard (run_guard.h) and looks after both. The rest
 * serves these: run_open.c waits for a server that is away at the start, run_line.c tells how the
 * wait goes, run_signals.c reads signals.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "common.h"

#include <signal.h>

typedef enum { ON_LOST_TERM, ON_LOST_KILL, ON_LOST_IGNORE } on_lost;

typedef struct run_line run_line;

typedef struct {
    const char *name;
    lk_client *client;
    lk_lock *lock;
    run_line *line; /* NULL: nobody is told how the wait goes */
    int64_t lease_ms;
    int64_t server_timeout_ms; /* how long the server may be away; below 0: as long as the wait */
    on_lost on_lost;
    int lost_fd;           /* an eventfd: readable once the lock is lost */
    int signal_fd;         /* for the signals that are blocked from the start of `run` on */
    sigset_t mask;         /* what was blocked before, for the child */
    void (*on_child)(int); /* what SIGCHLD did before, for the child */
    char **command;        /* ended by NULL */
    char error[1100];      /* why the lock could not be taken, or given back */
    bool abandoned;        /* the lock was, when it was granted */
    bool leaves;           /* nothing is left to give back, or nobody there who would take it */
    int interrupted;       /* SIGINT, if the terminal's ended the command; or 0 */
} run;

/* The first connection, while it is not there. */
typedef struct {
    int64_t began_ms;
    int64_t until_ms; /* the server is tried again; before began_ms: never */
    int64_t pause_ms; /* before the last attempt, or 0 */
} run_opening;

/* Called when the server is away, for common.retry: whether to try again, after a pause. */
bool run_opening_goes_on(void *opening);

/*
 * Takes the lock; wait_ms below 0: without end. Outlasts an outage of the server, as far as wait_ms
 * and server_timeout_ms permit. Returns the status, with the reason in `error`; LK_CANCELED and *by
 * when a signal ended the wait.
 */
lk_status run_take(run *, lk_mode, int64_t wait_ms, int *by);

/*
 * Gives it back. The status, and with any but LK_OK the reason in `error`; LK_UNAVAILABLE and *by
 * when a signal ended the wait for a server that does not answer.
 */
lk_status run_give_back(run *, lk_mode, int *by);

/* What the library says about a failure, without the name of the lock before it. */
const char *run_reason(const run *, const char *error);

/* Runs the command under the lock, to its end. Returns the code to end with. */
int run_child(run *);

/* Whether a line can be written to stderr without waiting for who reads it. */
bool run_may_write(void);

/* ------------------------------------------------------------------------------ signals */

/* From here on they come to signal_fd. Returns 0, or the code to end with. */
int run_block_signals(run *);

typedef struct {
    int number;        /* 0: there is none */
    bool is_terminals; /* the whole process group has it: a key, or a terminal that was closed */
} run_signal;

run_signal run_read_signal(const run *);

/* The number of the next signal, or 0. */
int run_next_signal(const run *);

/* Stops this process as Ctrl-Z would, or with `job` the whole of its group. */
void run_stop(bool job);

/* Ends this process as that signal would; returns the code to end with should it not. */
int run_die_of(int number);

/* ------------------------------------------------------------------------------ the line */

/* Says from now on, on a terminal on stderr, who holds the lock, and our place in the queue. */
run_line *run_line_start(const run *);

/* Says that the server does not answer, while that is so. To be called each second. */
void run_line_tick(run_line *);

/* It is gone from the terminal, and nothing is written there any more. */
void run_line_end(run_line *);

/* False: it still waits for the server's answer, and uses the client. */
bool run_line_free(run_line *);

/* Without a line: a text on a terminal on stderr, in place of the last one; and none. */
void run_line_put(const char *format, ...) __attribute__((format(printf, 1, 2)));
void run_line_clear(void);

#endif
