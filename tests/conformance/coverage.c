/* See coverage.h. */
#include "coverage.h"

#include "test_memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char shown_by[] = "*Shown by:*";

typedef struct {
    const char *path;
    const scenario_list *list;
    char *rule; /* the one that we are under, or NULL */
    int rule_line, line;
    bool listing, shown;
    size_t rules, faults;
} reading;

static void end_rule(reading *in) {
    if (in->rule && !in->shown) {
        printf("%s:%d: rule %s is shown by no scenario\n", in->path, in->rule_line, in->rule);
        in->faults++;
    }
    free(in->rule);
    in->rule = NULL;
    in->listing = in->shown = false;
}

/* The number of a rule that begins on this line, as "3.5"; 0: none does. */
static size_t rule_length(const char *text) {
    size_t length = 0;
    if (strncmp(text, "**", 2) != 0 || !isdigit((unsigned char)text[2]))
        return 0;
    while (isdigit((unsigned char)text[2 + length]) || text[2 + length] == '.')
        length++;
    return memchr(text + 2, '.', length) ? length : 0;
}

static void read_ids(reading *in, const char *text) {
    for (const char *open = strchr(text, '`'); open;) {
        const char *close = strchr(open + 1, '`');
        if (!close)
            break;
        size_t length = (size_t)(close - open - 1);
        if (scenario_find(in->list, open + 1, length)) {
            in->shown = true;
        } else {
            printf("%s:%d: there is no scenario %.*s\n", in->path, in->line, (int)length, open + 1);
            in->faults++;
        }
        open = strchr(close + 1, '`');
    }
}

static void read_line(reading *in, const char *text) {
    size_t length = rule_length(text);
    if (length > 0 || *text == '#') {
        end_rule(in);
        if (length > 0) {
            in->rule = test_copy(text + 2, length);
            in->rule_line = in->line;
            in->rules++;
        }
        return;
    }
    if (strncmp(text, shown_by, sizeof shown_by - 1) == 0)
        in->listing = true;
    else if (strspn(text, " \t\r\n") == strlen(text))
        in->listing = false;
    if (in->listing)
        read_ids(in, text);
}

bool coverage_check(const char *spec_path, const scenario_list *list) {
    FILE *file = fopen(spec_path, "r");
    if (!file) {
        perror(spec_path);
        return false;
    }
    reading in = {.path = spec_path, .list = list};
    char *text = NULL;
    size_t room = 0;
    for (in.line = 1; getline(&text, &room, file) >= 0; in.line++)
        read_line(&in, text);
    end_rule(&in);
    free(text);
    fclose(file);
    if (in.rules == 0) {
        printf("%s: has no rules\n", spec_path);
        in.faults++;
    }
    printf("%zu rules, %zu faults\n", in.rules, in.faults);
    return in.faults == 0;
}
