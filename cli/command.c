/* See command.h. */
#include "command.h"

#include "exits.h"
#include "say.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

const command *command_find(const char *name) {
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

void command_help(const command *self) {
    printf("usage: latchkey %s%s%s%s\n\n%s\n", self->name, self->options ? " [OPTION…]" : "",
           *self->arguments ? " " : "", self->arguments, self->text);
    if (self->options) {
        printf("\noptions\n");
        options_print(self->options);
    }
    printf("\nexamples\n%s", self->examples);
}

/* A reader may close the pipe before the end of the output. That is not an error to report. */
static int flush(int code) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (errno == EPIPE)
        return EXIT_BY_SIGNAL + SIGPIPE;
    return say_failure(EXIT_BROKEN, "cannot write the output: %s", strerror(errno));
}

int command_end(const command *ended, int code) {
    if (code == CODE_HELP)
        command_help(ended);
    return flush(code == CODE_HELP ? 0 : code);
}
