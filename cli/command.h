/* A subcommand as data: `main` finds and runs it, `help` prints it. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "options.h"

typedef struct {
    const char *name;
    const char *arguments; /* behind the options */
    const char *summary;   /* a line for `latchkey help` */
    const char *text;      /* what --help says beyond the options */
    const char *examples;  /* lines of a shell, each with a comment */
    const option *options;
    bool wraps; /* a child inherits the signals as they came to us, and waits for us: no locale */
    /* words[0] is the subcommand. Returns what the command ends with, or CODE_HELP. */
    int (*run)(int count, char **words);
} command;

/* In the order in which `latchkey help` names them; ended by a name of NULL. */
extern const command *const commands[];

const command *command_find(const char *name);
void command_help(const command *); /* on stdout */

/* After a subcommand has returned this: prints its help, if that is it. What the program ends with. */
int command_end(const command *, int code);

#endif
