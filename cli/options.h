/*
 * Options as data: each subcommand has one table. The table is parsed and printed by --help, and tests
 * compare the man pages and completions with it.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char letter;          /* 0: only a long name */
    const char *name;     /* without the dashes; NULL ends a table */
    const char *argument; /* its name in --help; NULL: takes no value */
    const char *text;     /* for --help, without a full stop at the end */
} option;

/*
 * Called for each option on the command line, with its row of the table. Returns 0. On an error it
 * prints a message and returns the exit code.
 */
typedef int option_handler(void *arg, const option *, char *value);

/* Returned in place of an exit code: main() prints the help. */
enum { CODE_HELP = -1 };

/*
 * Parses the options from words[1] on. `stop`: parse only up to the first argument, because the words
 * after it belong to another command (run). *rest becomes the index of the first argument. Returns
 * 0, or the exit code.
 */
int options_parse(const option *, bool stop, int count, char **words, option_handler *, void *arg,
                  int *rest);

/*
 * The same, with a function for unknown options. `refuse` gets the option as it was written, such as
 * -n or --wait, prints a message and returns the exit code.
 */
typedef int option_refuse(const char *word);
int options_parse_or(const option *, bool stop, int count, char **words, option_handler *,
                     option_refuse *refuse, void *arg, int *rest);

/* Whether the row has this long name. */
bool option_is(const option *, const char *name);

/* Prints one aligned line for each option. */
void options_print(const option *);

#endif
