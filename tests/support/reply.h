/* A reply of an operation as a tree, whichever form of the lock it came from. */
#ifndef TEST_REPLY_H
#define TEST_REPLY_H

#include "test_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { REPLY_NONE, REPLY_INTEGER, REPLY_TEXT, REPLY_ARRAY, REPLY_ERROR } reply_type;

typedef struct reply reply;
struct reply {
    reply_type type;
    int64_t integer;
    char *text; /* of a text or an error, with a NUL behind */
    size_t length;
    reply *elements;
    size_t count;
};

void reply_clear(reply *); /* frees what is in it; it is REPLY_NONE then */
bool reply_equal(const reply *, const reply *);
bool reply_is(const reply *, const char *text); /* a text with these characters */
void reply_print(test_text *, const reply *);

/* Adds an element, REPLY_NONE, to an array. Good until the next is added. */
reply *reply_add(reply *array);
void reply_set_integer(reply *, int64_t);
void reply_set_text(reply *, reply_type, const char *bytes, size_t length);

#endif
