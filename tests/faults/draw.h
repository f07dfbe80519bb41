/* Random numbers from a seed: a run with the same seed draws the same faults and calls. */
#ifndef FAULTS_DRAW_H
#define FAULTS_DRAW_H

#include <stdlib.h>

static inline int draw(unsigned *seed, int below) {
    return rand_r(seed) % below;
}

#endif
