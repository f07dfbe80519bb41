/* The table row of `latchkey top`. The program is latchkey-top; see top_exec.c and top_main.c. */
#include "top.h"

#include "common.h"

static const option options[] = {
    {'i', "interval", "TIME", "time between two snapshots. Default: 1s"},
    COMMON_OPTIONS,
};

const command top_command = {
    .name = "top",
    .arguments = "",
    .summary = "show all locks on a live screen, those with waiters first",
    .text =
        "Shows all locks that have a holder or a waiter, or that a writer left abandoned. The\n"
        "screen is updated every interval. While the server is away, the last line says so and\n"
        "the locks stay on the screen. top needs a terminal.\n"
        "\n"
        "  w h n g           sort by wait, holders, name, grants\n"
        "  /                 filter by a part of the name, or a pattern with *, ?, [a-z]; Esc: "
        "all\n"
        "  up down, Enter    select a lock, and show its holders and its queue\n"
        "  Esc, backspace    back\n"
        "  ?                 help\n"
        "  q                 quit\n"
        "\n"
        "GRANTS/S is the number of grants per second, averaged over about five seconds. It comes\n"
        "from comparing each snapshot with the one before. Grants that are released before the\n"
        "next snapshot count as one at most, so the true number may be higher. OLDEST WAIT is the\n"
        "longest current wait.",
    .examples = "  latchkey top\n"
                "  latchkey top --interval 200ms   # misses less, costs the server more\n",
    .options = options,
    .run = top_run,
};
