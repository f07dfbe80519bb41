/* See waiting.h. */
#include "waiting.h"

#include <time.h>

enum { MOMENT_MS = 20 };

static int64_t monotonic_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t test_wait_end(int64_t limit_ms) {
    return monotonic_ms() + limit_ms;
}

bool test_wait_on(int64_t end_ms) {
    if (monotonic_ms() >= end_ms)
        return false;
    nanosleep(&(struct timespec){.tv_nsec = MOMENT_MS * 1000000L}, NULL);
    return true;
}
