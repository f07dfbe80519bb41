/* Finds the subcommand and runs it. Knows of none more than its row. */
#include "command.h"
#include "exits.h"
#include "latchkey.h"
#include "lead.h"
#include "say.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

extern const command run_command, ls_command, inspect_command, watch_command, top_command,
    release_command, doctor_command, server_command, bench_command, help_command;

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

/*
 * A standard descriptor that is closed would be the next that is opened: a connection, which what we
 * say would go into. These can be neither read nor written, and a child finds them closed as we did.
 */
static void keep_standard_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

int main(int count, char **words) {
    keep_standard_descriptors();
    int code = count > 0 ? lead_move(&count, words) : 0;
    if (code == CODE_VERSION) {
        printf("latchkey %s\n", lk_version());
        return command_end(NULL, 0);
    }
    if (code != 0 && code != CODE_HELP)
        return code;
    bool asks = code == CODE_HELP;
    if (!asks && (count < 2 || !words[1]))
        return say_usage("which command?");
    const command *found = asks ? &help_command : command_find(words[1]);
    if (!found)
        return say_usage("there is no command %s", words[1]);
    if (!found->wraps) {
        signal(SIGPIPE, SIG_IGN);
        setlocale(LC_ALL, "");
        setlocale(LC_NUMERIC, "C"); /* for numbers that programs read */
    }
    say_as(found == &help_command ? NULL : found->name);
    return command_end(found, found->run(asks ? 1 : count - 1, words + 1));
}
