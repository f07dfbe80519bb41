/*
 * The operations of SPEC 10 as commands for a server that has the scripts, each with the answer
 * that it must get. It knows how requests look, not which are sensible.
 */
#ifndef BENCH_SERVER_COST_REQUESTS_H
#define BENCH_SERVER_COST_REQUESTS_H

#include "server_cost_link.h"

/* The keys of one lock (SPEC 11.1). */
typedef struct {
    char texts[2][64];
    size_t count; /* that are passed */
} lock_keys;

/* `most`: how many holds and waiters the lock may have. If they are many, both keys are passed. */
lock_keys lock_keys_of(const char *name, size_t most);

/* SPEC 1.2; no two numbers give the same client. */
typedef struct {
    char text[46];
} bench_handle;

bench_handle bench_handle_of(uint64_t number);

typedef struct {
    const lock_keys *keys;
    const bench_handle *handle;
    uint64_t req;
    const char *mode;
} lock_request;

void requests_load_scripts(bench_link *);

/* `fence` may be NULL: where the fence of a granted hold goes. */
void request_acquire(bench_link *, lock_request, uint64_t floor, const char *answer,
                     uint64_t *fence);
void request_release(bench_link *, lock_request, uint64_t fence);
void request_cancel(bench_link *, lock_request, uint64_t target); /* `mode` is not used */
void request_inspect(bench_link *, const lock_keys *, uint64_t limit);

/* Renewals of up to RENEW_MOST holds (fence not 0) or waiters of one lock, in one command. */
enum { RENEW_MOST = 100 };
typedef struct {
    const bench_handle *handle;
    uint64_t fence, req;
} renew_entry;
void request_renew(bench_link *, const lock_keys *, const renew_entry *, size_t count,
                   const char *entry_answer);

#endif
