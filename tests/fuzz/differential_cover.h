/*
 * What a run has seen: each answer of each operation, each kind of message, each error, and what
 * happened between the steps. A long run that misses one of them fails: the generator must not rot.
 */
#ifndef DIFFERENTIAL_COVER_H
#define DIFFERENTIAL_COVER_H

#include "differential_belief.h"

typedef struct {
    char *what;
    uint64_t times;
} cover_count;

typedef struct {
    cover_count *counts;
    size_t count;
    unsigned holders_most, waiters_most;
} cover;

void cover_begin(cover *);
void cover_end(cover *);

/* Counts what a step did; `before` and `after` are what was known around it. */
void cover_step(cover *, const belief *before, const belief *after, const step *,
                const form_pair *);

/* Prints a line for each thing. Returns how many of them were never seen. */
size_t cover_print(const cover *);

#endif
