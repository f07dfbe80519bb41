/*
 * Random numbers from a seed: the same on every machine and for every compiler, so that a seed
 * always means the same run.
 */
#ifndef DIFFERENTIAL_RANDOM_H
#define DIFFERENTIAL_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t state;
} random_source;

uint64_t random_next(random_source *);
uint64_t random_below(random_source *, uint64_t bound);                /* 0 to bound - 1 */
uint64_t random_between(random_source *, uint64_t low, uint64_t high); /* both included */
bool random_percent(random_source *, unsigned percent);

/* An index into `weights`, each as likely as its weight says. */
size_t random_weighted(random_source *, const unsigned *weights, size_t count);

#endif
