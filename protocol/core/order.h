/* Who comes next: the order of waiters (SPEC 3.5). */
#ifndef LKC_ORDER_H
#define LKC_ORDER_H

#include "lock.h"

lkc_record *lkc_order_first(const lkc_lock *); /* NULL: nobody waits */
size_t lkc_order_place(const lkc_lock *, const lkc_record *waiter);

/* A walk of the waiters in order, without those that have run out. The caller sets the first two.
 */
typedef struct {
    uint64_t now_us;   /* 0: shows all */
    bool hide_upgrade; /* it goes with its hold (SPEC 4.6) */
    bool past_upgrade;
    size_t reader, writer; /* indices in the queues */
    size_t writers_shown;
} lkc_order_walk;

lkc_record *lkc_order_next(const lkc_lock *, lkc_order_walk *); /* NULL: that was all */

#endif
