/* The text of a handle: <client>-<number>, in lower-case hexadecimal digits (SPEC 1.2). */
#include "handle.h"

enum { NUMBER_LENGTH = LKC_HANDLE_LENGTH - LKC_CLIENT_LENGTH - 1 };

static const char digits[] = "0123456789abcdef";

/* -1: not a digit. */
static int digit_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool lkc_handle_parse(lkc_text text, lkc_handle *out) {
    if (text.length != LKC_HANDLE_LENGTH || text.bytes[LKC_CLIENT_LENGTH] != '-')
        return false;
    lkc_handle handle = {.number = 0};
    for (size_t i = 0; i < LKC_CLIENT_LENGTH; i += 2) {
        int high = digit_value(text.bytes[i]), low = digit_value(text.bytes[i + 1]);
        if (high < 0 || low < 0)
            return false;
        handle.client[i / 2] = (unsigned char)(high * 16 + low);
    }
    for (size_t i = LKC_CLIENT_LENGTH + 1; i < LKC_HANDLE_LENGTH; i++) {
        int value = digit_value(text.bytes[i]);
        if (value < 0)
            return false;
        handle.number = handle.number * 16 + (unsigned)value;
    }
    *out = handle;
    return true;
}

void lkc_handle_print(const lkc_handle *handle, char out[LKC_HANDLE_LENGTH + 1]) {
    for (size_t i = 0; i < sizeof handle->client; i++) {
        *out++ = digits[handle->client[i] / 16];
        *out++ = digits[handle->client[i] % 16];
    }
    *out++ = '-';
    for (int i = NUMBER_LENGTH - 1; i >= 0; i--)
        *out++ = digits[handle->number >> (4 * i) & 15];
    *out = '\0';
}
