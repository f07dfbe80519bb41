/*
 * All processes below one of ours, found in /proc: the children, their children, and so on, in
 * whatever process group or session. Makes system calls only, so that a fork of a program with
 * threads can use it.
 */
#ifndef CLI_RUN_TREE_H
#define CLI_RUN_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The name (see PR_SET_NAME) by which one guard knows another. */
#define RUN_GUARD_NAME "latchkey-guard"

enum { RUN_DAEMONS_MOST = 128 };

typedef struct {
    pid_t root;    /* this process, which adopts orphans (PR_SET_CHILD_SUBREAPER) */
    pid_t command; /* 0: not known. Until its exec it has the name of the guard that forked it */
    pid_t session; /* of the command */
    pid_t daemons[RUN_DAEMONS_MOST];
    size_t daemon_count;
    bool knows_daemons;
} run_tree;

/*
 * Notes which processes have left the command for good: they have a session of their own, and
 * whoever started them has ended. run_tree_end() spares them. The first call counts: once signals
 * have been sent, an orphan need not be a daemon.
 */
void run_tree_note_daemons(run_tree *);

/*
 * Sends a signal to all processes of the tree, but not to those below the guard of another `run`:
 * that `run` gets the signal and passes it on itself.
 */
void run_tree_signal(const run_tree *, int number);

/* Kills all processes of the tree. Returns when they have ended. */
void run_tree_end(run_tree *);

/* Whether the process is stopped, as by SIGSTOP. */
bool run_tree_is_stopped(pid_t);

#endif
