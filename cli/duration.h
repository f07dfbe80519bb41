/*
 * Durations as people write them: 2, 0.5, 500ms, 30s, 5m, 2h, 1d. A number without a unit is
 * seconds. Also the clock that the command measures waits with.
 */
#ifndef CLI_DURATION_H
#define CLI_DURATION_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Rounds up to a millisecond. False if the text is not a duration. */
bool duration_read(const char *text, int64_t *ms);

enum { DURATION_SIZE = 24 };

/* For tables: 0.3s, 4.2s, 38s, 5m12s, 3h05m, 2d04h. Returns the buffer. */
const char *duration_write(int64_t ms, char buffer[DURATION_SIZE]);

/* Never goes back. */
static inline int64_t monotonic_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
