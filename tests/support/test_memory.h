/*
 * Memory and growing texts for test programs. These end the program when memory runs out: a test
 * has no use for going on. Not for the library.
 */
#ifndef TEST_MEMORY_H
#define TEST_MEMORY_H

#include <stddef.h>

void *test_alloc(size_t count, size_t size);       /* zeroed */
char *test_copy(const char *bytes, size_t length); /* with a NUL behind */
char *test_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* `array` with room for one more than `count` elements; the new one is zeroed. */
void *test_grow(void *array, size_t count, size_t size);

/* A text that grows; `bytes` is NULL until something is in it. Free `bytes` with free(). */
typedef struct {
    char *bytes; /* always with a NUL behind */
    size_t length, room;
} test_text;

void test_text_add(test_text *, const char *bytes, size_t length);
void test_text_print(test_text *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text as it stands in a scenario: quoted, with escapes; long repetitions shortened. */
void test_text_quote(test_text *, const char *bytes, size_t length);

/* A list of words, for instance a command line; NULL follows the last one. */
typedef struct {
    char **list;
    size_t count;
} test_words;

/* Adds copies of these words; NULL ends them. */
void test_words_add(test_words *, ...) __attribute__((sentinel));
void test_words_add_all(test_words *, const char *const *); /* NULL is fine */
void test_words_free(test_words *);

#endif
