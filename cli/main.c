/* Finds the subcommand and runs it. Knows only the table of subcommands. */
#include "command.h"
#include "exits.h"
#include "global_options.h"
#include "latchkey.h"
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
 * If stdin, stdout or stderr is closed, the next connection would get its number, and messages would
 * go to the server. A placeholder takes the number. Reading stdin or writing stdout still fails, and a
 * child finds the descriptor closed again.
 */
static void fill_closed_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

int main(int count, char **words) {
    fill_closed_descriptors();
    int code = count > 0 ? global_options_move(&count, words) : 0;
    if (code == CODE_VERSION) {
        printf("latchkey %s\n", lk_version());
        return command_end(NULL, 0);
    }
    if (code != 0 && code != CODE_HELP)
        return code;
    bool wants_help = code == CODE_HELP;
    if (!wants_help && (count < 2 || !words[1]))
        return say_usage("no command given");
    const command *found = wants_help ? &help_command : command_find(words[1]);
    if (!found)
        return say_usage("there is no command %s", words[1]);
    if (!found->wraps) {
        signal(SIGPIPE, SIG_IGN);
        setlocale(LC_ALL, "");
        setlocale(LC_NUMERIC, "C"); /* programs parse the numbers */
    }
    say_set_subcommand(found == &help_command ? NULL : found->name);
    return command_end(found, found->run(wants_help ? 1 : count - 1, words + 1));
}
