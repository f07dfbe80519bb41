/*
 * The keys of a lock on a server (SPEC 11.1):
 *
 *   prefix ":{" [ "%" ] name "}"        the first key
 *   prefix ":{" [ "%" ] name "}" ":i"   the second key: the index of a lock with many holds and
 *                                       waiters
 *
 * The braces are a hash tag: in a cluster both keys of a lock are in one slot. A percent sign
 * precedes a name that begins with "}" or "%".
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
    bool is_wide; /* pass both keys, not the first alone */
} lki_key;

/* Write the first or the second key without a NUL, and return its length. */
size_t lki_key_print(lki_key, char out[LKI_KEY_MOST]);
size_t lki_key_print_index(lki_key, char out[LKI_KEY_MOST]);

/*
 * Writes a pattern for SCAN without a NUL, and returns its length. It matches all first keys of
 * names that begin with `start` (start_length 0: all names), and possibly other keys.
 */
size_t lki_key_pattern(const char *prefix, const char *start, size_t start_length,
                       char out[LKI_KEY_PATTERN_MOST]);

/* The name in a first key, *length bytes without a NUL; NULL: the key is not a first key. */
const char *lki_key_name(const char *prefix, const char *key, size_t key_length, size_t *length);

#endif
