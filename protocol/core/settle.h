/* What happens by itself in an operation: dropping what has run out (SPEC 5.2), settling (3.7). */
#ifndef LKC_SETTLE_H
#define LKC_SETTLE_H

#include "lock.h"

/*
 * The frame of every operation. Between the two, an operation does its own work. `told` is the
 * waiter whose place the operation's own answer tells, or NULL (SPEC 5.5).
 */
void lkc_operation_begin(lkc_lock *, uint64_t now_us);
void lkc_operation_end(lkc_lock *, const lkc_record *told);

/* SPEC 3.7, and the end of the life if nobody is left. For work that goes on after holds went. */
void lkc_settle(lkc_lock *);

/* Drops holds that were not released, with the upgrade that goes with them (SPEC 4.6). */
typedef struct {
    bool upgrade_too; /* begins false */
} lkc_loss;

/* The record is gone after it, or lives on for its event if it is `told`. */
void lkc_hold_lose(lkc_lock *, lkc_loss *, lkc_record *hold, uint64_t instant_us, bool told);
void lkc_loss_end(lkc_lock *, const lkc_loss *);

#endif
