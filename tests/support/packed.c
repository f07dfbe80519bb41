/* See packed.h. */
#include "packed.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* s: a text, d: a number, m: a mode, p: a policy. */
static const struct {
    const char *op, *arguments;
} formats[] = {
    {"acquire", "sddmddpdsss"}, {"release", "sddmd"}, {"renew", "sddd"}, {"convert", "sdd"},
    {"cancel", "sdd"},          {"inspect", "d"},     {"force", "s"},
};

static const char *const modes[] = {"read", "write", NULL};
static const char *const policies[] = {"fair", "phase-fair", "prefer-writer", "prefer-reader",
                                       NULL};
enum { NUMBER_SIZE = 8 };

static const char *format_of(const char *op) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].op, op) == 0)
            return formats[i].arguments;
    return "";
}

/* A text that is no number by SPEC 10.1 becomes a double that is none either. */
static double number_of(lkc_text text) {
    uint64_t value = 0;
    bool good = text.length >= 1 && text.length <= 16;
    for (size_t i = 0; good && i < text.length; i++) {
        good = text.bytes[i] >= '0' && text.bytes[i] <= '9';
        value = value * 10 + (uint64_t)(text.bytes[i] - '0');
    }
    return good && value <= UINT64_C(1) << 53 ? (double)value : (double)NAN;
}

static void pack_number(test_text *out, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    for (size_t i = 0; i < NUMBER_SIZE; i++) {
        char byte = (char)(bits >> 8 * i & 0xff);
        test_text_add(out, &byte, 1);
    }
}

/* The index of a word in the list. A word that is not in the list gets the index after the last. */
static char word_of(lkc_text text, const char *const *words) {
    size_t i = 0;
    while (words[i] &&
           (strlen(words[i]) != text.length || memcmp(words[i], text.bytes, text.length) != 0))
        i++;
    return (char)i;
}

/* A text with a NUL cannot be packed. One that is too long is refused in the same words. */
static void pack_text(test_text *out, lkc_text text) {
    enum { TOO_LONG = 300 };
    if (text.length && memchr(text.bytes, 0, text.length))
        for (size_t i = 0; i < TOO_LONG; i++)
            test_text_add(out, "x", 1);
    else
        test_text_add(out, text.length ? text.bytes : "", text.length);
    test_text_add(out, "", 1);
}

static void pack(test_text *out, char letter, lkc_text text) {
    char byte;
    switch (letter) {
    case 'd':
        pack_number(out, number_of(text));
        break;
    case 'm':
    case 'p':
        byte = letter == 'm' ? word_of(text, modes) : word_of(text, policies);
        test_text_add(out, &byte, 1);
        break;
    default:
        pack_text(out, text);
        break;
    }
}

size_t packed_count(const char *op) {
    return strlen(format_of(op));
}

lkc_text packed_arguments(const char *op, const lkc_text *arguments) {
    const char *format = format_of(op);
    test_text packed = {0};
    for (size_t i = 0; format[i]; i++)
        pack(&packed, format[i], arguments[i]);
    return (lkc_text){packed.bytes, packed.length};
}

void packed_add(test_text *out, const char *op, const char *const *words, size_t count) {
    lkc_text arguments[PACKED_WORDS_MOST];
    if (count != packed_count(op)) {
        fprintf(stderr, "%s has %zu arguments, not %zu\n", op, packed_count(op), count);
        abort();
    }
    for (size_t i = 0; i < count; i++)
        arguments[i] = (lkc_text){words[i], strlen(words[i])};
    lkc_text packed = packed_arguments(op, arguments);
    test_text_add(out, packed.bytes, packed.length);
    free((char *)packed.bytes);
}

static char *read_number(const char *bytes) {
    uint64_t bits = 0;
    double number;
    for (size_t i = 0; i < NUMBER_SIZE; i++)
        bits |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    memcpy(&number, &bits, sizeof number);
    return test_print("%.17g", number);
}

static char *read_code(const char *const *names, char code) {
    for (int i = 0; names[i]; i++)
        if (i == code)
            return test_copy(names[i], strlen(names[i]));
    return test_print("the code %d", code);
}

size_t packed_read(const char *op, const char *bytes, char *words[PACKED_WORDS_MOST],
                   size_t *count) {
    const char *format = format_of(op), *at = bytes;
    for (*count = 0; format[*count]; ++*count) {
        char letter = format[*count], **word = &words[*count];
        if (letter == 'd') {
            *word = read_number(at);
            at += NUMBER_SIZE;
        } else if (letter == 's') {
            *word = test_copy(at, strlen(at));
            at += strlen(at) + 1;
        } else {
            *word = read_code(letter == 'm' ? modes : policies, *at);
            at++;
        }
    }
    return (size_t)(at - bytes);
}
