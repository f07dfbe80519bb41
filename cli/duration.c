/* See duration.h. */
#include "duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double ms;
} units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};

bool duration_read(const char *text, int64_t *ms) {
    static const double most_ms = 1e15;
    size_t digits = strspn(text, "0123456789.");
    char number[40], *end;
    if (digits == 0 || digits >= sizeof number)
        return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    double value = strtod(number, &end);
    if (*end || end == number)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(text + digits, units[i].name) != 0)
            continue;
        if (value * units[i].ms > most_ms)
            return false;
        *ms = (int64_t)(value * units[i].ms + 0.999999);
        return true;
    }
    return false;
}

const char *duration_write(int64_t ms, char buffer[DURATION_SIZE]) {
    int64_t s = ms / 1000;
    if (ms < 10000)
        snprintf(buffer, DURATION_SIZE, "%.1fs", (double)(ms / 100) / 10);
    else if (s < 60)
        snprintf(buffer, DURATION_SIZE, "%" PRId64 "s", s);
    else if (s < 3600)
        snprintf(buffer, DURATION_SIZE, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(buffer, DURATION_SIZE, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    else
        snprintf(buffer, DURATION_SIZE, "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
    return buffer;
}
