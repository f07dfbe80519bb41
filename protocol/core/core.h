/*
 * The lock of ../SPEC.md as a pure state machine: one lkc_lock is one lock.
 *
 * The core does no I/O, reads no clock, draws no random numbers and does not know the names of
 * locks. Every operation gets the time as an argument. Its messages to clients stay in the lock as
 * events; the caller fetches them before the next operation. Memory comes from the allocator that
 * lkc_lock_new gets. When memory runs out, an operation returns LKC_NO_MEMORY and has changed
 * nothing.
 *
 * A lock is not thread-safe. An operation costs O(log n + k log n) with n holds and waiters, of
 * which it grants or drops k.
 */
#ifndef LKC_CORE_H
#define LKC_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrowed bytes of any value. */
typedef struct {
    const char *bytes;
    size_t length;
} lkc_text;

/* SPEC 1.2. Handles are ordered as their texts are: by client, then by number. */
typedef struct {
    unsigned char client[16];
    uint64_t number; /* below 2^48 */
} lkc_handle;

enum { LKC_HANDLE_LENGTH = 45, LKC_CLIENT_LENGTH = 32 };

/* False, with `out` untouched, when the text is not that of a handle. */
bool lkc_handle_parse(lkc_text, lkc_handle *out);

/* Writes the text and a NUL. */
void lkc_handle_print(const lkc_handle *, char out[LKC_HANDLE_LENGTH + 1]);

typedef enum { LKC_READ, LKC_WRITE } lkc_mode;
typedef enum { LKC_FAIR, LKC_PHASE_FAIR, LKC_PREFER_WRITER, LKC_PREFER_READER } lkc_policy;

enum {
    LKC_FLAG_ABANDONED = 1, /* SPEC 10.3; the bits above are the policy */
    LKC_FLAG_POLICY_SHIFT = 1
};

#define LKC_LEASE_LEAST_MS 100U
#define LKC_LEASE_MOST_MS 86400000U
#define LKC_COUNT_MOST 65535U

/* The contracts of malloc and free; allocate may return NULL. */
typedef struct {
    void *(*allocate)(size_t size, void *context);
    void (*release)(void *memory, void *context);
    void *context;
} lkc_allocator;

typedef struct lkc_lock lkc_lock;

typedef enum { LKC_DONE, LKC_NO_MEMORY, LKC_TOO_DEEP } lkc_outcome;

typedef enum {
    LKC_GRANTED,   /* fence, ms, flags */
    LKC_QUEUED,    /* place, ms */
    LKC_BUSY,      /* ms */
    LKC_DEADLOCK,  /* */
    LKC_NOT_HELD,  /* */
    LKC_STALE,     /* */
    LKC_RELEASED,  /* reads, writes */
    LKC_LEASE,     /* ms: a hold was renewed */
    LKC_CANCELLED, /* */
    LKC_FORCED     /* count */
} lkc_answer;

/* The reply to an operation. Only the members that stand beside its answer above have a meaning. */
typedef struct {
    lkc_answer answer;
    uint64_t fence;
    uint64_t ms;
    unsigned flags;
    size_t place;
    unsigned reads, writes;
    size_t count;
} lkc_reply;

typedef struct {
    lkc_handle handle;
    uint64_t req, fence;
    lkc_mode mode;
    bool wait;
    uint32_t lease_ms;
    lkc_policy policy;
    uint64_t floor;
    lkc_text owner; /* empty: the handle's own text (SPEC 1.3) */
    lkc_text group, who;
} lkc_acquire_args;

typedef struct {
    lkc_handle handle;
    uint64_t req, fence;
    lkc_mode mode;
    bool told; /* SPEC 6.3: the caller of the hold was told of its grant */
} lkc_release_args;

typedef struct {
    lkc_handle handle;
    uint64_t fence; /* 0: the waiter with number req */
    uint64_t req;
    uint32_t lease_ms;
} lkc_renew_args;

typedef struct {
    lkc_handle handle;
    uint64_t req, fence;
} lkc_convert_args;

