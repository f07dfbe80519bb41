/* See global_options.h. */
#include "global_options.h"

#include "command.h"
#include "common.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

const option global_options[] = {
    {'V', "version", NULL, "print the version"},
    {'j', "json", NULL, "print JSON, for commands that have it"},
    COMMON_OPTIONS,
};

/* Remembers the last value: a word -- that is a value does not end the options. */
static int take_option(void *arg, const option *row, char *value) {
    char **last_value = arg;
    *last_value = value;
    if (option_is(row, "version"))
        return CODE_VERSION;
    return option_is(row, "help") ? CODE_HELP : 0;
}

/* The word is an option as it was written: -n, --wait. */
static bool has_option(const command *one, const char *word) {
    for (const option *row = one->options; row && row->name; row++)
        if (word[1] == '-' ? strcmp(row->name, word + 2) == 0 : row->letter == word[1])
            return true;
    return false;
}

/* A frequent mistake: an option of a subcommand stands before it. */
static int refuse(const char *word) {
    char owners[200] = "";
    const char *only = NULL;
    size_t length = 0, count = 0;
    for (size_t i = 0; commands[i]; i++) {
        if (!has_option(commands[i], word) || length >= sizeof owners)
            continue;
        length += (size_t)snprintf(owners + length, sizeof owners - length, "%s`latchkey %s`",
                                   count ? " and " : "", commands[i]->name);
        only = count++ ? "the command" : commands[i]->name;
    }
    return count ? say_usage("%s is an option of %s; write it after %s", word, owners, only)
                 : say_usage("there is no option %s", word);
}

int global_options_move(int *count, char **words) {
    char *last_value = NULL;
    int rest;
    int code = options_parse_or(global_options, true, *count, words, take_option, refuse,
                                &last_value, &rest);
    if (code != 0)
        return code;
    char *name = words[rest];
    int options_end = rest;
    if (options_end > 1 && words[rest - 1] != last_value && strcmp(words[rest - 1], "--") == 0)
        options_end--;
    memmove(words + 2, words + 1, (size_t)(options_end - 1) * sizeof *words);
    words[1] = name;
    if (options_end < rest && name) { /* drop the -- */
        memmove(words + rest, words + rest + 1, (size_t)(*count - rest) * sizeof *words);
        --*count;
    }
    return 0;
}
