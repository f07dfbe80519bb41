/* Holds what a form did against what a step expects. */
#ifndef CONFORMANCE_MATCH_H
#define CONFORMANCE_MATCH_H

#include "cast.h"
#include "form.h"

/* One line of a message (SPEC 10.10), cut into its fields. */
typedef struct {
    const shape *shape;
    actor_name actor;
    reply fields[SHAPE_FIELDS_MOST]; /* integers, as the shape names them */
} message_line;

/* All lines of all messages. */
typedef struct {
    message_line *items;
    size_t count;
} message_lines;

/* NULL, or what is wrong with the messages themselves; to be freed. Clear the lines either way. */
char *match_read_messages(const form_result *, bool one_each, int64_t now_us, message_lines *);
void match_clear_messages(message_lines *);

/*
 * NULL, or a text of two lines, expected and got; to be freed. Variables without a value get what
 * stands in their place. `names` are the locks that the step is about.
 */
char *match_answer(const step *, cast *, const form_result *);
char *match_messages(const step *, cast *, const form_call *names, const message_lines *);

/* What the actor believes of the lock that a line is about: that on which it waits so. */
belief *match_believer(cast *, const form_call *names, const message_line *);

/* Two forms must have done the same. */
char *match_results(const char *left_name, const form_result *left, const char *right_name,
                    const form_result *right);

/* A result in words, with actors for handles; to be freed. */
char *match_print(const form_result *);

#endif
