/*
 * Waiting for a condition, with a limit:
 *
 *     int64_t end_ms = test_wait_end(limit_ms);
 *     while (!condition)
 *         if (!test_wait_on(end_ms))
 *             return false;
 */
#ifndef TEST_WAITING_H
#define TEST_WAITING_H

#include <stdbool.h>
#include <stdint.h>

int64_t test_wait_end(int64_t limit_ms);

/* Sleeps for a moment. False, without sleeping, once the end has come. */
bool test_wait_on(int64_t end_ms);

#endif
