/* See colour.h. */
#include "colour.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_wanted(FILE *out) {
    const char *never = getenv("NO_COLOR"), *term = getenv("TERM");
    int fd = fileno(out); /* below 0: a stream in memory */
    return fd >= 0 && isatty(fd) && !(never && *never) && term && *term &&
           strcmp(term, "dumb") != 0;
}

const char *colour(FILE *out, colour_kind kind) {
    static const char *const sequences[] = {[COLOUR_NONE] = "\033[0m",
                                            [COLOUR_BOLD] = "\033[1m",
                                            [COLOUR_RED] = "\033[31m",
                                            [COLOUR_GREEN] = "\033[32m",
                                            [COLOUR_YELLOW] = "\033[33m"};
    return is_wanted(out) ? sequences[kind] : "";
}
