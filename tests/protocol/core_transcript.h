/* Operations in words (words.h), and their replies as one text: [granted 170 170 30000 0] */
#ifndef CORE_TRANSCRIPT_H
#define CORE_TRANSCRIPT_H

#include "words.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TRANSCRIPT_DEPTH = 4, TRANSCRIPT_MOST = 1 << 16, TRANSCRIPT_ARGUMENTS = 16 };

typedef struct {
    char text[TRANSCRIPT_MOST];
    size_t length;
    size_t wanted[TRANSCRIPT_DEPTH]; /* elements that each open array still wants */
    size_t depth;
} transcript;

static inline void transcript_add(transcript *t, const char *bytes, size_t length) {
    assert_true(t->length + length < sizeof t->text);
    if (length > 0)
        memcpy(t->text + t->length, bytes, length);
    t->length += length;
    t->text[t->length] = '\0';
}

static inline void transcript_begin(transcript *t) {
    if (t->length > 0 && t->text[t->length - 1] != '[')
        transcript_add(t, " ", 1);
}

static inline void transcript_end(transcript *t) {
    while (t->depth > 0 && (t->wanted[t->depth - 1] == 0 || --t->wanted[t->depth - 1] == 0)) {
        transcript_add(t, "]", 1);
        t->depth--;
    }
}

static inline void transcript_array(size_t count, void *context) {
    transcript *t = context;
    transcript_begin(t);
    transcript_add(t, "[", 1);
    assert_true(t->depth < TRANSCRIPT_DEPTH);
    t->wanted[t->depth++] = count;
    if (count == 0) {
        transcript_add(t, "]", 1);
        t->depth--;
        transcript_end(t);
    }
}

static inline void transcript_integer(uint64_t value, void *context) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    transcript_begin(context);
    transcript_add(context, digits, (size_t)length);
    transcript_end(context);
}

static inline void transcript_text(lkc_text text, void *context) {
    transcript_begin(context);
    transcript_add(context, text.length ? text.bytes : "''", text.length ? text.length : 2);
    transcript_end(context);
}

static inline void transcript_error(const char *text, void *context) {
    transcript_begin(context);
    transcript_add(context, "-", 1);
    transcript_add(context, text, strlen(text));
    transcript_end(context);
}

/* Runs an operation, its arguments divided by single spaces; two in a row have an empty one
 * between. */
static inline bool transcript_run(transcript *t, lkc_lock *lock, uint64_t now_us, lkc_op op,
                                  const char *line) {
    lkc_reply_sink sink = {transcript_array, transcript_integer, transcript_text, transcript_error,
                           t};
    lkc_text arguments[TRANSCRIPT_ARGUMENTS];
    size_t count = 0;
    t->length = t->depth = 0;
    t->text[0] = '\0';
    for (const char *end = line; end; line = end + 1) {
        end = strchr(line, ' ');
        assert_true(count < TRANSCRIPT_ARGUMENTS);
        arguments[count++] = (lkc_text){line, end ? (size_t)(end - line) : strlen(line)};
        if (!end)
            break;
    }
    bool done = lkc_words_run(lock, now_us, op, arguments, count, &sink);
    assert_int_equal(t->depth, 0); /* every array is full */
    return done;
}

#endif
