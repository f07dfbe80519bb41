/* Makes of a step the words of its operation, with what its actors believe by default. */
#ifndef CONFORMANCE_REQUEST_H
#define CONFORMANCE_REQUEST_H

#include "cast.h"
#include "form.h"

typedef struct {
    form_call call;
    lkc_text *names, *words, *keys; /* call's, with their bytes our own */
    int64_t *requests;              /* the number of each party's request; 0: it has none */
    size_t name_count, word_count, key_count;
} request;

/* Returns NULL, or what is missing. Clear the request in either case. */
const char *request_make(request *, const step *, cast *, lkc_text lock);
void request_clear(request *);

/* Changes what the parties believe, after the answer. */
void request_learn(const request *, const step *, cast *, const reply *answer);

#endif