typedef struct {
    lkc_handle handle;
    uint64_t req, target;
} lkc_cancel_args;

/* NULL when memory runs out. */
lkc_lock *lkc_lock_new(const lkc_allocator *);
void lkc_lock_free(lkc_lock *);

/*
 * The operations of SPEC 10. `now_us` is the server's time. The caller has checked the arguments
 * (words.h does that). The lock copies texts that must outlive the call. `reply` is untouched unless
 * the outcome is LKC_DONE.
 */
lkc_outcome lkc_lock_acquire(lkc_lock *, uint64_t now_us, const lkc_acquire_args *, lkc_reply *);
lkc_outcome lkc_lock_release(lkc_lock *, uint64_t now_us, const lkc_release_args *, lkc_reply *);
lkc_outcome lkc_lock_renew(lkc_lock *, uint64_t now_us, const lkc_renew_args *, lkc_reply *);
lkc_outcome lkc_lock_convert(lkc_lock *, uint64_t now_us, const lkc_convert_args *, lkc_reply *);
lkc_outcome lkc_lock_cancel(lkc_lock *, uint64_t now_us, const lkc_cancel_args *, lkc_reply *);
lkc_outcome lkc_lock_force(lkc_lock *, uint64_t now_us, lkc_text owner, lkc_reply *);

/*
 * SPEC 7.3: the instant, in ms, at which the whole lock expires; 0 when nothing is left of it (7.1).
 * From that instant on, operations find an empty lock, whether or not the caller has freed this one.
 */
uint64_t lkc_lock_expires_ms(const lkc_lock *);

/*
 * The events of the last operation, in the order of the lines of a message (SPEC 10.10). After
 * LKC_NO_MEMORY there are none.
 */
typedef enum { LKC_EVENT_LOST, LKC_EVENT_GRANTED, LKC_EVENT_WATCH } lkc_event_kind;

typedef struct {
    lkc_event_kind kind;
    lkc_handle handle;
    uint64_t req, fence, time_us, ms;
    unsigned flags;
} lkc_event;

/* Calls `each` for every event of the last operation. */
typedef void lkc_event_fn(const lkc_event *, void *context);
void lkc_lock_events(const lkc_lock *, lkc_event_fn *each, void *context);

/* SPEC 10.8. */
typedef struct {
    bool alive; /* somebody holds or waits; otherwise the lock has no policy */
    lkc_policy policy;
    uint64_t fence;
    bool abandoned;
    size_t holders, waiters;
} lkc_info;

typedef struct {
    lkc_handle handle;
    lkc_text owner, group, who; /* valid during the call only */
    unsigned reads, writes;
    uint64_t left_ms, held_ms, fence;
    bool provisional;
} lkc_hold_row;

typedef enum { LKC_WAITS_READ, LKC_WAITS_WRITE, LKC_WAITS_UPGRADE } lkc_wait_kind;

typedef struct {
    lkc_handle handle;
    lkc_text owner, group, who; /* valid during the call only */
    lkc_wait_kind mode;
    uint64_t left_ms, waited_ms, req;
} lkc_waiter_row;

typedef void lkc_hold_row_fn(const lkc_hold_row *, void *context);
typedef void lkc_waiter_row_fn(const lkc_waiter_row *, void *context);

/*
 * Fills `info`, then calls the functions for the rows, each at most `limit` times, in the order of
 * SPEC 10.8. Changes nothing.
 */
void lkc_lock_inspect(const lkc_lock *, uint64_t now_us, size_t limit, lkc_info *info,
                      lkc_hold_row_fn *, lkc_waiter_row_fn *, void *context);

/* For tests. NULL, or a sentence that names the invariant of SPEC 12 that is broken at `now_us`. */
const char *lkc_lock_check(const lkc_lock *, uint64_t now_us);

/* For tests and for a server's memory report: how many bytes the lock has from its allocator. */
size_t lkc_lock_memory(const lkc_lock *);

#endif
