/*
 * A client in a process of its own: this program once more, started with "--worker". It uses only
 * the public header. Its threads take locks in all ways, write to the store under each write hold,
 * and note what they see. The process may be stopped or killed at any instant.
 */
#ifndef FAULTS_WORKER_H
#define FAULTS_WORKER_H

#include "history.h"
#include "journal.h"
#include "store.h"

#include <stdbool.h>
#include <sys/types.h>

typedef enum {
    WORKER_HOLDS,  /* takes locks */
    WORKER_WATCHES /* only looks at who waits, with lk_inspect() */
} worker_role;

/* What a worker is given. The paths are those of the parent's memory. */
typedef struct {
    worker_role role;
    unsigned number; /* of journal_new_worker() */
    const char *url, *history, *journal, *store;
} worker_order;

/* Returns its pid; -1: it could not be started. The worker ends when this process ends. */
pid_t worker_start(const worker_order *);

/* main() of a worker. */
bool worker_is_asked_for(int count, char **words);
int worker_main(char **words);

/* For the threads of a worker. */
typedef struct {
    worker_order order;
    history *past;
    journal *notes;
    store *cells;
    lk_client *client;
    unsigned client_number;
} worker_self;

void worker_watch(const worker_self *); /* watcher.c */
void worker_odd(const worker_self *, const char *what, const char *word);

#endif
