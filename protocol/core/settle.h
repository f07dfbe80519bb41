/* What happens by itself in an operation: dropping what has run out (SPEC 5.2), settling (3.7). */
#ifndef LKI_SETTLE_H
#define LKI_SETTLE_H

#include "state.h"

/*
 * The frame of every operation. Between the two, an operation does its own work. `told` is the
 * waiter whose place the operation's own answer tells, or NULL (SPEC 5.5).
 */
void lki_operation_begin(lki_lock *, uint64_t now_us);
void lki_operation_end(lki_lock *, const lki_party *told);

/* SPEC 3.7, and the end of the life if nobody is left. For work that goes on after holds went. */
void lki_settle(lki_lock *);

/* Drops holds that were not released, with the upgrade that goes with them (SPEC 4.6). */
typedef struct {
    bool upgrade_too; /* begins false */
} lki_loss;

/* The record is gone after it, or lives on for its event if it is `told`. */
void lki_hold_lose(lki_lock *, lki_loss *, lki_party *hold, uint64_t instant_us, bool told);
void lki_loss_end(lki_lock *, const lki_loss *);

#endif
