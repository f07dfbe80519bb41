/* See key_slot.h. */
#include "key_slot.h"

#include <stdint.h>
#include <string.h>

/* CRC-16/XMODEM: polynomial 0x1021, starts with 0, nothing reflected. "123456789" has 0x31c3. */
static uint16_t crc16(const char *bytes, size_t length) {
    unsigned crc = 0;
    for (size_t i = 0; i < length; i++) {
        crc ^= (unsigned)(unsigned char)bytes[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
    }
    return (uint16_t)crc;
}

/* Only the tag counts: from the first '{' to the first '}' behind it, unless that is empty. */
int test_key_slot(const char *key, size_t length) {
    const char *open = length > 0 ? memchr(key, '{', length) : NULL;
    if (open) {
        const char *tag = open + 1;
        const char *close = memchr(tag, '}', length - (size_t)(tag - key));
        if (close && close > tag)
            return crc16(tag, (size_t)(close - tag)) % TEST_SLOTS;
    }
    return crc16(key, length) % TEST_SLOTS;
}
