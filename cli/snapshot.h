/* All locks at one look: what `watch` and `top` compare and show. Knows nothing of either. */
#ifndef CLI_SNAPSHOT_H
#define CLI_SNAPSHOT_H

#include "latchkey.h"

typedef struct {
    lk_info **locks; /* sorted by the bytes of their names; never one that nobody uses */
    size_t count;
    int64_t taken_ms; /* by moment_ms() */
} snapshot;

/*
 * Looks at every lock that fits the pattern (NULL: all), one after the other: each is as it was at
 * one instant, all of them are not. *out is the caller's, freed with snapshot_free(), which takes
 * NULL. Returns what the library did.
 */
lk_status snapshot_take(lk_client *, const char *pattern, snapshot **out);
void snapshot_free(snapshot *);

/* The sentence of one that failed, for the thread that took it, at once. */
const char *snapshot_error(lk_status);

/* Nobody holds it, waits for it or left it abandoned: as if there were no such lock. */
bool snapshot_is_free(const lk_info *);

/* NULL: nobody uses it. */
const lk_info *snapshot_find(const snapshot *, const char *name);

#endif
