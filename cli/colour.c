/* See colour.h. */
#include "colour.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_wanted(void) {
    const char *never = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(never && *never) && term && *term;
}

const char *colour(colour_kind kind) {
    static const char *const orders[] = {[COLOUR_NONE] = "\033[0m",
                                         [COLOUR_BOLD] = "\033[1m",
                                         [COLOUR_RED] = "\033[31m",
                                         [COLOUR_GREEN] = "\033[32m",
                                         [COLOUR_YELLOW] = "\033[33m"};
    return is_wanted() ? orders[kind] : "";
}
