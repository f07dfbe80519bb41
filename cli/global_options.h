/*
 * The options before the subcommand: `latchkey -u URL ls`. These are the options that all subcommands
 * have, and --json. They are moved behind the subcommand, which parses them itself. So they mean the
 * same in both places.
 */
#ifndef CLI_GLOBAL_OPTIONS_H
#define CLI_GLOBAL_OPTIONS_H

#include "options.h"

/* Includes --help and --version. Ends with a name of NULL. */
extern const option global_options[];

/*
 * Moves the options before the subcommand behind it. Then words[1] is the subcommand, or NULL if
 * there is none. *count shrinks if a word is dropped (--). Returns 0, CODE_HELP, CODE_VERSION, or the
 * exit code after a message.
 */
int global_options_move(int *count, char **words);

enum { CODE_VERSION = -2 };

#endif
