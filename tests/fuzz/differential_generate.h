/*
 * Makes steps: random, but of what the handles believe, so that most of them mean something. All
 * randomness of a run is here; a step itself is plain data (differential_step.h).
 *
 * A run is rounds: each begins with empty forms, three lock names and a new clock, and has a few
 * hundred steps in several moods.
 */
#ifndef DIFFERENTIAL_GENERATE_H
#define DIFFERENTIAL_GENERATE_H

#include "differential_belief.h"
#include "differential_mood.h"
#include "differential_random.h"

#define GENERATE_NUMBER_MOST UINT64_C(9007199254740992) /* SPEC 10.1 */

typedef struct {
    random_source random;
    belief known;
    mood present;
    size_t round_left; /* steps */
    uint64_t now_us;
    uint64_t back_most_us; /* how far the clock may go back behind the latest instant of the round */
    uint64_t latest_us;    /* that instant */
    int last;                       /* the handle that acted */
    uint64_t numbers[CAST_HANDLES]; /* the last request number of each handle */
} generator;

void generator_begin(generator *, uint64_t seed, uint64_t back_most_us);

/* Begins a round; the forms must be empty. */
void generator_begin_round(generator *);
bool generator_round_is_over(const generator *);

/* Fills an empty step. After it was run, the generator learns from it (belief_learn). */
void generator_next(generator *, step *);

/* An instant by which nothing of the round can be left. SPEC 7.3. */
uint64_t generator_end_us(const generator *);

#endif
