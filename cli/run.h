/*
 * `latchkey run`, part by part:
 *
 *   run.c          the command line, and the course of a run
 *   run_wait.c     waits for the server, acquires the lock, releases it
 *   run_child.c    runs the command through its guard (run_guard.h) and supervises both
 *   run_line.c     the status line on a terminal
 *   run_signals.c  reads signals
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
    run_line *line; /* see run_line_start(); may be NULL */
    int64_t lease_ms;
    int64_t server_timeout_ms; /* the longest outage to wait out; below 0: only -w counts */
    on_lost on_lost;
    int lost_fd;           /* an eventfd: readable once the lock is lost */
    int signal_fd;         /* see run_block_signals() */
    sigset_t mask;         /* the signal mask that the child gets back */
    void (*on_child)(int); /* the SIGCHLD handler that the child gets back */
    char **command;        /* ends with NULL */
    char error[1100];      /* why the lock could not be acquired or released */
    bool abandoned;        /* the grant said so */
    bool is_too_late;   /* the lease was nearly over before the command began: it was not started */
    bool skips_cleanup; /* exit without release and lk_close(): they are useless or would block */
    int interrupted;    /* SIGINT if Ctrl-C ended the command; or 0 */
} run;

/* Retries of the first connection. */
typedef struct {
    int64_t began_ms;
    int64_t until_ms; /* no retry after this; before began_ms: none at all */
    int64_t pause_ms; /* before the last attempt; 0: there was no retry yet */
} run_opening;

/* For common.retry: pauses, and returns whether to try again. */
bool run_opening_should_retry(void *opening);

/*
 * Acquires the lock. wait_ms below 0: no limit. Waits out an outage of the server, within wait_ms and
 * server_timeout_ms. Returns the status, and the reason in `error`. If a signal ended the wait:
 * LK_CANCELED, and the signal in *ended_by.
 */
lk_status run_acquire(run *, lk_mode, int64_t wait_ms, int *ended_by);

/*
 * Releases the lock. Returns the status, and the reason in `error` unless it is LK_OK. If a signal
 * ended the wait for a server that does not answer: LK_UNAVAILABLE, and the signal in *ended_by.
 */
lk_status run_release(run *, lk_mode, int *ended_by);

/*
 * The library's error text without the leading lock name, which the caller prints itself, and with
 * the URL once.
 */
const char *run_reason(const run *, const char *error);

/* Runs the command under the lock, to its end. Returns the exit code. */
int run_child(run *);

/* Whether a line can be written to stderr without blocking. */
bool run_can_write_stderr(void);

/* ------------------------------------------------------------------------------ signals */

/* From now on signals arrive at signal_fd. Returns 0, or the exit code. */
int run_block_signals(run *);

typedef struct {
    int number;        /* 0: there is none */
    bool is_terminals; /* from the terminal (a key, or a hangup): the whole process group got it */
} run_signal;

run_signal run_read_signal(const run *);

/* The number of the next signal, or 0. */
int run_next_signal(const run *);

/* Stops this process as Ctrl-Z would, or its whole process group if `job`. */
void run_stop(bool job);

/* Kills this process with the signal. Returns an exit code in case it survives, as process 1 does. */
int run_die_by_signal(int number);

/* ------------------------------------------------------------------------------ the status line */

#define RUN_NEVER_MS INT64_MAX

/*
 * Starts a thread that asks the server every second. On a terminal, the thread shows the holder of
 * the lock and our place in the queue.
 * NULL: stderr is not a terminal, and there is no server_timeout_ms that needs the answers.
 */
run_line *run_line_start(const run *);

/* Since when the server has not answered, to within a second; or RUN_NEVER_MS. */
int64_t run_line_silent_since_ms(run_line *);

/* Shows an outage of the server. To be called every second. */
void run_line_tick(run_line *);

/* Removes the line. Nothing is written after this. */
void run_line_end(run_line *);

/* False: the line's thread still waits for the server, and uses the client. */
bool run_line_free(run_line *);

/* For use without a run_line: shows a text on a terminal in place of the last one, or removes it. */
void run_line_put(const char *format, ...) __attribute__((format(printf, 1, 2)));
void run_line_clear(void);

#endif
