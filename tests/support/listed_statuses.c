/* See listed_statuses.h. Knows the layout of the header; does not call the library's functions. */
#include "listed_statuses.h"

#include "test_memory.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_NAME(code, text) [code] = #code,
static const char *const status_names[] = {LK_STATUSES(STATUS_NAME)};
enum { STATUS_COUNT = sizeof status_names / sizeof *status_names };
_Static_assert(STATUS_COUNT <= sizeof(unsigned) * CHAR_BIT, "a set of statuses has a bit for each");

static listed_functions of_header;

/* ------------------------------------------------------------------------------ words */

static size_t word_length(const char *text) {
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length;
}

static bool begins_with_word(const char *text, const char *word) {
    return word_length(text) == strlen(word) && strncmp(text, word, strlen(word)) == 0;
}

static const char *after_word_and_space(const char *text) {
    text += word_length(text);
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

/* Where `end` is over; at the end of the text if it is not there. */
static const char *behind(const char *text, const char *end) {
    const char *found = strstr(text, end);
    return found ? found + strlen(end) : text + strlen(text);
}

/* ------------------------------------------------------------------------------ the header */

static unsigned status_bit(const char *text) {
    for (int i = 0; i < STATUS_COUNT; i++)
        if (begins_with_word(text, status_names[i]))
            return 1U << i;
    return 0;
}

/* A line of a list: the frame of the comment, a status, two spaces or more, and its meaning. */
static unsigned status_of_line(const char *line) {
    static const char frame[] = " *   ";
    if (strncmp(line, frame, strlen(frame)) != 0)
        return 0;
    const char *status = line + strlen(frame), *gap = status + word_length(status);
    size_t spaces = strspn(gap, " ");
    bool has_meaning = spaces >= 2 && gap[spaces] && gap[spaces] != '\n';
    return has_meaning ? status_bit(status) : 0;
}

static unsigned statuses_in(const char *comment, const char *end) {
    unsigned found = 0;
    for (const char *line = comment; line < end; line = behind(line, "\n"))
        found |= status_of_line(line);
    return found;
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    abort();
}

/* Leaves a function out that returns something else. */
static void add_function(listed_functions *out, const char *declaration, unsigned statuses) {
    const char *type = after_word_and_space(declaration), *name = after_word_and_space(type);
    size_t length = word_length(name);
    if (!begins_with_word(type, "lk_status") || !length)
        return;
    if (out->count == LISTED_FUNCTIONS_MOST || length > LISTED_NAME_MOST)
        die("listed_statuses.h", "too small for the functions of the header");
    listed_function *function = &out->functions[out->count++];
    memcpy(function->name, name, length);
    function->name[length] = 0;
    function->statuses = statuses;
}

void listed_functions_read(listed_functions *out, const char *header) {
    unsigned statuses = 0; /* of the last comment, as long as only declarations follow it */
    const char *at = header, *next;
    for (out->count = 0; *at; at = next) {
        bool begins_line = at == header || at[-1] == '\n';
        if (strncmp(at, "/*", 2) == 0) {
            next = behind(at + 2, "*/");
            statuses = begins_line ? statuses_in(at, next) : 0;
        } else if (begins_line && begins_with_word(at, "LK_API")) {
            next = behind(at, ";");
            add_function(out, at, statuses);
        } else {
            next = at + 1;
            if (!isspace((unsigned char)*at))
                statuses = 0;
        }
    }
}

/* ------------------------------------------------------------------------------ the check */

__attribute__((constructor)) static void read_header(void) {
    char bytes[4096];
    test_text text = {0};
    FILE *file = fopen(LATCHKEY_HEADER, "r");
    if (!file)
        die(LATCHKEY_HEADER, strerror(errno));
    for (size_t length; (length = fread(bytes, 1, sizeof bytes, file)) > 0;)
        test_text_add(&text, bytes, length);
    fclose(file);
    listed_functions_read(&of_header, text.bytes ? text.bytes : "");
    free(text.bytes);
}

const listed_functions *listed_functions_of_header(void) {
    return &of_header;
}

const listed_function *listed_function_find(const char *name) {
    for (size_t i = 0; i < of_header.count; i++)
        if (strcmp(of_header.functions[i].name, name) == 0)
            return &of_header.functions[i];
    return NULL;
}

lk_status listed_status_check(const char *what, const char *as, lk_status status) {
    const listed_function *function = listed_function_find(as);
    bool is_status = (unsigned)status < STATUS_COUNT;
    if (function && is_status && function->statuses & 1U << status)
        return status;
    fprintf(stderr, "%s: %s (%d) is not among the statuses that latchkey.h lists for %s: %s\n",
            what, is_status ? status_names[status] : "no status", (int)status, as, lk_last_error());
    abort();
}
