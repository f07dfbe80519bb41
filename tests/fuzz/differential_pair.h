/*
 * Two forms of the lock side by side: each step is run on both, and what they did must be the same
 * to the last byte. It knows nothing of how steps come about.
 */
#ifndef DIFFERENTIAL_PAIR_H
#define DIFFERENTIAL_PAIR_H

#include "differential_step.h"
#include "form.h"

/* What a lock looks like after the step, as the first form says: the reply of inspect. */
typedef struct {
    lkc_text name; /* the step's */
    reply lock;
} pair_view;

typedef struct {
    lock_form *first, *second; /* core and scripts; not the pair's */
    /* Of the last step: */
    form_result done; /* what the first form did */
    pair_view views[STEP_NAMES_MOST];
    size_t view_count;
    /* Of all steps since the reset: */
    uint64_t now_us; /* 0: there was none */
    step_text *names;
    size_t name_count;
} form_pair;

/* Runs a step. NULL, or a text, to be freed, that says how the forms differ or what is broken. */
char *form_pair_run(form_pair *, const step *);

/* Whether nothing is left in either form at that instant; NULL or a text as above. The end of the
 * steps: the clock cannot go back any more. */
char *form_pair_empty(form_pair *, uint64_t now_us);

/* Both forms forget everything. Also the end: there is nothing to free then. */
void form_pair_reset(form_pair *);

#endif
