/*
 * Waits until replicas have what was written (`min_replicas`). WAIT covers only what was written on
 * its own connection, so it follows the answers on the commands wire. Answers that arrive while a
 * WAIT is on its way share the next one.
 *
 * Every function is called with the monitor held.
 */
#ifndef LKI_CONFIRM_H
#define LKI_CONFIRM_H

#include "net/link.h"

typedef struct lki_server lki_server;
typedef struct lki_confirmation lki_confirmation;

/* Something that was written and answered, and that counts only when replicas have it. */
struct lki_confirmation {
    lki_confirmation *next;
    /* Called exactly once. why: NULL if enough replicas have it, else why that is not known. */
    void (*done)(lki_confirmation *, const lki_error *why);
};

/* Of one server. */
typedef struct {
    lki_request wait;                /* the WAIT */
    lki_confirmation *asked;         /* covered by it */
    lki_confirmation *first, **last; /* for the next one */
} lki_confirmations;

void lki_confirmations_init(lki_confirmations *);

/* To be called from the completion of the request that wrote it. */
void lki_confirm(lki_server *, lki_confirmation *);

void lki_confirmations_send(lki_server *); /* after the replies of one read were delivered */
void lki_confirmations_lose(lki_server *); /* the connection is lost */

#endif
