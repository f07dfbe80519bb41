/* A client: a session, and the handles that use it. */
#ifndef LKI_CLIENT_H
#define LKI_CLIENT_H

#include "client/choice.h"
#include "lock/locks.h"
#include "session/session.h"

struct lk_client {
    lki_session session; /* the first member, so that a session can be cast to its client */
    lki_locks locks;
};

lk_status lki_client_open(const lki_choice *, lk_client **out, lki_error *); /* as lk_open */
void lki_client_close(lk_client *);                                          /* as lk_close */

#endif
