/* See say.h. */
#include "say.h"

#include "exits.h"
#include "secret.h"
#include "sentence.h"
#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_SIZE = 1200 };

static const char *who;
static bool verbose;

void say_as(const char *subcommand) {
    who = subcommand;
}

/* In one write, so that lines of several processes do not run into each other. */
static void put_line(const char *format, va_list arguments, const char *tail) {
    char line[LINE_SIZE];
    int length = snprintf(line, sizeof line, who ? "latchkey %s: " : "latchkey: ", who);
    int more = vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    length += more;
    text_tame(line);         /* a name may have a line's end in it */
    secret_cover(line, " "); /* a URL may stand where none belongs */
    if (length < (int)sizeof line)
        length += snprintf(line + length, sizeof line - (size_t)length, "%s\n", tail);
    if (length >= (int)sizeof line) {
        length = (int)sizeof line;
        line[length - 1] = '\n';
    }
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* there is nobody to tell */
}

int say_usage(const char *format, ...) {
    char tail[100];
    va_list arguments;
    snprintf(tail, sizeof tail, who ? "; see latchkey %s --help" : "; see latchkey help", who);
    va_start(arguments, format);
    put_line(format, arguments, tail);
    va_end(arguments);
    return EXIT_USAGE;
}

int say_failure(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_line(format, arguments, "");
    va_end(arguments);
    return code;
}

int exit_code_of(lk_status status) {
    switch (status) {
    case LK_OK:
        return 0;
    case LK_BUSY:
    case LK_TIMEOUT:
    case LK_DEADLOCK:
    case LK_CANCELED:
        return EXIT_CONFLICT;
    case LK_INVALID:
    case LK_UNSUPPORTED:
        return EXIT_USAGE;
    case LK_UNAVAILABLE:
        return EXIT_UNREACHABLE;
    case LK_DENIED:
        return EXIT_DENIED;
    case LK_LOST:
        return EXIT_LOST;
    default:
        return EXIT_BROKEN;
    }
}

int say_sentence(lk_status status, const char *sentence) {
    char line[LINE_SIZE];
    sentence_translate(sentence, line, sizeof line);
    return say_failure(exit_code_of(status), "%s", line);
}

int say_status(lk_status status) {
    return say_sentence(status, lk_last_error());
}

void say_verbosely(bool on) {
    verbose = on;
}

bool says_notes(void) {
    return verbose;
}

void say_note(const char *format, ...) {
    va_list arguments;
    if (!verbose)
        return;
    va_start(arguments, format);
    put_line(format, arguments, "");
    va_end(arguments);
}

void say_progress(const char *format, ...) {
    va_list arguments;
    if (!isatty(STDERR_FILENO))
        return;
    dprintf(STDERR_FILENO, "\r\033[K");
    if (!format)
        return;
    va_start(arguments, format);
    vdprintf(STDERR_FILENO, format, arguments);
    va_end(arguments);
}

void say_log(lk_log_level level, const char *text, void *arg) {
    (void)level;
    (void)arg;
    say_note("%s", text);
}
