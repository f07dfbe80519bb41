/*
 * The hash slot of a key, from the specification of Redis Cluster: written apart from the library,
 * so that tests can check the library with it. Knows no server.
 */
#ifndef TEST_KEY_SLOT_H
#define TEST_KEY_SLOT_H

#include <stddef.h>

enum { TEST_SLOTS = 16384 };

int test_key_slot(const char *key, size_t length);

#endif
