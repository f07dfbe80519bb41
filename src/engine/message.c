/* See message.h. */
#include "engine/message.h"

#include <string.h>

enum { CLIENT_DIGITS = 32, NUMBER_DIGITS = 12, NUMBERS = 5 };

static const char *const kinds[] = {[LKI_MESSAGE_GRANTED] = "granted ",
                                    [LKI_MESSAGE_WATCH] = "watch ",
                                    [LKI_MESSAGE_LOST] = "lost "};

static bool read_kind(const char **at, const char *end, lki_message_kind *out) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i]);
        if ((size_t)(end - *at) >= length && memcmp(*at, kinds[i], length) == 0) {
            *at += length;
            *out = (lki_message_kind)i;
            return true;
        }
    }
    return false;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_handle(const char **at, const char *end, uint64_t *number) {
    const char *c = *at;
    if (end - c < CLIENT_DIGITS + 1 + NUMBER_DIGITS || c[CLIENT_DIGITS] != '-')
        return false;
    c += CLIENT_DIGITS + 1;
    *number = 0;
    for (int i = 0; i < NUMBER_DIGITS; i++) {
        int digit = hex_digit(*c++);
        if (digit < 0)
            return false;
        *number = *number << 4 | (uint64_t)digit;
    }
    *at = c;
    return true;
}

/* A space and a number of 1 to 16 digits, up to 2^53 (SPEC 10.1). */
static bool read_number(const char **at, const char *end, uint64_t *out) {
    const char *c = *at;
    if (c == end || *c++ != ' ')
        return false;
    const char *first = c;
    *out = 0;
    while (c < end && *c >= '0' && *c <= '9' && c - first < 16)
        *out = *out * 10 + (uint64_t)(*c++ - '0');
    *at = c;
    return c > first && *out <= UINT64_C(1) << 53;
}

static bool read_line(const char *at, const char *end, lki_message *out) {
    uint64_t numbers[NUMBERS];
    if (!read_kind(&at, end, &out->kind))
        return false;
    out->handle = at;
    if (!read_handle(&at, end, &out->number))
        return false;
    for (int i = 0; i < NUMBERS; i++)
        if (!read_number(&at, end, &numbers[i]))
            return false;
    out->request = numbers[0];
    out->fence = numbers[1];
    out->server_us = numbers[2];
    out->ms = (int64_t)numbers[3];
    out->flags = (unsigned)numbers[4];
    return at == end;
}

bool lki_message_next(const char **at, const char *end, lki_message *out) {
    while (*at < end) {
        const char *line = *at;
        const char *feed = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = feed ? feed : end;
        *at = feed ? feed + 1 : end;
        if (read_line(line, line_end, out))
            return true;
    }
    return false;
}
