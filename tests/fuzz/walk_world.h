/*
 * The small world of the walk: one lock of the core, three handles, and the operations that they
 * may do. A and B act for owner x, C acts for owner y. A and C read in group g, B reads in group h;
 * or all in group g, because B and C never hold together otherwise.
 *
 * Every lease is 3 s. An acquire takes 1 us, other requests take no time. So a fence can be ahead
 * of the clock (SPEC 7.2). Otherwise time passes only by operations of the walk, by seconds.
 * So a deadline is described completely by the number of such seconds until it has passed.
 *
 * A world contains the memory of its lock. To go back to an earlier state, assign a copy of the
 * world to the same object: the pointers in the lock are good again.
 */
#ifndef WALK_WORLD_H
#define WALK_WORLD_H

#include "records.h"
#include "test_memory.h"
#include "words.h"

#define WALK_SECOND_US UINT64_C(1000000)

enum { WALK_HANDLES = 3, WALK_COUNT_MOST = 2, WALK_LEASE_MS = 3000 };

/* Who does it, and the rest of the sentence. The texts are for people. */
#define WALK_KINDS(X)                                                        \
    X(ACQUIRE_READ, "acquires read, without waiting")                        \
    X(ACQUIRE_READ_WAIT, "acquires read, or waits")                          \
    X(ACQUIRE_WRITE, "acquires write, without waiting")                      \
    X(ACQUIRE_WRITE_WAIT, "acquires write, or waits")                        \
    X(FORGET_READ, "forgets its hold, acquires read, without waiting")       \
    X(FORGET_READ_WAIT, "forgets its hold, acquires read, or waits")         \
    X(FORGET_WRITE, "forgets its hold, acquires write, without waiting")     \
    X(FORGET_WRITE_WAIT, "forgets its hold, acquires write, or waits")       \
    X(AGAIN_WAITER, "sends the acquire of its waiter again")                 \
    X(AGAIN_GRANTED, "sends the acquire again that was granted by settling") \
    X(AGAIN_LAST, "sends the request again that changed its hold last")      \
    X(RELEASE_READ, "releases read")                                         \
    X(RELEASE_WRITE, "releases write, told of the grant")                    \
    X(RELEASE_UNTOLD, "releases write, not told of the grant")               \
    X(CONVERT, "converts a write to a read")                                 \
    X(RENEW_HOLD, "renews its hold")                                         \
    X(RENEW_WAITER, "renews its waiter")                                     \
    X(CANCEL, "cancels its waiter")                                          \
    X(FORCE, "is forced")                                                    \
    X(TOUCH, "is forced, and does not exist")                                \
    X(SECOND, "a second passes")                                             \
    X(END, "time passes until the whole lock expires")

typedef enum {
#define WALK_KIND(name, text) WALK_##name,
    WALK_KINDS(WALK_KIND)
#undef WALK_KIND
        WALK_KIND_COUNT
} walk_kind;

/*
 * An operation: its kind * WALK_HANDLES + the handle. FORCE has in place of the handle 0 for x, 1
 * for y, 2 for everyone.
 */
typedef uint8_t walk_op;

enum { WALK_OPS_MOST = WALK_KIND_COUNT * WALK_HANDLES };
static_assert(WALK_OPS_MOST <= UINT8_MAX, "an operation is a byte");

/* An operation with its arguments. */
typedef struct {
    walk_kind kind;
    int handle;   /* or the owner of FORCE */
    bool is_time; /* no request: nothing of the rest has a meaning */
    lkc_op op;
    uint64_t req, fence, target;
    lkc_mode mode;
    bool wait, told;
    lkc_text owner;
    lkc_reply reply;
} walk_request;

enum { ARENA_RECORDS = 12, ARENA_NAMES = 8, ARENA_RECORD_SIZE = 192, ARENA_NAME_SIZE = 64 };

typedef struct {
    _Alignas(max_align_t) unsigned char lock[sizeof(lkc_lock)];
    _Alignas(max_align_t) unsigned char records[ARENA_RECORDS][ARENA_RECORD_SIZE];
    _Alignas(max_align_t) unsigned char names[ARENA_NAMES][ARENA_NAME_SIZE];
    bool lock_used, record_used[ARENA_RECORDS], name_used[ARENA_NAMES];
} walk_arena;

typedef struct {
    lkc_policy policy; /* of every request */
    lkc_lock *lock;    /* in the arena */
    uint64_t now_us;
    uint64_t number;     /* of the last request, whose ever it was */
    uint64_t fence_most; /* of all holds so far */
    walk_arena arena;
} walk_world;

void world_begin(walk_world *, lkc_policy);

/* Frees the lock. Returns how many pieces of memory it did not give back. */
size_t world_end(walk_world *);

lkc_pair world_pair(const walk_world *, int handle);

/* Whether the deadline of any hold, waiter or missed waiter is later than now, or is not. */
bool world_has_unexpired(const walk_world *);
bool world_has_expired(const walk_world *);

/* The operations that may do something here. Returns how many. */
size_t world_ops(const walk_world *, walk_op out[WALK_OPS_MOST]);

/* Does one, or only fills in its request. */
void world_run(walk_world *, walk_op, walk_request *done);
void world_request(const walk_world *, walk_op, walk_request *out);

/* Sends a request that the caller has filled in, except for its number. */
void world_send(walk_world *, walk_request *);

/* The handles: 0 to WALK_HANDLES - 1. */
lkc_handle world_handle(int handle);
lkc_text world_handle_text(int handle);
const char *world_label(int handle);
lkc_text world_owner(int handle);
lkc_text world_group(int handle);
void world_use_one_group(void); /* from now on, in all worlds */

/* One line of what a request did; `answered`: with its reply. */
void world_print(test_text *, const walk_world *, const walk_request *, bool answered);

#endif
