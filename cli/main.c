/* Finds the subcommand and runs it. Knows of none more than its row. */
#include "command.h"
#include "exits.h"
#include "latchkey.h"
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const command doctor_command, server_command;
extern const command watch_command, top_command;
extern const command run_command, ls_command, inspect_command, release_command, bench_command,
    help_command;

/* clang-format off */
const command *const commands[] = {
    &run_command,
    &ls_command,
    &inspect_command,
    &watch_command,
    &top_command,
    &release_command,
    &doctor_command,
    &server_command,
    &bench_command,
    &help_command,
    NULL,
};
/* clang-format on */

/* Who reads our output may leave before its end: that is no failure of ours to talk about. */
static int flush(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (errno == EPIPE)
        return EXIT_BY_SIGNAL + SIGPIPE;
    return say_failure(EXIT_BROKEN, "the output cannot be written: %s", strerror(errno));
}

/*
 * A connection must not get the number of a standard descriptor that came closed: our messages would
 * go to the server. What is put there can be used for nothing, and is closed again for a child.
 */
static void fill_standard_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

int main(int count, char **words) {
    fill_standard_descriptors();
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* for numbers that programs read */
    if (count < 2) {
        say_usage("which command?");
        return EXIT_USAGE;
    }
    if (strcmp(words[1], "--version") == 0 || strcmp(words[1], "-V") == 0) {
        printf("latchkey %s\n", lk_version());
        return flush(0);
    }
    bool asks = strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0;
    const command *found = asks ? &help_command : command_find(words[1]);
    if (!found)
        return say_usage("there is no command %s", words[1]);
    if (!found->keeps_signals)
        signal(SIGPIPE, SIG_IGN);
    say_as(found == &help_command ? NULL : found->name);
    return flush(found->run(asks ? 1 : count - 1, words + 1));
}
