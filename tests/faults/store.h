/*
 * A store that checks fences: the thing that the locks protect. Each lock guards one cell. The
 * store refuses a write whose fence is below the greatest fence that the cell has seen, and knows
 * nothing else of locks.
 *
 * Processes share the store and are stopped and killed at any instant, so it has no mutex. A cell
 * is the head of a chain of runs. A run is all writes that one hold made before another hold wrote.
 * A write of the hold that wrote last changes nothing; a write of another hold adds a run, by
 * compare-and-swap of the head.
 */
#ifndef FAULTS_STORE_H
#define FAULTS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct store store;

typedef struct {
    unsigned lock, hold; /* numbers that the harness gives them */
    uint64_t fence;
    unsigned previous; /* of this cell; 0: it is the first */
} store_run;

store *store_new(size_t runs);
const char *store_path(const store *);
store *store_open(const char *path); /* NULL: it is not there */
void store_free(store *);            /* of this process; NULL is fine */

/* A number that no other hold has. */
unsigned store_new_hold(store *);

/* False: refused. A store without room accepts, and forgets. */
bool store_write(store *, store_run what);

size_t store_refused(const store *);

/* The runs of one cell, the latest first. To be freed. */
store_run *store_read(const store *, unsigned lock, size_t *count);

#endif
