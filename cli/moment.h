/* The time by which the command measures waits; it never goes back. */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H

#include <stdint.h>
#include <time.h>

static inline int64_t moment_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
