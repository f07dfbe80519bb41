/*
 * The worlds of the tests of faults: clients of a server that something stands before.
 *
 *     TEST_WITH(network, …)          `net` stands before `client`, which is patient:
 *                                    its command_timeout_ms is PATIENT_MS
 *     TEST_WITH(hasty_network, …)    the same; its command_timeout_ms is HASTY_MS
 *     TEST_WITH(fake_network, …)     `fake` is there for answers that the real server, behind it,
 *                                    does not give; the test opens `client` by open_here()
 *
 * With a network there is also `other`, which is connected to the server itself.
 */
#ifndef INTEGRATION_NETWORK_H
#define INTEGRATION_NETWORK_H

#include "world.h"

extern proxy *net;
extern fake_server *fake;
extern lk_client *client, *other;
extern lk_lock *lock, *holder; /* on "a": the first of `client`, the second of `other` */
extern call waiting;           /* a call on `lock`, if the test begins one */

void network(void);
void hasty_network(void);
void fake_network(void);

void network_with(int64_t command_timeout_ms); /* for a world of your own */
void open_here(int64_t command_timeout_ms);    /* opens `client`, and makes `lock` */

/* `holder` holds, and `lock` waits. */
void wait_behind_holder(void);

/* `lock` waits no longer, and nothing is left after `holder` is unlocked. */
void expect_no_waiter(void);

#endif
