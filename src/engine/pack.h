/*
 * The arguments of an operation as bytes (SPEC 11.5). They follow each other in the order of SPEC 10,
 * without padding:
 *
 *   text     its bytes, and a NUL
 *   number   8 bytes: an IEEE double, little-endian
 *   code     1 byte: a mode or a policy
 *
 * Knows no operation.
 */
#ifndef LKI_PACK_H
#define LKI_PACK_H

#include "base/bytes.h"

#include <stdint.h>

enum { LKI_PACK_MOST = 600 }; /* the longest arguments are those of acquire; form.c asserts that */

/* Start with length 0. The bytes behind `length` have no meaning. */
typedef struct {
    size_t length;
    char bytes[LKI_PACK_MOST];
} lki_pack;

void lki_pack_text(lki_pack *, const char *text);
void lki_pack_number(lki_pack *, uint64_t number); /* at most 2^53 (SPEC 10.1) */
void lki_pack_code(lki_pack *, unsigned code);

#endif
