/*
 * The keys of a lock on a server (SPEC 11.1):
 *
 *   prefix ":{" [ "%" ] name "}"              the first key
 *   prefix ":{" [ "%" ] name "}" ":" letter   the others
 *
 * The braces are a hash tag: in a cluster all keys of a lock are in one slot. A percent sign stands
 * before a name that begins with "}" or "%".
 */
#ifndef LKI_KEY_H
#define LKI_KEY_H

#include <stdbool.h>
#include <stddef.h>

enum {
    LKI_NAME_MOST = 512,
    LKI_PREFIX_MOST = 64,
    LKI_KEY_MOST = LKI_PREFIX_MOST + LKI_NAME_MOST + 8,
    LKI_KEY_PATTERN_MOST = 2 * LKI_KEY_MOST
};

typedef struct {
    const char *prefix, *name;
} lki_key;

/* Each writes without a terminating zero, and returns the length. */
size_t lki_key_print(lki_key, char letter, char out[LKI_KEY_MOST]); /* 0: the first key */

/* For SCAN: all first keys whose name begins with `start` (its length may be 0), and a few more. */
size_t lki_key_pattern(const char *prefix, const char *start, size_t start_length,
                       char out[LKI_KEY_PATTERN_MOST]);

/* The name in a first key; NULL: the key is none. It ends at *length. */
const char *lki_key_name(const char *prefix, const char *key, size_t key_length, size_t *length);

#endif
