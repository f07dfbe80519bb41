/* See differential_step.h. */
#include "differential_step.h"

#include "differential_cast.h"
#include "form.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_US 1000000
enum { SHAPE_ARGUMENTS_MOST = 11 };

typedef struct {
    const char *op;
    const char *arguments[SHAPE_ARGUMENTS_MOST + 1]; /* ended by NULL */
} shape;

static const shape shapes[] = {
    [LKC_OP_ACQUIRE] = {"acquire",
                        {"handle", "req", "fence", "mode", "wait", "lease_ms", "policy", "floor",
                         "owner", "group", "who"}},
    [LKC_OP_RELEASE] = {"release", {"handle", "req", "fence", "mode", "told"}},
    [LKC_OP_RENEW] = {"renew", {"handle", "fence", "req", "lease_ms"}},
    [LKC_OP_CONVERT] = {"convert", {"handle", "req", "fence"}},
    [LKC_OP_CANCEL] = {"cancel", {"handle", "req", "target"}},
    [LKC_OP_INSPECT] = {"inspect", {"limit"}},
    [LKC_OP_FORCE] = {"force", {"owner"}},
};

static step_text copy_of(lkc_text text) {
    return (step_text){test_copy(text.bytes, text.length), text.length};
}

void step_clear(step *one) {
    for (size_t i = 0; i < one->name_count; i++)
        free(one->names[i].bytes);
    for (size_t i = 0; i < one->argument_count; i++)
        free(one->arguments[i].bytes);
    for (size_t i = 0; i < one->key_count; i++)
        free(one->keys[i].bytes);
    free(one->keys);
    free(one->expected);
    *one = (step){0};
}

void step_add_name(step *one, lkc_text name) {
    assert(one->name_count < STEP_NAMES_MOST);
    one->names[one->name_count++] = copy_of(name);
}

void step_insert(step *one, size_t argument, lkc_text text) {
    assert(one->argument_count < STEP_ARGUMENTS_MOST && argument <= one->argument_count);
    step_text *place = &one->arguments[argument];
    memmove(place + 1, place, (one->argument_count - argument) * sizeof *place);
    *place = copy_of(text);
    one->argument_count++;
}

void step_remove(step *one, size_t argument) {
    assert(argument < one->argument_count);
    step_text *place = &one->arguments[argument];
    free(place->bytes);
    one->argument_count--;
    memmove(place, place + 1, (one->argument_count - argument) * sizeof *place);
}

void step_set(step *one, size_t argument, lkc_text text) {
    step_text copy = copy_of(text);
    free(one->arguments[argument].bytes);
    one->arguments[argument] = copy;
}

void step_add(step *one, lkc_text text) {
    step_insert(one, one->argument_count, text);
}

void step_add_number(step *one, uint64_t number) {
    char *text = test_print("%" PRIu64, number);
    step_add(one, cast_text(text));
    free(text);
}

void step_add_key(step *one, lkc_text key) {
    one->keys = test_grow(one->keys, one->key_count, sizeof *one->keys);
    one->keys[one->key_count++] = copy_of(key);
}

const char *step_op_name(lkc_op op) {
    return shapes[op].op;
}

const char *step_argument_name(lkc_op op, size_t argument) {
    if (op == LKC_OP_RENEW)
        argument %= STEP_ENTRY_ARGUMENTS;
    for (size_t i = 0; i <= argument; i++)
        if (!shapes[op].arguments[i])
            return "more";
    return shapes[op].arguments[argument];
}

/* Fences and floors are instants, mostly: easier to follow when counted from the start. */
static bool print_instant(test_text *out, const step_text *text) {
    char *end;
    uint64_t number = strtoull(text->bytes, &end, 10);
    if (text->length == 0 || text->bytes[0] == '-' || (size_t)(end - text->bytes) != text->length)
        return false;
    if (number < FORM_CLOCK_START_US)
        test_text_print(out, "%" PRIu64, number);
    else
        test_text_print(out, "start+%" PRIu64, number - FORM_CLOCK_START_US);
    return true;
}

static void print_argument(test_text *out, const char *name, const step_text *text) {
    int handle = cast_find(text->bytes, text->length);
    test_text_print(out, " %s=", name);
    if (handle != CAST_NOBODY)
        test_text_print(out, "%s", cast_label(handle));
    else if (!print_instant(out, text))
        test_text_quote(out, text->bytes, text->length);
}

void step_print(test_text *out, const step *one) {
    int64_t at_us = (int64_t)(one->now_us - FORM_CLOCK_START_US);
    test_text_print(out, "%s%" PRId64 ".%06" PRId64 " s %s", at_us < 0 ? "-" : "",
                    (int64_t)imaxabs(at_us) / SECOND_US, (int64_t)imaxabs(at_us) % SECOND_US,
                    shapes[one->op].op);
    for (size_t i = 0; i < one->name_count; i++) {
        test_text_print(out, " ");
        test_text_quote(out, one->names[i].bytes, one->names[i].length);
    }
    for (size_t i = 0; i < one->argument_count; i++) {
        if (one->op == LKC_OP_RENEW && i % STEP_ENTRY_ARGUMENTS == 0 && i > 0)
            test_text_print(out, " |");
        print_argument(out, step_argument_name(one->op, i), &one->arguments[i]);
    }
    if (one->expected)
        test_text_print(out, " with %zu keys", one->key_count);
    for (size_t i = 0; i < one->key_count && i < STEP_ENTRY_ARGUMENTS; i++) {
        test_text_print(out, " ");
        test_text_quote(out, one->keys[i].bytes, one->keys[i].length);
    }
}

step *step_list_add(step_list *list) {
    list->steps = test_grow(list->steps, list->count, sizeof *list->steps);
    return &list->steps[list->count++];
}

void step_list_clear(step_list *list) {
    for (size_t i = 0; i < list->count; i++)
        step_clear(&list->steps[i]);
    free(list->steps);
    *list = (step_list){0};
}
