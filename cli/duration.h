/* Times as people write them: 2, 0.5, 500ms, 30s, 5m, 2h, 1d; a bare number is seconds. */
#ifndef CLI_DURATION_H
#define CLI_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* False if it cannot be read, or is below 0. Rounded up to a millisecond. */
bool duration_read(const char *text, int64_t *ms);

enum { DURATION_SIZE = 24 };

/* For tables: 0.3s, 4.2s, 38s, 5m12s, 3h05m, 2d04h. Returns the buffer. */
const char *duration_write(int64_t ms, char buffer[DURATION_SIZE]);

#endif
