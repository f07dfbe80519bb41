/*
 * The Redis protocol as somebody between a client and a server sees it: where a command or a value
 * ends, and what it is. Knows nothing of sockets. Versions 2 and 3 of the protocol.
 */
#ifndef TEST_RESP_H
#define TEST_RESP_H

#include "test_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESP_BROKEN SIZE_MAX

/*
 * How many bytes the value at the head has, with all that is in it. 0: more bytes are needed.
 * RESP_BROKEN: this is no value.
 */
size_t resp_value_length(const char *bytes, size_t length);

/* A command: its words, each with a NUL behind, and the bytes that it came in. */
typedef struct {
    char **words;
    size_t count;
    char *bytes;
    size_t length;
} resp_command;

/* Reads the command at the head; returns as resp_value_length, and fills it if that is a length. */
size_t resp_command_read(resp_command *, const char *bytes, size_t length);
void resp_command_clear(resp_command *);

/*
 * Whether the command begins with the words of a pattern: "EVALSHA", "CLIENT KILL ID 7". Words are
 * separated by one space each, their case does not matter, and `*` stands for any word, so that
 * "EVALSHA * 1 lk:{a}" is about an argument further behind. "" matches every command.
 */
bool resp_command_matches(const resp_command *, const char *pattern);

/* How many values a server answers with: one, or one for each channel that is named. */
size_t resp_command_answers(const resp_command *);

/* Whether the command makes its connection one that messages come on. */
bool resp_command_subscribes(const resp_command *);

/* Whether a whole value, on a connection that has subscribed, is a message and not an answer. */
bool resp_is_message(const char *bytes, size_t length);

/* Adds a bulk string. */
void resp_add_bulk(test_text *, const char *bytes, size_t length);

#endif
