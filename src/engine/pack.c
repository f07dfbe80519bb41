/* See pack.h. */
#include "engine/pack.h"

#include <assert.h>
#include <float.h>
#include <string.h>

static_assert(sizeof(double) == sizeof(uint64_t) && DBL_MANT_DIG == 53, "doubles are IEEE doubles");

enum { NUMBER_SIZE = 8 };

static char *take(lki_pack *pack, size_t size) {
    assert(size <= sizeof pack->bytes - pack->length);
    char *at = pack->bytes + pack->length;
    pack->length += size;
    return at;
}

void lki_pack_text(lki_pack *pack, const char *text) {
    size_t size = strlen(text) + 1;
    memcpy(take(pack, size), text, size);
}

void lki_pack_number(lki_pack *pack, uint64_t number) {
    double value = (double)number;
    uint64_t bits;
    assert(number <= UINT64_C(1) << DBL_MANT_DIG);
    memcpy(&bits, &value, sizeof bits);
    char *at = take(pack, NUMBER_SIZE);
    for (size_t i = 0; i < NUMBER_SIZE; i++) /* the same bytes on a big-endian machine */
        at[i] = (char)(bits >> 8 * i & 0xff);
}

void lki_pack_code(lki_pack *pack, unsigned code) {
    assert(code <= UINT8_MAX);
    *take(pack, 1) = (char)code;
}
