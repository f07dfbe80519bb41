/* See finding.h. */
#include "finding.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put(char out[FINDING_TEXT_SIZE], const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
static void put(char out[FINDING_TEXT_SIZE], const char *format, va_list arguments) {
    int length = vsnprintf(out, FINDING_TEXT_SIZE, format, arguments);
    if (length >= FINDING_TEXT_SIZE)
        memcpy(out + FINDING_TEXT_SIZE - sizeof "...", "...", sizeof "...");
}

void finding_set(finding *out, finding_grade grade, const char *format, ...) {
    va_list arguments;
    out->grade = grade;
    va_start(arguments, format);
    put(out->text, format, arguments);
    va_end(arguments);
}

void finding_advise(finding *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put(out->advice, format, arguments);
    va_end(arguments);
}

void finding_command(finding *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put(out->advice, format, arguments);
    va_end(arguments);
    out->is_command = true;
}

void finding_prefix(finding *out, const char *format, ...) {
    char text[FINDING_TEXT_SIZE];
    va_list arguments;
    memcpy(text, out->text, sizeof text);
    va_start(arguments, format);
    put(out->text, format, arguments);
    va_end(arguments);
    size_t length = strlen(out->text);
    snprintf(out->text + length, sizeof out->text - length, "%s", text);
}

void finding_figure_add(finding *out, const char *name, int64_t value) {
    assert(out->figure_count < FINDING_FIGURES_MOST);
    if (value >= 0)
        out->figures[out->figure_count++] = (finding_figure){name, value};
}

bool finding_is_same(const finding *a, const finding *b) {
    return a->grade == b->grade && strcmp(a->text, b->text) == 0 &&
           strcmp(a->advice, b->advice) == 0;
}
