/* All locks, as `watch` and `top` compare and show them. Knows nothing of either. */
#ifndef CLI_SNAPSHOT_H
#define CLI_SNAPSHOT_H

#include "latchkey.h"

typedef struct {
    lk_info **locks; /* sorted by the bytes of their names; free locks are left out */
    size_t count;
    int64_t taken_ms; /* by monotonic_ms() */
} snapshot;

/*
 * Inspects every lock that matches the pattern (NULL: all), one after the other. Each lock is as it was
 * at one instant, but the instants differ. The caller frees *out with snapshot_free(), which accepts
 * NULL. Returns the status of the library.
 */
lk_status snapshot_take(lk_client *, const char *pattern, snapshot **out);
void snapshot_free(snapshot *);

/* The error text after a failed snapshot_take(): call it in the same thread, right after it. */
const char *snapshot_error(lk_status);

/* Nobody holds it, nobody waits for it, and it is not abandoned. */
bool snapshot_is_free(const lk_info *);

/* NULL: the lock is free. */
const lk_info *snapshot_find(const snapshot *, const char *name);

#endif
