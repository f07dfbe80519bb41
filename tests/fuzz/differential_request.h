/*
 * The arguments of single requests: mostly what a good client would send, now and then what a
 * confused or late one does. Malformed ones are made elsewhere (differential_malform.h).
 */
#ifndef DIFFERENTIAL_REQUEST_H
#define DIFFERENTIAL_REQUEST_H

#include "differential_generate.h"

/* A handle, and what it believes of the lock that it is about to do something with. */
typedef struct {
    generator *make;
    belief_lock *lock;
    belief_party *party;
    int handle;
} actor;

/* Each fills an empty step, except for its instant. */
void request_acquire_fresh(actor *, step *); /* as a stranger, with fence 0 */
void request_acquire_more(actor *, step *);  /* of the hold it has: re-entry or upgrade */
void request_release(actor *, step *);
void request_convert(actor *, step *);
void request_renew(actor *, step *); /* 1 to 5 entries, the first of this lock */
void request_cancel(actor *, step *);
void request_repeat(actor *, step *); /* the last number again, mostly with the same operation */
void request_stale(actor *, step *);  /* a number that is not above the last */
void request_force(actor *, step *);
void request_inspect(actor *, step *);

#endif
