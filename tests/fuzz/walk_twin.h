/*
 * Tests the walk itself: two worlds with the same digest must go on alike (walk_state.h). A member
 * of the lock that decides something, and that the digest leaves out, shows here.
 */
#ifndef WALK_TWIN_H
#define WALK_TWIN_H

#include "walk_state.h"

/* NULL, or a sentence. Tries every operation in both; the worlds are as before afterwards. */
const char *twin_compare(walk_world *, walk_world *);

#endif
