/*
 * The lock of ../SPEC.md as a pure state machine: one lki_lock is one lock.
 *
 * It knows no I/O, no clock, no randomness and no names: the time is an argument of every
 * operation, and what must be told to waiting clients is left in the lock as events, to be fetched
 * before the next operation. Memory comes from the allocator given at birth. When it runs out, an
 * operation returns LKI_NO_MEMORY and has changed nothing.
 *
 * A lock is not thread-safe. Every operation costs O(log n + k log n), n holds and waiters, k
 * granted or dropped.
 */
#ifndef LKI_CORE_H
#define LKI_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that somebody else owns; may contain anything. */
typedef struct {
    const char *bytes;
    size_t length;
} lki_text;

/* SPEC 1.2. The order of handles is that of their text: client, then number. */
typedef struct {
    unsigned char client[16];
    uint64_t number; /* below 2^48 */
} lki_handle;

typedef enum { LKI_READ, LKI_WRITE } lki_mode;
typedef enum { LKI_FAIR, LKI_PHASE_FAIR, LKI_PREFER_WRITER, LKI_PREFER_READER } lki_policy;

enum {
    LKI_FLAG_ABANDONED = 1, /* SPEC 10.3; the policy stands above it */
    LKI_FLAG_POLICY_SHIFT = 1
};

#define LKI_LEASE_LEAST_MS 100U
#define LKI_LEASE_MOST_MS 86400000U
#define LKI_COUNT_MOST 65535U

/* malloc's and free's contracts; allocate may return NULL. */
typedef struct {
    void *(*allocate)(size_t size, void *context);
    void (*release)(void *memory, void *context);
    void *context;
} lki_allocator;

typedef struct lki_lock lki_lock;

typedef enum { LKI_DONE, LKI_NO_MEMORY, LKI_TOO_DEEP } lki_outcome;

typedef enum {
    LKI_GRANTED,   /* fence, ms, flags */
    LKI_QUEUED,    /* place, ms */
    LKI_BUSY,      /* ms */
    LKI_DEADLOCK,  /* */
    LKI_NOT_HELD,  /* */
    LKI_STALE,     /* */
    LKI_RELEASED,  /* reads, writes */
    LKI_LEASE,     /* ms: a hold was renewed */
    LKI_CANCELLED, /* */
    LKI_FORCED     /* count */
} lki_answer;

/* The answer to an operation; only the members that the answer names above mean something. */
typedef struct {
    lki_answer answer;
    uint64_t fence;
    uint64_t ms;
    unsigned flags;
    size_t place;
    unsigned reads, writes;
    size_t count;
} lki_reply;

typedef struct {
    lki_handle handle;
    uint64_t req, fence;
    lki_mode mode;
    bool wait;
    uint32_t lease_ms;
    lki_policy policy;
    uint64_t floor;
    lki_text owner; /* empty: the handle's own text (SPEC 1.3) */
    lki_text group, who;
} lki_acquire_args;

typedef struct {
    lki_handle handle;
    uint64_t req, fence;
    lki_mode mode;
} lki_release_args;

typedef struct {
    lki_handle handle;
    uint64_t fence; /* 0: the waiter with number req */
    uint64_t req;
    uint32_t lease_ms;
} lki_renew_args;

typedef struct {
    lki_handle handle;
    uint64_t req, fence;
} lki_convert_args;

typedef struct {
    lki_handle handle;
    uint64_t req, target;
} lki_cancel_args;

/* NULL when memory runs out. */
lki_lock *lki_lock_new(const lki_allocator *);
void lki_lock_free(lki_lock *);

/*
 * The operations of SPEC 10. `now_us` is the server's time. The arguments have been checked
 * (words.h does it); their texts are copied where they must outlive the call. `reply` is untouched
 * unless the outcome is LKI_DONE.
 */
lki_outcome lki_lock_acquire(lki_lock *, uint64_t now_us, const lki_acquire_args *, lki_reply *);
lki_outcome lki_lock_release(lki_lock *, uint64_t now_us, const lki_release_args *, lki_reply *);
lki_outcome lki_lock_renew(lki_lock *, uint64_t now_us, const lki_renew_args *, lki_reply *);
lki_outcome lki_lock_convert(lki_lock *, uint64_t now_us, const lki_convert_args *, lki_reply *);
lki_outcome lki_lock_cancel(lki_lock *, uint64_t now_us, const lki_cancel_args *, lki_reply *);
lki_outcome lki_lock_force(lki_lock *, uint64_t now_us, lki_text owner, lki_reply *);

/*
 * SPEC 7.3: the instant, in ms, at which whatever is left goes by itself; 0 when nothing is left
 * (7.1). An operation from then on finds nothing, whether or not the lock has been freed meanwhile.
 */
uint64_t lki_lock_expires_ms(const lki_lock *);

/*
 * What the last operation has to tell (SPEC 10.10), in the order of the lines of a message; after
 * LKI_NO_MEMORY, nothing.
 */
typedef enum { LKI_EVENT_LOST, LKI_EVENT_GRANTED, LKI_EVENT_WATCH } lki_event_kind;

typedef struct {
    lki_event_kind kind;
    lki_handle handle;
    uint64_t req, fence, time_us, ms;
    unsigned flags;
} lki_event;

/* Calls `each` for every event of the last operation. */
typedef void lki_event_fn(const lki_event *, void *context);
void lki_lock_events(const lki_lock *, lki_event_fn *each, void *context);

/* SPEC 10.8. */
typedef struct {
    bool alive; /* somebody holds or waits; otherwise there is no policy */
    lki_policy policy;
    uint64_t fence;
    bool abandoned;
    size_t holders, waiters;
} lki_info;

typedef struct {
    lki_handle handle;
    lki_text owner, group, who; /* good during the call only */
    unsigned reads, writes;
    uint64_t left_ms, held_ms, fence;
    bool provisional;
} lki_hold_row;

typedef enum { LKI_WAITS_READ, LKI_WAITS_WRITE, LKI_WAITS_UPGRADE } lki_wait_kind;

typedef struct {
    lki_handle handle;
    lki_text owner, group, who; /* good during the call only */
    lki_wait_kind mode;
    uint64_t left_ms, waited_ms, req;
} lki_waiter_row;

typedef void lki_hold_row_fn(const lki_hold_row *, void *context);
typedef void lki_waiter_row_fn(const lki_waiter_row *, void *context);

/*
 * Fills `info` first; then calls each row's function, at most `limit` times each, in the order of
 * SPEC 10.8. Changes nothing.
 */
void lki_lock_inspect(const lki_lock *, uint64_t now_us, size_t limit, lki_info *info,
                      lki_hold_row_fn *, lki_waiter_row_fn *, void *context);

/* For tests. NULL, or a sentence that says which invariant of SPEC 12 does not hold at `now_us`. */
const char *lki_lock_check(const lki_lock *, uint64_t now_us);

/* For tests and for the server's memory report: bytes that the lock has from its allocator. */
size_t lki_lock_memory(const lki_lock *);

#endif
