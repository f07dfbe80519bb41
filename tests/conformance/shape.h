/*
 * What replies, messages and rows look like (SPEC 10): for each first word, the names of what
 * follows. Data for the parser, which refuses other names, and for what compares.
 */
#ifndef CONFORMANCE_SHAPE_H
#define CONFORMANCE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

enum { SHAPE_FIELDS_MOST = 9 };

typedef struct {
    const char *word;
    const char *fields[SHAPE_FIELDS_MOST + 1]; /* in order, NULL behind the last */
} shape;

/* NULL when there is no such answer, message or row. */
const shape *shape_of_answer(const char *word);
const shape *shape_of_message(const char *word);
const shape *shape_of_row(const char *word);

/* The place of the field, from 0; -1 when the shape has none of that name. */
int shape_field(const shape *, const char *name);
size_t shape_count(const shape *);

#endif
