/*
 * A step: one operation with all its arguments and its instant, as plain data. A list of steps can
 * be played again, whole or in part, without whatever made it.
 */
#ifndef DIFFERENTIAL_STEP_H
#define DIFFERENTIAL_STEP_H

#include "test_memory.h"
#include "words.h"

enum { STEP_NAMES_MOST = 5, STEP_ENTRY_ARGUMENTS = 4, STEP_ARGUMENTS_MOST = 24 };

typedef struct {
    char *bytes;
    size_t length;
} step_text;

typedef struct {
    uint64_t now_us;
    lkc_op op;
    step_text names[STEP_NAMES_MOST]; /* one; of renew, one for each entry */
    size_t name_count;
    step_text arguments[STEP_ARGUMENTS_MOST];
    size_t argument_count;
    /* For the scripts alone, which have keys (SPEC 11.1): wrong ones, and what to say of them. */
    step_text *keys;
    size_t key_count;
    char *expected; /* NULL: the keys are those of the names */
} step;

void step_clear(step *);

void step_add_name(step *, lkc_text);
void step_add(step *, lkc_text);
void step_add_number(step *, uint64_t);
void step_add_key(step *, lkc_text);
void step_set(step *, size_t argument, lkc_text); /* instead of what it was */
void step_insert(step *, size_t argument, lkc_text);
void step_remove(step *, size_t argument);

const char *step_op_name(lkc_op);

/* The name of an argument as in SPEC 10; "more" behind the last. */
const char *step_argument_name(lkc_op, size_t argument);

/* In one line: when, where, who and what. Handles by their labels, late instants from the start. */
void step_print(test_text *, const step *);

typedef struct {
    step *steps;
    size_t count;
} step_list;

step *step_list_add(step_list *); /* a new one at the end; good until the next is added */
void step_list_clear(step_list *);

#endif
