/* See command.h: the end of a subcommand. */
#include "command.h"
#include "exits.h"
#include "say.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Who reads our output may leave before its end: that is no failure of ours to talk about. */
static int flush(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (errno == EPIPE)
        return EXIT_BY_SIGNAL + SIGPIPE;
    return say_failure(EXIT_BROKEN, "the output cannot be written: %s", strerror(errno));
}

int command_end(const command *ended, int code) {
    if (code == CODE_HELP)
        command_help(ended);
    return flush(code == CODE_HELP ? 0 : code);
}
