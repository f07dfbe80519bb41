/*
 * The states that the walk has visited. A state is kept as the state before it and the operation
 * that led to it; a digest tells whether a state is new. 24 bytes for a state, and 8 to 16 bytes
 * for its place in the table.
 */
#ifndef WALK_STORE_H
#define WALK_STORE_H

#include "walk_world.h"

typedef struct {
    uint64_t words[2];
} walk_digest;

typedef struct {
    walk_digest digest;
    uint32_t parent; /* its own number: a root */
    walk_op op;      /* of a root: the policy */
} walk_state;

typedef struct {
    walk_state *states;
    size_t count, room, most;
    uint32_t *table; /* numbers of states + 1, by digest; 0: free */
    size_t places;   /* a power of 2 */
} walk_store;

enum { WALK_DEPTH_MOST = 255 };

/* A sequence of operations on the empty lock. */
typedef struct {
    lkc_policy policy;
    size_t count;
    walk_op ops[WALK_DEPTH_MOST];
} walk_path;

void store_begin(walk_store *, size_t most);
void store_end(walk_store *);

/*
 * Returns the number of the state; `is_new`: it was not there before. The store must not be full.
 */
size_t store_add(walk_store *, const walk_digest *, size_t parent, walk_op, bool *is_new);
bool store_is_full(const walk_store *);

void store_path(const walk_store *, size_t state, walk_path *out);

#endif
