/*
 * The arguments of an operation as the scripts take them: packed into one string (SPEC 11.5). Written
 * apart from src/engine/pack.c, so that tests can compare the two.
 */
#ifndef TEST_PACKED_H
#define TEST_PACKED_H

#include "core.h"
#include "test_memory.h"

/* How many arguments an operation has; of renew, an entry. 0: there is no such operation. */
size_t packed_count(const char *op);

/*
 * Packs the arguments of one operation, or of one entry of renew, which must be as many as
 * packed_count says. The bytes are to be freed. What cannot be packed (a number that is none, a text
 * with a NUL) becomes something that the script refuses in the same words.
 */
lkc_text packed_arguments(const char *op, const lkc_text *arguments);

/* The same, of words. Ends the program if the operation has another number of words. */
void packed_add(test_text *, const char *op, const char *const *words, size_t count);

/* The words of packed arguments, each to be freed; returns how many bytes they took. */
enum { PACKED_WORDS_MOST = 11 };
size_t packed_read(const char *op, const char *bytes, char *words[PACKED_WORDS_MOST],
                   size_t *count);

#endif
