/* See clock.h. */
#include "base/clock.h"

#include <limits.h>
#include <time.h>

int64_t lki_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t lki_after_ms(int64_t now_us, int64_t ms) {
    return ms > (LKI_NEVER - now_us) / 1000 ? LKI_NEVER : now_us + ms * 1000;
}

int lki_poll_ms(int64_t deadline_us) {
    if (deadline_us == LKI_NEVER)
        return -1;
    int64_t left_us = deadline_us - lki_now_us();
    if (left_us <= 0)
        return 0;
    int64_t ms = (left_us + 999) / 1000;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}
