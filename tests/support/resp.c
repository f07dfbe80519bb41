/* See resp.h. */
#include "resp.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MOST = 512 * 1024 * 1024
}; /* what a server permits in one string; a greater one is broken */

/* The line at `at`: where the next begins. 0: it has not ended. */
static size_t line_end(const char *bytes, size_t length, size_t at) {
    const char *end = length > at + 1 ? memmem(bytes + at, length - at, "\r\n", 2) : NULL;
    return end ? (size_t)(end - bytes) + 2 : 0;
}

static bool is_one_of(char type, const char *types) {
    return type != '\0' && strchr(types, type);
}

/* The number of a header. -1 stands for null, which has nothing behind it. */
static bool read_count(const char *digits, long *count) {
    char *end;
    *count = strtol(digits, &end, 10);
    return is_one_of(*digits, "-0123456789") && *end == '\r' && *count >= -1 && *count <= MOST;
}

size_t resp_value_length(const char *bytes, size_t length) {
    size_t at = 0;
    /* A count and not a recursion: nesting costs nothing here. */
    for (size_t missing = 1; missing > 0; missing--) {
        size_t next = line_end(bytes, length, at);
        if (at < length && !is_one_of(bytes[at], "+-:,#(_$=!*~>%"))
            return RESP_BROKEN;
        if (!next)
            return 0;
        long count = 0;
        if (is_one_of(bytes[at], "$=!*~>%") && !read_count(bytes + at + 1, &count))
            return RESP_BROKEN;
        size_t inside = count > 0 ? (size_t)count : 0;
        if (is_one_of(bytes[at], "$=!")) {
            if (count >= 0)
                next += inside + 2;
            if (next > length)
                return 0;
        } else if (is_one_of(bytes[at], "*~>%")) {
            missing += bytes[at] == '%' ? inside * 2 : inside;
        }
        at = next;
    }
    return at;
}

size_t resp_command_read(resp_command *command, const char *bytes, size_t length) {
    if (length > 0 && bytes[0] != '*')
        return RESP_BROKEN;
    size_t whole = resp_value_length(bytes, length);
    if (whole == 0 || whole == RESP_BROKEN)
        return whole;
    resp_command read = {.bytes = test_copy(bytes, whole), .length = whole};
    for (size_t at = line_end(bytes, whole, 0); at < whole;) {
        long count;
        size_t word = line_end(bytes, whole, at);
        if (bytes[at] != '$' || !read_count(bytes + at + 1, &count) || count < 0)
            break;
        read.words = test_grow(read.words, read.count, sizeof *read.words);
        read.words[read.count++] = test_copy(bytes + word, (size_t)count);
        at = word + (size_t)count + 2;
    }
    long promised;
    if (!read_count(bytes + 1, &promised) || promised < 1 || read.count != (size_t)promised) {
        resp_command_clear(&read);
        return RESP_BROKEN;
    }
    *command = read;
    return whole;
}

void resp_command_clear(resp_command *command) {
    for (size_t i = 0; i < command->count; i++)
        free(command->words[i]);
    free(command->words);
    free(command->bytes);
    *command = (resp_command){0};
}

bool resp_command_matches(const resp_command *command, const char *pattern) {
    for (size_t i = 0; *pattern; i++) {
        size_t length = strcspn(pattern, " ");
        if (i == command->count)
            return false;
        const char *word = command->words[i];
        bool any = length == 1 && *pattern == '*';
        if (!any && (strlen(word) != length || strncasecmp(word, pattern, length) != 0))
            return false;
        pattern += length + (pattern[length] == ' ');
    }
    return true;
}

bool resp_command_subscribes(const resp_command *command) {
    return resp_command_matches(command, "SUBSCRIBE") ||
           resp_command_matches(command, "PSUBSCRIBE") ||
           resp_command_matches(command, "SSUBSCRIBE");
}

size_t resp_command_answers(const resp_command *command) {
    bool each_channel = resp_command_subscribes(command) ||
                        resp_command_matches(command, "UNSUBSCRIBE") ||
                        resp_command_matches(command, "PUNSUBSCRIBE") ||
                        resp_command_matches(command, "SUNSUBSCRIBE");
    return each_channel && command->count > 2 ? command->count - 1 : 1;
}

bool resp_is_message(const char *bytes, size_t length) {
    static const char *const kinds[] = {"$7\r\nmessage\r\n", "$8\r\npmessage\r\n",
                                        "$8\r\nsmessage\r\n", "$10\r\ninvalidate\r\n"};
    size_t first = line_end(bytes, length, 0);
    if (!first || (bytes[0] != '*' && bytes[0] != '>'))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (length - first >= strlen(kinds[i]) &&
            memcmp(bytes + first, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return false;
}

void resp_add_bulk(test_text *text, const char *bytes, size_t length) {
    test_text_print(text, "$%zu\r\n", length);
    test_text_add(text, bytes, length);
    test_text_add(text, "\r\n", 2);
}
