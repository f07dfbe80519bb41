/* See order.h. */
#include "lock/order.h"

#include "base/memory.h"

#include <assert.h>
#include <limits.h>

enum { WORD_BITS = 64 };

static uint64_t *word_of(lki_order *order, unsigned hold) {
    return hold < WORD_BITS ? &order->first : &order->rest[hold / WORD_BITS - 1];
}

static lk_mode mode_of(const lki_order *order, unsigned hold) {
    uint64_t word = hold < WORD_BITS ? order->first : order->rest[hold / WORD_BITS - 1];
    return word >> hold % WORD_BITS & 1 ? LK_WRITE : LK_READ;
}

static void set_mode(lki_order *order, unsigned hold, lk_mode mode) {
    uint64_t bit = UINT64_C(1) << hold % WORD_BITS, *word = word_of(order, hold);
    *word = mode == LK_WRITE ? *word | bit : *word & ~bit;
}

bool lki_order_reserve(lki_order *order, size_t holds) {
    size_t room = WORD_BITS * ((size_t)order->rest_words + 1);
    if (holds <= room)
        return true;
    size_t words = (2 * holds + WORD_BITS - 1) / WORD_BITS;
    if (words > UINT_MAX)
        return false;
    uint64_t *rest = lki_resize(order->rest, words * sizeof *rest);
    if (!rest)
        return false;
    for (size_t i = order->rest_words; i < words; i++)
        rest[i] = 0;
    order->rest = rest;
    order->rest_words = (unsigned)words;
    return true;
}

void lki_order_push(lki_order *order, lk_mode mode) {
    assert(order->count < WORD_BITS * ((size_t)order->rest_words + 1));
    set_mode(order, order->count++, mode);
}

/* The index of the last count of this mode, plus 1; 0: there is none. */
static unsigned find_last(const lki_order *order, lk_mode mode) {
    unsigned above = order->count;
    while (above > 0 && mode_of(order, above - 1) != mode)
        above--;
    return above;
}

void lki_order_remove(lki_order *order, lk_mode mode) {
    unsigned above = find_last(order, mode);
    assert(above > 0);
    for (; above < order->count; above++)
        set_mode(order, above - 1, mode_of(order, above));
    order->count--;
}

void lki_order_downgrade(lki_order *order) {
    unsigned above = find_last(order, LK_WRITE);
    assert(above > 0);
    set_mode(order, above - 1, LK_READ);
}

bool lki_order_last(const lki_order *order, size_t reads, size_t writes, lk_mode *out) {
    for (unsigned above = order->count; above > 0; above--) {
        lk_mode mode = mode_of(order, above - 1);
        size_t *to_skip = mode == LK_WRITE ? &writes : &reads;
        if (*to_skip == 0) {
            *out = mode;
            return true;
        }
        --*to_skip;
    }
    return false;
}

void lki_order_clear(lki_order *order) {
    lki_free(order->rest);
    *order = (lki_order){0};
}
