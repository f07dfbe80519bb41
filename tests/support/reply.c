/* See reply.h. */
#include "reply.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void reply_clear(reply *tree) {
    for (size_t i = 0; i < tree->count; i++)
        reply_clear(&tree->elements[i]);
    free(tree->elements);
    free(tree->text);
    *tree = (reply){0};
}

bool reply_equal(const reply *a, const reply *b) {
    if (a->type != b->type || a->integer != b->integer || a->length != b->length ||
        a->count != b->count)
        return false;
    if (a->length > 0 && memcmp(a->text, b->text, a->length) != 0)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!reply_equal(&a->elements[i], &b->elements[i]))
            return false;
    return true;
}

bool reply_is(const reply *tree, const char *text) {
    return tree->type == REPLY_TEXT && tree->length == strlen(text) &&
           memcmp(tree->text, text, tree->length) == 0;
}

void reply_print(test_text *out, const reply *tree) {
    switch (tree->type) {
    case REPLY_NONE:
        test_text_print(out, "nothing");
        break;
    case REPLY_INTEGER:
        test_text_print(out, "%" PRId64, tree->integer);
        break;
    case REPLY_ERROR:
        test_text_print(out, "error ");
        test_text_quote(out, tree->text, tree->length);
        break;
    case REPLY_TEXT:
        test_text_quote(out, tree->text, tree->length);
        break;
    case REPLY_ARRAY:
        test_text_print(out, "[");
        for (size_t i = 0; i < tree->count; i++) {
            test_text_print(out, i ? ", " : "");
            reply_print(out, &tree->elements[i]);
        }
        test_text_print(out, "]");
        break;
    }
}

reply *reply_add(reply *array) {
    array->type = REPLY_ARRAY;
    array->elements = test_grow(array->elements, array->count, sizeof *array->elements);
    return &array->elements[array->count++];
}

void reply_set_integer(reply *tree, int64_t value) {
    reply_clear(tree);
    tree->type = REPLY_INTEGER;
    tree->integer = value;
}

void reply_set_text(reply *tree, reply_type type, const char *bytes, size_t length) {
    reply_clear(tree);
    tree->type = type;
    tree->text = test_copy(bytes, length);
    tree->length = length;
}
