/* Handles (SPEC 1.2) and their text. */
#ifndef LKI_HANDLE_H
#define LKI_HANDLE_H

#include "core.h"

#include <string.h>

enum { LKI_HANDLE_LENGTH = 45, LKI_CLIENT_LENGTH = 32 };

/* False, with `out` untouched, when the text is not exactly that of a handle. */
bool lki_handle_parse(lki_text, lki_handle *out);

/* Writes a NUL behind it. */
void lki_handle_print(const lki_handle *, char out[LKI_HANDLE_LENGTH + 1]);

static inline int lki_handle_compare(const lki_handle *a, const lki_handle *b) {
    int clients = memcmp(a->client, b->client, sizeof a->client);
    return clients ? clients : (a->number > b->number) - (a->number < b->number);
}

static inline bool lki_handle_is(const lki_handle *a, const lki_handle *b) {
    return a->number == b->number && memcmp(a->client, b->client, sizeof a->client) == 0;
}

#endif
