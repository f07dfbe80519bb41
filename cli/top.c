/* `latchkey top` as data. What it does is in latchkey-top; see top_exec.c and top_main.c. */
#include "top.h"

#include "common.h"

static const option options[] = {
    {'i', "interval", "TIME", "between two looks; 1s"},
    COMMON_OPTIONS,
};

const command top_command = {
    .name = "top",
    .arguments = "",
    .summary = "all locks on a screen, live, those that are waited for first",
    .text =
        "Shows the locks that somebody holds or waits for, or left abandoned, and looks again "
        "every\n"
        "interval. While the server is away the last line says so, and the screen stays.\n"
        "\n"
        "  w h n g           sort by waiting, holders, name, grants\n"
        "  /                 filter: a part of the name, or a pattern with *, ?, [a-z]; Esc: all\n"
        "  up down, Enter    choose a lock, and see its holders and its queue\n"
        "  Esc, backspace    back\n"
        "  ?                 help\n"
        "  q                 quit\n"
        "\n"
        "GRANTS/S is how many grants a second were seen by comparing each look with the one "
        "before,\n"
        "averaged over the last five seconds or so. What is granted and given back between two\n"
        "looks is not seen (one is counted where the lock's fence tells of it), so there may be\n"
        "more. OLDEST WAIT is how long the one who has waited longest has. It needs a terminal.",
    .examples = "  latchkey top\n"
                "  latchkey top --interval 200ms   # sees more, asks the server more often\n",
    .options = options,
    .run = top_run,
};
