/*
 * All processes below one of ours, found in /proc: children, their children and so on, in any process
 * group or session. Only makes system calls, so a fork of a program with threads can use it.
 */
#ifndef CLI_RUN_TREE_H
#define CLI_RUN_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The process name of a guard (PR_SET_NAME). It lets one guard recognize another. `pkill -9 latchkey`
 * must not match it: if `run` and its guard are killed together, nobody ends the command's children.
 */
#define RUN_GUARD_NAME "lk-guard"

enum { RUN_DAEMONS_MOST = 128 };

typedef struct {
    pid_t root;    /* this process, a subreaper (PR_SET_CHILD_SUBREAPER) */
    pid_t guard;   /* in `run`: its guard, which adopts orphans too; below 1: none */
    pid_t command; /* 0: unknown. Before its exec it still has the name of the guard */
    pid_t session; /* of the command */
    pid_t daemons[RUN_DAEMONS_MOST];
    size_t daemon_count;
    bool knows_daemons;
} run_tree;

/*
 * Remembers the daemons: processes with a session of their own whose parent has ended. run_tree_end()
 * spares them. Only the first call has an effect: after signals were sent, an orphan need not be a
 * daemon.
 */
void run_tree_note_daemons(run_tree *);

/*
 * Sends a signal to all processes of the tree, except to those below the guard of another `run`. That
 * `run` gets the signal and passes it on itself.
 */
void run_tree_signal(const run_tree *, int number);

/* Kills all processes of the tree, and returns when they have ended. */
void run_tree_end(run_tree *);

/* Whether the process is stopped, for example by SIGSTOP. */
bool run_tree_is_stopped(pid_t);

/* A descriptor that is readable when the process has ended. -1: there is none, as before Linux 5.3. */
int run_tree_open_process(pid_t);

#endif
