/* What the clients of a round left in the servers. */
#ifndef FAULTS_LITTER_H
#define FAULTS_LITTER_H

#include "journal.h"
#include "site.h"

#include <stdio.h>

/*
 * All clients have ended, and the longest lease and `limit_ms` may pass. Takes and releases each
 * lock once as a writer, which is possible when nobody holds it, and which clears the mark of a
 * lost writer. Then no key may be left. Returns the number of locks that stay held and of keys that
 * stay. Tells what the journal has of the handles that stay.
 */
size_t count_litter(const site *, const journal *, int64_t limit_ms, FILE *out);

#endif
