/* See say.h. */
#include "say.h"

#include "exits.h"
#include "sentence.h"
#include "table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_SIZE = 1200 };

static const char *subcommand;
static bool verbose;

void say_set_subcommand(const char *name) {
    subcommand = name;
}

/* Covers all behind the key: a password with mistakes may contain any sign. */
static void cover_sentinel_password(char *url, size_t length) {
    static const char key[] = "sentinel_password=";
    char *found = memmem(url, length, key, sizeof key - 1);
    char *value = found ? found + sizeof key - 1 : NULL;
    if (value)
        memset(value, 'x', (size_t)(url + length - value));
}

/* Covers all from the first colon to the last @, since a URL may contain mistakes. */
void cover_passwords(char *text, const char *ends) {
    for (char *at = strstr(text, "://"); at; at = strstr(at + 3, "://")) {
        size_t length = strcspn(at + 3, ends);
        cover_sentinel_password(at + 3, length); /* first: its @ would count as the last one */
        char *host = memrchr(at + 3, '@', length);
        char *colon = host ? memchr(at + 3, ':', (size_t)(host - at - 3)) : NULL;
        if (colon)
            memset(colon + 1, 'x', (size_t)(host - colon - 1));
    }
}

/* One write() for the line, so that lines of several processes do not mix. */
static void put_line(const char *format, va_list arguments, const char *tail) {
    char line[LINE_SIZE];
    int length =
        snprintf(line, sizeof line, subcommand ? "latchkey %s: " : "latchkey: ", subcommand);
    int more = vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    length += more;
    text_sanitize(line);        /* a lock name may contain a newline */
    cover_passwords(line, " "); /* an argument in the wrong place may be a URL */
    if (length < (int)sizeof line)
        length += snprintf(line + length, sizeof line - (size_t)length, "%s\n", tail);
    if (length >= (int)sizeof line) {
        length = (int)sizeof line;
        line[length - 1] = '\n';
    }
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* stderr is the only place to report to */
}

int say_usage(const char *format, ...) {
    char tail[100];
    va_list arguments;
    snprintf(tail, sizeof tail, subcommand ? "; see latchkey %s --help" : "; see latchkey help",
             subcommand);
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

void say_set_verbose(bool on) {
    verbose = on;
}

bool say_is_verbose(void) {
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
