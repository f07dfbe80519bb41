/* See test_memory.h. */
#include "test_memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory) {
    if (!memory) {
        fputs("out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return memory;
}

void *test_alloc(size_t count, size_t size) {
    return checked(calloc(count ? count : 1, size));
}

char *test_copy(const char *bytes, size_t length) {
    char *copy = test_alloc(length + 1, 1);
    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

void *test_grow(void *array, size_t count, size_t size) {
    /* Doubling at the powers of two, so that no capacity has to be kept beside the count. */
    if ((count & (count - 1)) == 0) {
        size_t room = count ? count * 2 : 1;
        if (room > SIZE_MAX / size)
            checked(NULL);
        array = checked(realloc(array, room * size));
    }
    memset((char *)array + count * size, 0, size);
    return array;
}

void test_text_add(test_text *text, const char *bytes, size_t length) {
    if (text->room < text->length + length + 1) {
        text->room = (text->length + length + 1) * 2;
        text->bytes = checked(realloc(text->bytes, text->room));
    }
    if (length > 0)
        memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

static void print_to(test_text *text, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0)
        checked(NULL);
    char *line = test_alloc((size_t)length + 1, 1);
    vsnprintf(line, (size_t)length + 1, format, arguments);
    test_text_add(text, line, (size_t)length);
    free(line);
}

void test_text_print(test_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_to(text, format, arguments);
    va_end(arguments);
}

char *test_print(const char *format, ...) {
    test_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    print_to(&text, format, arguments);
    va_end(arguments);
    return text.bytes;
}

void test_text_quote(test_text *text, const char *bytes, size_t length) {
    test_text_add(text, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        size_t run = 1;
        while (i + run < length && bytes[i + run] == bytes[i])
            run++;
        if (run > 64) {
            test_text_print(text, "%c...%zu times...", c < ' ' || c > '~' ? '?' : c, run);
            i += run - 1;
        } else if (c == '\n') {
            test_text_add(text, "\\n", 2);
        } else if (c == '"' || c == '\\') {
            test_text_print(text, "\\%c", c);
        } else if (c < ' ' || c > '~') {
            test_text_print(text, "\\x%02x", c);
        } else {
            test_text_add(text, bytes + i, 1);
        }
    }
    test_text_add(text, "\"", 1);
}

static void add_word(test_words *words, const char *word) {
    words->list = test_grow(words->list, words->count, sizeof *words->list);
    words->list[words->count++] = test_copy(word, strlen(word));
}

/* test_grow only has room for the next word, which is NULL until it is added. */
static void end_words(test_words *words) {
    words->list = test_grow(words->list, words->count, sizeof *words->list);
}

void test_words_add(test_words *words, ...) {
    va_list arguments;
    va_start(arguments, words);
    for (const char *word; (word = va_arg(arguments, const char *));)
        add_word(words, word);
    va_end(arguments);
    end_words(words);
}

void test_words_add_all(test_words *words, const char *const *added) {
    for (; added && *added; added++)
        add_word(words, *added);
    end_words(words);
}

void test_words_free(test_words *words) {
    for (size_t i = 0; i < words->count; i++)
        free(words->list[i]);
    free(words->list);
    *words = (test_words){0};
}
