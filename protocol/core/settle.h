/* The frame of every operation: dropping what has expired (SPEC 5.2), and settling (3.7). */
#ifndef LKC_SETTLE_H
#define LKC_SETTLE_H

#include "lock.h"

/*
 * An operation does its own work between these two. `told` is the waiter whose place is in the
 * operation's reply, or NULL (SPEC 5.5).
 */
void lkc_operation_begin(lkc_lock *, uint64_t now_us);
void lkc_operation_end(lkc_lock *, const lkc_record *told);

/* SPEC 3.7, and the end of the life if nobody is left. For acquire, which then goes on (9.5). */
void lkc_settle(lkc_lock *);

/*
 * A request of its client prolongs the life of a waiter (SPEC 5.4). A missed waiter stands in the
 * order again, and the lock settles (5.6): then the record may be a hold.
 */
void lkc_waiter_renew(lkc_lock *, lkc_record *waiter, uint32_t lease_ms);

/* Drops holds that were not released, and the upgrade that goes with them (SPEC 4.6). */
typedef struct {
    bool upgrade_too; /* false at first */
} lkc_loss;

/* Frees the record. If `told`, a lost event says so. */
void lkc_hold_lose(lkc_lock *, lkc_loss *, lkc_record *hold, uint64_t instant_us, bool told);
void lkc_loss_end(lkc_lock *, const lkc_loss *);

#endif
