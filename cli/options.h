/*
 * Options as data: one table for each subcommand is what is parsed, what --help prints, and what the
 * man pages and completions are compared with.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char letter;          /* 0: it has none */
    const char *name;     /* without the dashes; NULL ends a table */
    const char *argument; /* what --help calls it; NULL: it takes none */
    const char *text;     /* for --help; ends without a full stop */
} option;

/*
 * Called for each option in turn, with its row of the table. Returns 0, or the code to end with,
 * after saying why.
 */
typedef int option_taken(void *arg, const option *, char *value);

/* A code to end with that is none: main() prints the help in its place. */
enum { CODE_HELP = -1 };

/*
 * Parses the options in words[1] and on. `stop`: what comes after the first word that is no option is
 * not ours (run). *rest becomes the index of the first other word. Returns 0, or the code to end
 * with.
 */
int options_parse(const option *, bool stop, int count, char **words, option_taken *, void *arg,
                  int *rest);

/*
 * The same, with other words for an option that the table does not have: `refuse` gets it as it was
 * written, -n or --wait, says what is wrong, and returns the code to end with.
 */
typedef int option_refuse(const char *word);
int options_parse_or(const option *, bool stop, int count, char **words, option_taken *,
                     option_refuse *refuse, void *arg, int *rest);

/* Whether that is the option of this name. */
bool option_is(const option *, const char *name);

/* A line for each, aligned. */
void options_print(const option *);

#endif
