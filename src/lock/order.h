/*
 * The order in which a handle took its holds: a stack with one bit for each hold, the last one on
 * top. lk_unlock() gives back the top; the other unlocks take out the last hold of their mode. The
 * first 64 holds need no memory of their own.
 */
#ifndef LKI_ORDER_H
#define LKI_ORDER_H

#include "latchkey.h"

typedef struct {
    uint64_t first; /* bit n: whether hold n is a write */
    uint64_t *rest; /* the bits from 64 on */
    unsigned count; /* of holds */
    unsigned rest_words;
} lki_order;

/* Makes room for so many holds in all. False: out of memory, and nothing changed. */
bool lki_order_reserve(lki_order *, size_t holds);

void lki_order_push(lki_order *, lk_mode);   /* there is room */
void lki_order_remove(lki_order *, lk_mode); /* the last one of this mode, which is there */
void lki_order_downgrade(lki_order *);       /* the last write becomes a read, in its place */

/* The mode of the last hold, passing over the last so many of each mode. False: none is left. */
bool lki_order_last(const lki_order *, size_t reads, size_t writes, lk_mode *out);

void lki_order_clear(lki_order *);

#endif
