/* What the files of the proxy share. Everything is under the lock of the proxy's loop. */
#ifndef TEST_PROXY_PRIVATE_H
#define TEST_PROXY_PRIVATE_H

#include "proxy.h"
#include "resp.h"
#include "socket_loop.h"

enum { PROXY_SERVER, PROXY_CLIENT, PROXY_WAYS };         /* a direction as an index: to whom */
enum { PROXY_COMMAND, PROXY_SUBSCRIPTION, PROXY_SORTS }; /* a kind as an index */

/* A request, or a value of an answer, on its way. */
typedef struct proxy_unit proxy_unit;
struct proxy_unit {
    char *bytes;
    size_t length;
    size_t answers; /* of a request: values that the server will answer with */
    int64_t due_ms;
    proxy_unit *next;
};

/* One direction of a connection. */
typedef struct {
    test_text taken;              /* not yet a whole unit */
    proxy_unit *first, **end;     /* whole, and not yet passed on */
    test_text leaving;            /* passed on, and the socket has no room for it */
    int64_t next_byte_ms;         /* where bytes trickle: when the next one may go */
    bool source_ended, told_sink; /* nothing more comes; the other side has been told so */
} proxy_flow;

typedef struct proxy_connection proxy_connection;
struct proxy_connection {
    socket_connection base;
    proxy *proxy;
    int fds[PROXY_WAYS]; /* the sockets to the server and to the client */
    int sort;
    proxy_flow flows[PROXY_WAYS];
    size_t asked, answered; /* values that the server owes in all, and those that have come */
    bool doomed;            /* to be cut when the value number `last_words` comes */
    size_t last_words;
};

/* A cut that is planned: at the n-th request from now; 0: none. */
typedef struct {
    proxy_kinds kinds;
    size_t n;
} proxy_plan;

struct proxy {
    socket_loop loop;
    char *server_socket;
    bool refuses;
    bool paused[PROXY_SORTS][PROXY_WAYS];
    int delay_ms[PROXY_SORTS][PROXY_WAYS];
    int byte_ms[PROXY_SORTS]; /* 0: bytes go as they come */
    proxy_plan cut_before, cut_after;
    size_t cuts;
    size_t requests[PROXY_SORTS];
    uint64_t bytes_taken[PROXY_WAYS], bytes_passed[PROXY_WAYS];
};

/* The service of the loop: proxy_connection.c. Its owner is the proxy. */
extern const socket_service proxy_service;

#endif
