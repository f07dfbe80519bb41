/*
 * Places of a network: network namespaces of this test, each linked with each other one. A link can
 * be cut, so that servers and clients at one place do not reach those at the other. A link that is
 * cut is silent: nothing tells either side.
 *
 * A thread that enters a place makes its sockets, threads and processes there. Sockets, threads and
 * processes stay where they were made. So a client is at the place where its lk_open() was called.
 * Unix sockets work across places.
 *
 * Place 0 has the address 10.77.0.1, place 1 has 10.77.0.2, and so on. These addresses exist only
 * inside the namespaces. The namespaces have no names, and end with the last process in them: a
 * test that dies leaves nothing behind.
 */
#ifndef TEST_PLACES_H
#define TEST_PLACES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct test_places test_places;

/*
 * Call it at the start of main(), before there is another thread. If the user is not root, it makes
 * a user namespace for this process, in which the user may make network namespaces. Returns NULL,
 * or the reason why this machine or this user cannot have places: a test says it, and is skipped.
 */
const char *test_places_prepare(void);

/* 2 to 8 places. NULL when that fails, after saying why on stderr. */
test_places *test_places_start(size_t count);
/* Leaves the place that the calling thread has entered. NULL is fine. */
void test_places_stop(test_places *);

const char *test_places_address(const test_places *, size_t place);

/* Both are for the calling thread. They abort the test program if the kernel refuses. */
void test_places_enter(const test_places *, size_t place);
void test_places_leave(const test_places *);

/* False when that fails, after saying why on stderr. */
bool test_places_cut(const test_places *, size_t a, size_t b);
bool test_places_mend(const test_places *, size_t a, size_t b);

#endif
