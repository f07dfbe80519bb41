/*
 * One call on a handle, from its beginning to its end. An operation is *reported* once: its caller
 * returns, or its callback is called. It is *over* when no answer of the server is missing that could
 * matter. Mostly both happen at once. But a caller whose time is up is told so before the server has
 * answered; then the operation goes on by itself until nothing is in doubt.
 *
 *             begin()          ask()            queued()
 *   PENDING ─────────▶ UNSENT ───────▶ ASKED ──────────────▶ WAITING
 *                      ▲ ▲  ▲          │   │                    │
 *                      │ │  └──────────┘   │ busy()             │ waiter_answered(): the server
 *                      │ │  cut(), retry() ▼                    │ dropped it
 *                      │ └────────── SUBSCRIBING                │
 *                      │  ask_for_waiting()                     │
 *                      └────────────────────────────────────────┘
 *   UNSENT, ASKED, WAITING ──lki_operation_leave()──▶ CANCELING
 *   from every state ──lki_operation_over()──▶ OVER
 *
 * What holds in each state:
 *
 *   PENDING      in the list of its handle; the server knows nothing of it
 *   UNSENT       `asked` of its handle (`waiting` until it takes its turn). The server knows nothing
 *                of it, unless it is in_doubt: an earlier request was cut off from its answer
 *   ASKED        `asked` of its handle; the request is on the way
 *   WAITING      `waiting` of its handle; the server has it in its queue
 *   SUBSCRIBING  `waiting` of its handle; the lock was busy, and grants cannot be heard yet, so the
 *                server does not have it in its queue
 *   CANCELING    an acquire, `asked` or `waiting` of its handle. It ends with cancel_status unless
 *                it is granted first. The server may have it in its queue; a cancel is on the way,
 *                or is sent as soon as it can be
 *   OVER         in no place of its handle; it has been reported
 */
#ifndef LKI_OPERATION_H
#define LKI_OPERATION_H

#include "base/thread.h"
#include "engine/answer.h"
#include "lock/lock.h"

typedef enum {
    LKI_DO_ACQUIRE,
    LKI_DO_RELEASE, /* reported from the start: it undoes a grant that its caller did not get */
    LKI_DO_CONVERT,
    LKI_DO_RENEW, /* by hand */
    LKI_DO_DROP   /* of a lost hold that the server may still have; nobody waits for it */
} lki_kind;

typedef enum {
    LKI_PENDING,
    LKI_UNSENT,
    LKI_ASKED,
    LKI_WAITING,
    LKI_SUBSCRIBING,
    LKI_CANCELING,
    LKI_OVER
} lki_state;

struct lki_operation {
    lki_request ask, cancel;
    lki_sent ask_sent, cancel_sent;
    lk_lock *lock;
    lki_operation *next; /* in the handle's list */
    unsigned references;
    lki_kind kind;
    lk_mode mode;
    lki_state state;
    bool wait;     /* an acquire that may queue */
    bool of_last;  /* a release of whichever hold came last; `mode` is set when it begins */
    bool in_doubt; /* the server may have done it: an answer was lost */
    bool reported;
    lk_status cancel_status; /* CANCELING: how it ends unless it is granted first */
    uint64_t request, fence; /* as they were sent */
    int64_t first_sent_us;   /* when the request went out under this number for the first time */
    int64_t queued_us; /* it was not granted before this instant; see lki_waiter_schedule_refresh */
    bool asked_again;  /* under this number: an earlier try may have been granted, and over */
    int64_t lease_ms;  /* of a renewal by hand */
    int64_t deadline_us;       /* the caller's time */
    int64_t bound_us;          /* a blocking call returns by then, whatever the server does */
    int64_t grace_until_us;    /* the grace of an operation that looked too late; 0: none yet */
    int64_t silent_since_us;   /* when the server last said something about it, or it began */
    int64_t blocking_since_us; /* since when others of the handle wait for the answer to this one */
    int64_t asleep_until_us;   /* its caller, if nobody wakes it */
    int64_t retry_us;          /* not to be sent before */
    lki_error result;   /* until it is reported: what the server said when it could not, or "" */
    lki_caller *caller; /* the thread that waits, or NULL */
    lk_done_fn *done;
    void *done_arg;
    lki_callback callback;
};

/* NULL: out of memory. It has one reference, the caller's. */
lki_operation *lki_operation_new(lk_lock *, lki_kind, lk_mode);
void lki_operation_retain(lki_operation *);
void lki_operation_release(lki_operation *);

/* Puts it into the list of its handle. It begins in the next drain, if it can. */
void lki_operation_begin(lki_operation *);

/* Blocks the calling thread until it is reported; lets go of the monitor. */
LKI_UNLOCKS lk_status lki_operation_await(lki_operation *);

/* The next instant at which its time is up, one way or another; and what happens then. */
int64_t lki_operation_due_us(const lki_operation *);
void lki_operation_time_up(lki_operation *, int64_t now_us);

/* Ends it with this status as soon as it is certain that it was not granted. */
void lki_operation_leave(lki_operation *, lk_status);

/* ---- for the parts of lock/ ---- */

/* Tells the caller. A format of NULL: the status' own words. */
void lki_operation_report(lki_operation *, lk_status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lki_operation_over(lki_operation *); /* it leaves its handle */
void lki_operation_set(lki_operation *, lki_state);
void lki_operation_recheck(const lki_operation *); /* its caller looks anew; NULL is fine */

/* UNSENT: sends the request, if that is possible now. */
void lki_operation_send(lki_operation *);

/* CANCELING: sends the cancel, if that is possible now and none is on the way. */
void lki_acquire_send_cancel(lki_operation *);

/* Whether the server may have it in its queue. */
bool lki_operation_is_queued(const lki_operation *);

/* An answer to the request of each kind; lock/acquire.c, lock/release.c, lock/renewal.c. */
void lki_acquire_answered(lki_operation *, const lki_answer *);
void lki_drop_answered(lki_operation *, const lki_answer *);
void lki_release_answered(lki_operation *, const lki_answer *);
void lki_convert_answered(lki_operation *, const lki_answer *);
void lki_renew_answered(lki_operation *, const redisReply *);

/* What each kind needs before it may be sent; true: go on, false: it was reported, and is over. */
bool lki_acquire_check(lki_operation *);
bool lki_release_check(lki_operation *);
bool lki_convert_check(lki_operation *);
bool lki_renew_check(lki_operation *);

/*
 * The mode of the hold that was taken last, passing over those that the releases ahead of `op` will
 * give back; NULL: ahead of a new operation. False: none is left.
 */
bool lki_release_last(const lk_lock *, const lki_operation *op, lk_mode *out);

/* An acquire was granted at from_us or later; claimed: its lease is set already. */
void lki_acquire_granted(lki_operation *, const lki_answer *, int64_t from_us, bool claimed);

/* CANCELING, and the connection was lost: tells the caller. */
void lki_acquire_report_cut(lki_operation *);

/* Gives it back for nobody, before all that somebody waits for. False: out of memory. */
bool lki_undo(lk_lock *, lk_mode, uint64_t fence);

/* The caller's time is up while the outcome is unknown: it is told, and the rest is settled. */
void lki_operation_abandon(lki_operation *, lk_status);
void lki_operation_blocks(lki_operation *);    /* others, until the server has answered it */
void lki_operation_put_ahead(lki_operation *); /* of what is pending and not yet reported */
void lki_operation_given_up(lki_operation *);  /* a release or downgrade: done for its caller */

#endif
