/* Handles (SPEC 1.2) and their text. */
#ifndef LKC_HANDLE_H
#define LKC_HANDLE_H

#include "core.h"

#include <string.h>

enum { LKC_HANDLE_LENGTH = 45, LKC_CLIENT_LENGTH = 32 };

/* False, with `out` untouched, when the text is not exactly that of a handle. */
bool lkc_handle_parse(lkc_text, lkc_handle *out);

/* Writes a NUL behind it. */
void lkc_handle_print(const lkc_handle *, char out[LKC_HANDLE_LENGTH + 1]);

static inline int lkc_handle_compare(const lkc_handle *a, const lkc_handle *b) {
    int clients = memcmp(a->client, b->client, sizeof a->client);
    return clients ? clients : (a->number > b->number) - (a->number < b->number);
}

static inline bool lkc_handle_is(const lkc_handle *a, const lkc_handle *b) {
    return a->number == b->number && memcmp(a->client, b->client, sizeof a->client) == 0;
}

#endif
