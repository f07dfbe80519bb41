/*
 * Plays a random sample of the sequences of the walk on two forms of the lock, the core and the
 * scripts in a server, as the differential test does.
 */
#ifndef WALK_SAMPLE_H
#define WALK_SAMPLE_H

#include "form.h"
#include "walk_store.h"

/* False, after printing the sequence and the difference, if the forms differ. */
bool sample_play(const walk_store *, const test_server *, bool indexed, size_t count);

#endif
