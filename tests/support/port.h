/*
 * TCP ports of 127.0.0.1 that are reserved for servers of this test. A reserved port is bound here
 * but nobody listens: connecting is refused until a server listens on it, and again once the server
 * has ended. No other program gets the port meanwhile, so that a server can be started again on it.
 */
#ifndef TEST_PORT_H
#define TEST_PORT_H

#include <stdbool.h>

typedef struct {
    int number; /* 0: none is reserved */
    int fd;
} test_port;

/* False when that fails, after saying why on stderr. */
bool test_port_reserve(test_port *);
void test_port_release(test_port *);

#endif
