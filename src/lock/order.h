/*
 * The order in which a handle acquired the counts of its hold: a stack with one bit for each count,
 * the last one on top. lk_unlock() removes the top; lk_rdunlock() and lk_wrunlock() remove the last
 * count of their mode. The first 64 counts need no allocation.
 */
#ifndef LKI_ORDER_H
#define LKI_ORDER_H

#include "latchkey.h"

typedef struct {
    uint64_t first; /* bit n: whether count n is a write */
    uint64_t *rest; /* the bits from 64 on */
    unsigned count;
    unsigned rest_words; /* of `rest` */
} lki_order;

/* Makes room for this many counts in total. False: out of memory, and nothing has changed. */
bool lki_order_reserve(lki_order *, size_t holds);

void lki_order_push(lki_order *, lk_mode);   /* room must be reserved */
void lki_order_remove(lki_order *, lk_mode); /* the last one of this mode, which must exist */
void lki_order_downgrade(lki_order *);       /* the last write becomes a read, in its place */

/* The mode of the last count, without the last `reads` reads and `writes` writes. False: none. */
bool lki_order_last(const lki_order *, size_t reads, size_t writes, lk_mode *out);

void lki_order_clear(lki_order *);

#endif
