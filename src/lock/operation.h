/*
 * One call on a handle, from its beginning to its end. It is *reported* once: its caller returns,
 * or its callback is called. It is *over* when the server has nothing of it any more that we do not
 * know of; mostly at the same instant, but a caller whose time is up before the server answers is
 * told so, and the operation goes on by itself until nothing is left in doubt.
 *
 *            advance           send            queued
 *   PENDING ────────▶ UNSENT ────────▶ ASKED ──────────▶ WAITING
 *                      ▲ ▲ ▲            │ │                 │
 *                      │ │ └────────────┘ │ busy            │ dropped: not held any more
 *                      │ │  cut, not now  ▼                 │
 *                      │ └───────── SUBSCRIBING             │
 *                      │  subscribed                        │
 *                      └────────────────────────────────────┘
 *   from every state: OVER
 */
#ifndef LKI_OPERATION_H
#define LKI_OPERATION_H

#include "engine/answer.h"
#include "lock/lock.h"

typedef enum {
    LKI_DO_ACQUIRE,
    LKI_DO_RELEASE,
    LKI_DO_CONVERT,
    LKI_DO_RENEW, /* by hand */
    LKI_DO_UNDO,  /* a release that nobody waits for: takes back what its caller did not get */
    LKI_DO_DROP   /* of a lost hold that the server may still have; nobody waits for it */
} lki_kind;

typedef enum {
    LKI_PENDING,     /* in the handle's list */
    LKI_UNSENT,      /* to be asked, as soon as that is possible */
    LKI_ASKED,       /* the request is on the way */
    LKI_WAITING,     /* the server has queued it */
    LKI_SUBSCRIBING, /* the lock is busy, and we cannot hear grants yet */
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
    bool ask_on_way, cancel_on_way;
    bool reported;
    lk_status leaving;       /* not LK_OK: it is to end with this, unless granted meanwhile */
    uint64_t request, fence; /* as they were sent */
    int64_t first_sent_us;   /* when the request went out under this number for the first time */
    int64_t queued_us;       /* it was not granted before this instant; see lki_waiter_told */
    bool asked_again;        /* under this number: an earlier try may have been granted, and over */
    int64_t lease_ms;        /* of a renewal by hand */
    int64_t deadline_us;     /* the caller's time */
    int64_t bound_us;        /* a blocking call returns by then, whatever the server does */
    int64_t excused_us;      /* the grace of an operation that looked too late; 0: none yet */
    int64_t silent_since_us; /* when the server last said something about it, or it began */
    int64_t owed_since_us;   /* since when others of the handle wait for the server to answer it */
    int64_t asleep_until_us; /* its caller, if nobody wakes it */
    int64_t retry_us;        /* not to be sent before */
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

/* Puts it into the handle's list, and begins what can begin. */
void lki_operation_begin(lki_operation *);

/* Blocks the calling thread until it is reported; lets go of the monitor. */
lk_status lki_operation_await(lki_operation *);

/* The next instant at which its time is up, one way or another; and what happens then. */
int64_t lki_operation_due_us(const lki_operation *);
void lki_operation_time_up(lki_operation *, int64_t now_us);

/* Ends it with this status as soon as it is certain that it was not granted. */
void lki_operation_leave(lki_operation *, lk_status);

/* ---- for the parts of lock/ ---- */

/* Tells the caller. A format of NULL: the status' own words. */
void lki_operation_report(lki_operation *, lk_status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lki_operation_over(lki_operation *); /* out of the handle's slots; begins what can begin */
void lki_operation_set(lki_operation *, lki_state);

/* Sends the request, or what has to be sent in its place, if that is possible now. */
void lki_operation_send(lki_operation *);

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

/* Gives it back for nobody, before all that somebody waits for. False: out of memory. */
bool lki_undo(lk_lock *, lk_mode, uint64_t fence);
void lki_acquire_cancelled(lki_request *, const redisReply *); /* completes `cancel` */
void lki_acquire_send_cancel(lki_operation *);

/* The caller's time is up while the outcome is unknown: it is told, and the rest is settled. */
void lki_operation_abandon(lki_operation *, lk_status);
void lki_operation_owed(lki_operation *);      /* from now on the server owes it an answer */
void lki_operation_put_ahead(lki_operation *); /* of what is pending and not yet reported */
void lki_operation_given_up(lki_operation *);  /* a release or downgrade: done for its caller */

#endif
