/*
 * Every public call that asks the server something and waits for the answer, in a table: for tests
 * of behaviour that all of them share.
 */
#ifndef INTEGRATION_EVERY_CALL_H
#define INTEGRATION_EVERY_CALL_H

#include "world.h"

/* What a lock must hold before the call. */
typedef enum { HOLDS_NOTHING, HOLDS_READ, HOLDS_WRITE } holding;

typedef struct {
    const char *name;                  /* of the call, and of the lock that it is made on */
    lk_status (*of_handle)(lk_lock *); /* or the next one */
    lk_status (*of_client)(lk_client *, const char *name);
    holding needs;
} call_kind;

enum { EVERY_CALL = 15, EVERY_REQUEST = 3 };
extern const call_kind every_call[EVERY_CALL];
extern const char *const every_request[EVERY_REQUEST]; /* the commands that these calls send */

/* A lock that holds what the call needs. The library does not renew it. */
lk_lock *lock_for(lk_client *, const call_kind *);
lk_status make_call(const call_kind *, lk_client *, lk_lock *);
bool is_forced_release(const call_kind *);

/* How often the fake server has received a request of that call. */
size_t requests_received(fake_server *, const call_kind *);
lk_client *open_fake(fake_server *, int64_t command_timeout_ms);

#endif
