/* See options.h. */
#include "options.h"

#include "say.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { OPTIONS_MOST = 32, LONG_BASE = 1000, TEXT_COLUMN = 26, OPTION_SIZE = 512 };

static size_t count_options(const option *options) {
    size_t count = 0;
    while (options[count].name)
        count++;
    return count;
}

static void build(const option *options, bool stop, char *letters, struct option *longs) {
    size_t at = 0;
    letters[at++] = stop ? '+' : '-';
    letters[at++] = ':';
    for (size_t i = 0; options[i].name; i++) {
        longs[i] =
            (struct option){options[i].name, options[i].argument ? 1 : 0, NULL, LONG_BASE + (int)i};
        if (!options[i].letter)
            continue;
        letters[at++] = options[i].letter;
        if (options[i].argument)
            letters[at++] = ':';
    }
    letters[at] = '\0';
}

static size_t index_of(const option *options, int found) {
    if (found >= LONG_BASE)
        return (size_t)(found - LONG_BASE);
    size_t index = 0;
    while (options[index].name && options[index].letter != found)
        index++;
    return index;
}

static int refuse_unknown(const char *word) {
    return say_usage("there is no option %s", word);
}

static int report_error(int found, char **words, option_refuse *refuse) {
    char name[OPTION_SIZE];
    bool is_letter = optopt != 0 && optopt < LONG_BASE;
    if (is_letter) { /* a cluster such as -sZ is one word, and only the letter is wrong */
        snprintf(name, sizeof name, "-%c", optopt);
    } else { /* the value may be a secret */
        const char *word = words[optind - 1];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    }
    if (found == ':')
        return say_usage("%s needs a value", name);
    return optopt && !is_letter ? say_usage("%s takes no value", name) : refuse(name);
}

int options_parse(const option *options, bool stop, int count, char **words,
                  option_handler *handler, void *arg, int *rest) {
    return options_parse_or(options, stop, count, words, handler, refuse_unknown, arg, rest);
}

int options_parse_or(const option *options, bool stop, int count, char **words,
                     option_handler *handler, option_refuse *refuse, void *arg, int *rest) {
    char letters[2 * OPTIONS_MOST + 3];
    struct option longs[OPTIONS_MOST + 1] = {0};
    int found, code = 0, others = 1;
    if (count_options(options) > OPTIONS_MOST)
        return say_failure(70, "too many options in a table");
    build(options, stop, letters, longs);
    optind = 0; /* glibc starts over */
    opterr = 0;
    while (code == 0 && (found = getopt_long(count, words, letters, longs, NULL)) != -1) {
        if (found == 1) /* an argument between options (see '-'): move it to the front */
            words[others++] = optarg;
        else if (found == '?' || found == ':')
            code = report_error(found, words, refuse);
        else
            code = handler(arg, &options[index_of(options, found)], optarg);
    }
    if (code != 0)
        return code;
    if (stop) {
        *rest = optind;
        return 0;
    }
    while (optind < count) /* the words after -- */
        words[others++] = words[optind++];
    words[others] = NULL;
    *rest = 1;
    return 0;
}

bool option_is(const option *row, const char *name) {
    return strcmp(row->name, name) == 0;
}

void options_print(const option *options) {
    for (size_t i = 0; options[i].name; i++) {
        char left[80];
        int length = options[i].letter ? snprintf(left, sizeof left, "  -%c, --%s",
                                                  options[i].letter, options[i].name)
                                       : snprintf(left, sizeof left, "      --%s", options[i].name);
        if (options[i].argument)
            length +=
                snprintf(left + length, sizeof left - (size_t)length, " %s", options[i].argument);
        if (length < TEXT_COLUMN - 1) /* room for two spaces */
            printf("%-*s%s\n", TEXT_COLUMN, left, options[i].text);
        else
            printf("%s\n%*s%s\n", left, TEXT_COLUMN, "", options[i].text);
    }
}
