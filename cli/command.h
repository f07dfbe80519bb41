/* A subcommand as data: main() finds it and runs it, `help` prints it. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "options.h"

typedef struct {
    const char *name;
    const char *arguments; /* for the usage line, after the options */
    const char *summary;   /* one line for `latchkey help` */
    const char *text;      /* --help: the description */
    const char *examples;  /* --help: shell lines, each with a comment */
    const option *options;
    bool wraps; /* runs a child: main() leaves SIGPIPE alone and skips setlocale(), which is slow */
    /* words[0] is the subcommand. Returns the exit code, or CODE_HELP. */
    int (*run)(int count, char **words);
} command;

/* In the order of `latchkey help`. Ends with NULL. */
extern const command *const commands[];

const command *command_find(const char *name); /* NULL: there is none */
void command_help(const command *);            /* prints to stdout */

/*
 * Called with the code that a subcommand returned. Prints the help for CODE_HELP, flushes stdout, and
 * returns the exit code of the program.
 */
int command_end(const command *, int code);

#endif
