/* Plays lists of steps again, and makes failing ones short. */
#ifndef DIFFERENTIAL_SHRINK_H
#define DIFFERENTIAL_SHRINK_H

#include "differential_pair.h"

/* Plays the steps on empty forms, and looks whether something is left long after the last one. NULL
 * or how the forms differ, and the number of steps up to there. */
char *shrink_play(form_pair *, const step_list *, size_t *played);

/*
 * Removes steps as long as what is left fails in any way, `most_s` seconds at most. The list must
 * fail. Returns how the forms differ at the end of what is left.
 */
char *shrink_run(form_pair *, step_list *, unsigned most_s);

#endif
