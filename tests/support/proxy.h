/*
 * A network between clients and a real server, with the faults that networks have: it listens on a
 * Unix socket in a folder of its own, on a thread of its own, and passes on what comes.
 *
 * It passes whole requests and whole values of answers, and looks into them only to count them and
 * to tell connections apart: one that has sent SUBSCRIBE is a subscription, from that request on
 * and including it; every other is one of commands, also one that will subscribe in a moment.
 *
 * Functions that change something apply to the connections of these kinds, those of now and those
 * to come. Every function may be called from any thread, and has had its effect when it returns.
 */
#ifndef TEST_PROXY_H
#define TEST_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct proxy proxy;

typedef enum {
    PROXY_COMMANDS = 1,
    PROXY_SUBSCRIPTIONS = 2,
    PROXY_ALL = PROXY_COMMANDS | PROXY_SUBSCRIPTIONS
} proxy_kinds;

typedef enum {
    PROXY_TO_SERVER = 1,
    PROXY_TO_CLIENT = 2,
    PROXY_BOTH = PROXY_TO_SERVER | PROXY_TO_CLIENT
} proxy_directions;

/*
 * Starts a proxy before the server at that socket. A server that is not there is one that closes
 * connections at once. Returns NULL when that fails, after saying why on stderr.
 */
proxy *proxy_start(const char *server_socket);
void proxy_stop(proxy *); /* closes all connections; NULL is fine */

const char *proxy_socket(const proxy *);

/* ------------------------------------------------------------------------------------------------
 * bytes that are late */

/*
 * Takes bytes, and the end of a connection, without passing them on, until proxy_resume. What a
 * client has sent before it closed still comes to the server then.
 */
void proxy_pause(proxy *, proxy_kinds, proxy_directions);
void proxy_resume(proxy *, proxy_kinds, proxy_directions);

/* Passes on what comes from now on that many ms late; 0 is at once, as in the beginning. */
void proxy_delay(proxy *, proxy_kinds, proxy_directions, int delay_ms);

/* Passes one byte to the client every byte_ms, and no more; 0: as they come, as in the beginning. */
void proxy_trickle(proxy *, proxy_kinds, int byte_ms);

/* ------------------------------------------------------------------------------------------------
 * connections that end */

/* Closes connections now; what is on its way in them is lost. */
void proxy_cut_all(proxy *, proxy_kinds);

/*
 * Closes one connection at the n-th request, from 1, that goes to the server from now on: `before`,
 * the server never sees that request; `after`, the server has done it, and no byte of its answer
 * reaches the client. n is 0: no longer. A new call takes the place of the one before.
 */
void proxy_cut_before_request(proxy *, proxy_kinds, size_t n);
void proxy_cut_after_request(proxy *, proxy_kinds, size_t n);

/* How many connections these two have closed: a test that planned a cut makes sure of it here. */
size_t proxy_cuts(proxy *);

/* ------------------------------------------------------------------------------------------------
 * connections that do not begin */

/* Closes new connections at once, or (false) no longer. */
void proxy_refuse(proxy *, bool refuse);

/* Takes the socket away, so that connecting fails, and puts it there again. */
void proxy_unlisten(proxy *);
bool proxy_listen(proxy *); /* false when that fails, after saying why on stderr */

/* ------------------------------------------------------------------------------------------------
 * counts */

/* How many connections are open, and how many there have ever been, refused ones too. */
size_t proxy_connections_now(proxy *, proxy_kinds);
size_t proxy_connections_ever(proxy *);

/* Waits until `count` connections are open. False when that takes longer than timeout_ms. */
bool proxy_wait_connections(proxy *, proxy_kinds, size_t count, int timeout_ms);

/* How many requests were taken from clients, passed on or not. */
size_t proxy_requests(proxy *, proxy_kinds);

/* Waits until that count is `count` or more. False when that takes longer than timeout_ms. */
bool proxy_wait_requests(proxy *, proxy_kinds, size_t count, int timeout_ms);

/* How many bytes were taken, and how many of them were passed on. */
uint64_t proxy_bytes_taken(proxy *, proxy_directions);
uint64_t proxy_bytes_passed(proxy *, proxy_directions);

/* Waits until `bytes` or more were taken. False when that takes longer than timeout_ms. */
bool proxy_wait_taken(proxy *, proxy_directions, uint64_t bytes, int timeout_ms);

#endif
