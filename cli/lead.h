/*
 * The options before the subcommand: `latchkey -u URL ls`. They are those that all subcommands have,
 * and --json. The subcommand reads them itself, so they mean the same in both places.
 */
#ifndef CLI_LEAD_H
#define CLI_LEAD_H

#include "options.h"

/* What `latchkey -` may be followed by, with --help and --version. Ended by a name of NULL. */
extern const option lead_options[];

/*
 * Moves the options before the subcommand behind it, so that words[1] is the subcommand, or NULL if
 * there is none. *count shrinks where a word is dropped (--). Returns 0, CODE_HELP, CODE_VERSION, or
 * the code to end with, after saying why.
 */
int lead_move(int *count, char **words);

enum { CODE_VERSION = -2 };

#endif
