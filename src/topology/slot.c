/* See slot.h. */
#include "topology/slot.h"

#include <string.h>

/* CRC-16 with the polynomial 0x1021, four bits at a time. */
static unsigned crc16(const char *bytes, size_t length) {
    static const unsigned short remainders[16] = {
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
        0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
    };
    unsigned crc = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned byte = (unsigned char)bytes[i];
        crc = (crc << 4 ^ remainders[(crc >> 12 ^ byte >> 4) & 0xf]) & 0xffff;
        crc = (crc << 4 ^ remainders[(crc >> 12 ^ byte) & 0xf]) & 0xffff;
    }
    return crc;
}

/* Only the hash tag counts: what is between the first "{" and the first "}" after it. */
unsigned lki_slot_of(const char *key, size_t length) {
    const char *open = length ? memchr(key, '{', length) : NULL;
    const char *tag = open ? open + 1 : key;
    size_t rest = length - (size_t)(tag - key);
    const char *close = open && rest ? memchr(tag, '}', rest) : NULL;
    if (!close || close == tag)
        return crc16(key, length) % LKI_SLOTS;
    return crc16(tag, (size_t)(close - tag)) % LKI_SLOTS;
}

void lki_slots_add(lki_slots *slots, unsigned slot) {
    slots->words[slot / 64] |= UINT64_C(1) << slot % 64;
}

void lki_slots_add_all(lki_slots *slots) {
    memset(slots->words, 0xff, sizeof slots->words);
}

void lki_slots_add_common(lki_slots *slots, const lki_slots *a, const lki_slots *b) {
    for (size_t i = 0; i < LKI_SLOTS / 64; i++)
        slots->words[i] |= a->words[i] & b->words[i];
}

static bool has(const lki_slots *slots, unsigned slot) {
    return slots->words[slot / 64] >> slot % 64 & 1;
}

unsigned lki_slots_first_missing(const lki_slots *slots) {
    unsigned slot = 0;
    while (slot < LKI_SLOTS && has(slots, slot))
        slot++;
    return slot;
}
