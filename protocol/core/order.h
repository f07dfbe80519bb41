/* Who comes next: the order of waiters (SPEC 3.5). */
#ifndef LKI_ORDER_H
#define LKI_ORDER_H

#include "state.h"

lki_party *lki_order_first(const lki_lock *); /* NULL: nobody waits */
size_t lki_order_place(const lki_lock *, const lki_party *waiter);

/* A walk of the waiters in order, without those that have run out. The caller sets the first two.
 */
typedef struct {
    uint64_t now_us;   /* 0: shows all */
    bool hide_upgrade; /* it goes with its hold (SPEC 4.6) */
    bool past_upgrade;
    size_t reader, writer; /* indices in the queues */
    size_t writers_shown;
} lki_order_walk;

lki_party *lki_order_next(const lki_lock *, lki_order_walk *); /* NULL: that was all */

#endif
