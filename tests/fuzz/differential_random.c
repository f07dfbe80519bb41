/* See differential_random.h. The generator is splitmix64. */
#include "differential_random.h"

#include <assert.h>

uint64_t random_next(random_source *random) {
    uint64_t mixed = random->state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* The bounds are small against 2^64: that the lower numbers are a little more likely is nothing. */
uint64_t random_below(random_source *random, uint64_t bound) {
    assert(bound > 0);
    return random_next(random) % bound;
}

uint64_t random_between(random_source *random, uint64_t low, uint64_t high) {
    return low + random_below(random, high - low + 1);
}

bool random_percent(random_source *random, unsigned percent) {
    return random_below(random, 100) < percent;
}

size_t random_weighted(random_source *random, const unsigned *weights, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += weights[i];
    uint64_t left = random_below(random, sum);
    size_t chosen = 0;
    while (left >= weights[chosen])
        left -= weights[chosen++];
    return chosen;
}
