/*
 * Two processes that do something in turn, and a page of memory that they share. The caller waits
 * for both; when one fails, the other is ended and so is the program.
 */
#ifndef BENCH_CLIENT_STAGE_H
#define BENCH_CLIENT_STAGE_H

#include <stddef.h>

typedef void stage_fn(int role, void *shared, const void *argument); /* role: 0 or 1 */

/* Zeroed; every process forked from now on shares it. */
void *stage_share(size_t bytes);
void stage_unshare(void *, size_t bytes);

/* No thread may run but the calling one. */
void stage_run(stage_fn *, void *shared, const void *argument);

#endif
