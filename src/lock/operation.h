/*
 * One call on a handle, from beginning to end. An operation is *reported* once: its caller returns,
 * or its callback is queued. It is *over* once: no answer of the server can change anything any
 * more. Mostly both happen together. But a caller that times out returns before the server has
 * answered; then the operation goes on alone until nothing is in doubt.
 *
 *             begin()          ask()            queued()
 *   PENDING ─────────▶ UNSENT ───────▶ ASKED ──────────────▶ WAITING
 *                      ▲ ▲  ▲          │   │                    │
 *                      │ │  └──────────┘   │ busy()             │ waiter_answered(): the server
 *                      │ │  cut(), retry() ▼                    │ dropped it
 *                      │ └────────── SUBSCRIBING                │
 *                      │  move_to_asked()                       │
 *                      └────────────────────────────────────────┘
 *   UNSENT, ASKED, WAITING ──lki_operation_cancel()──▶ CANCELING
 *   ASKED, WAITING, CANCELING ──lki_operation_confirm()──▶ CONFIRMING
 *   from every state ──lki_operation_over()──▶ OVER
 *
 * What holds in each state:
 *
 *   PENDING      in `pending` of its handle; the server does not know it
 *   UNSENT       `asked` of its handle (or still `waiting`, until it can move to `asked`). The
 *                server does not know it, unless it is in_doubt: the answer to an earlier request
 *                was lost
 *   ASKED        `asked` of its handle; its request has no answer yet
 *   WAITING      `waiting` of its handle; it is in the queue of the server
 *   SUBSCRIBING  `waiting` of its handle; the lock was busy. It is not in the queue of the server:
 *                it asks again when the client is subscribed to messages
 *   CANCELING    an acquire, `asked` or `waiting` of its handle. It ends with cancel_status unless
 *                it is granted first. It may be in the queue of the server; a cancel was sent, or
 *                will be as soon as possible
 *   CONFIRMING   an acquire or a renewal, `asked` or `waiting` of its handle. The server has done it,
 *                and replicas must confirm it (`min_replicas`) before it counts. No caller knows of
 *                it yet; if its caller has given up, it is undone as soon as that is decided
 *   OVER         in no place of its handle; it has been reported
 */
#ifndef LKI_OPERATION_H
#define LKI_OPERATION_H

#include "base/thread.h"
#include "engine/answer.h"
#include "lock/lock.h"

typedef enum {
    LKI_DO_ACQUIRE,
    LKI_DO_RELEASE, /* if reported from the start, it has no caller */
    LKI_DO_CONVERT, /* a downgrade */
    LKI_DO_RENEW,   /* lk_renew */
    LKI_DO_DROP     /* removes a lost hold that the server may still have; has no caller */
} lki_kind;

typedef enum {
    LKI_PENDING,
    LKI_UNSENT,
    LKI_ASKED,
    LKI_WAITING,
    LKI_SUBSCRIBING,
    LKI_CANCELING,
    LKI_CONFIRMING,
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
    bool wait;      /* an acquire that may queue */
    bool of_last;   /* lk_unlock: releases the last count; `mode` is set when it begins */
    bool in_doubt;  /* the server may have done it: an answer was lost */
    bool is_untold; /* a release of a grant that no caller was told of (SPEC 6.3) */
    bool reported;
    lk_status cancel_status; /* CANCELING: how it ends unless it is granted first */
    uint64_t request;        /* its request number; 0: takes a new one when it is sent */
    uint64_t fence;          /* sent with the request */
    uint64_t first_fence;    /* a release or downgrade: the first of its hold (SPEC 8.3) */
    int64_t first_sent_us;   /* when it was first sent under this number */
    unsigned life;           /* of the server, when it was first sent under this number */
    bool asked_again;        /* sent more than once under this number */
    bool refresh_in_doubt;   /* the connection of a refresh was lost; the server may still do it */
    uint64_t queued_server_us; /* at this time of the server it was in the queue; 0: unknown */
    int64_t lease_ms;          /* of lk_renew */
    int64_t deadline_us;       /* when the caller's wait_ms end; LKI_NEVER: no limit */
    int64_t bound_us;          /* a blocking call returns by then, even without an answer */
    int64_t grace_until_us;    /* see LKI_GRACE_US; 0: no grace yet */
    int64_t silent_since_us;   /* when the server last answered about it, or it began */
    int64_t blocking_since_us; /* from when on pending operations wait for its answer */
    int64_t asleep_until_us;   /* when its caller wakes up by itself */
    int64_t retry_us;          /* not to be sent before */
    lki_error result;          /* before it is reported: the last error reply, or "" */
    lki_confirmation confirmation;
    lki_answer unconfirmed; /* CONFIRMING: the answer of the server */
    int64_t from_us;        /* CONFIRMING: the lease began then or later */
    lki_caller *caller;     /* the thread that waits; NULL: none */
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

/* Begins it, and blocks the calling thread until it is reported. */
LKI_UNLOCKS lk_status lki_operation_await(lki_operation *);

/* Its next timeout (LKI_NEVER: it is reported), and what happens at that time. */
int64_t lki_operation_due_us(const lki_operation *);
void lki_operation_time_up(lki_operation *, int64_t now_us);

/* For an acquire: ends it with this status as soon as it is certain that it was not granted. */
void lki_operation_cancel(lki_operation *, lk_status);

/* ---- for the files of lock/ ---- */

/* Reports to the caller or the callback. format NULL: the text of the status. */
void lki_operation_report(lki_operation *, lk_status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lki_operation_over(lki_operation *); /* ends it; it must be reported */
void lki_operation_set(lki_operation *, lki_state);
void lki_operation_recheck(const lki_operation *); /* makes its caller recheck; NULL is fine */

/* UNSENT: sends the request, if that is possible now. */
void lki_operation_send(lki_operation *);

/* CANCELING: sends the cancel, if that is possible now and none is without an answer. */
void lki_acquire_send_cancel(lki_operation *);

/* Whether it may be in the queue of the server; and whether it is, without a waiting caller. */
bool lki_operation_is_queued(const lki_operation *);
bool lki_operation_is_async_waiter(const lki_operation *);

/*
 * The server has done it, at from_us or later. False: no replica has to confirm it. True: the
 * operation is CONFIRMING; when that is over, lki_acquire_confirmed() or lki_renew_confirmed() is
 * called. why: NULL if replicas have confirmed it.
 */
bool lki_operation_confirm(lki_operation *, const lki_answer *, int64_t from_us);
void lki_acquire_confirmed(lki_operation *, const lki_error *why);
void lki_renew_confirmed(lki_operation *, const lki_error *why);

/* Handle the answer to an operation of each kind. */
void lki_acquire_answered(lki_operation *, const lki_answer *);
void lki_drop_answered(lki_operation *, const lki_answer *);
void lki_release_answered(lki_operation *, const lki_answer *);
void lki_convert_answered(lki_operation *, const lki_answer *);
void lki_renew_answered(lki_operation *, const lki_answer *);

/* Check an operation before it is sent. False: it failed, was reported, and is over. */
bool lki_acquire_check(lki_operation *);
bool lki_release_check(lki_operation *);
bool lki_convert_check(lki_operation *);
bool lki_renew_check(lki_operation *);

/*
 * The mode of the last count that the releases ahead of `op` do not remove. op NULL: ahead of a new
 * operation. False: no count is left.
 */
bool lki_release_last(const lk_lock *, const lki_operation *op, lk_mode *out);

/* An acquire was granted at from_us or later. claimed false: the hold is provisional. */
void lki_acquire_granted(lki_operation *, const lki_answer *, int64_t from_us, bool claimed);

/* CANCELING, and the connection was lost: reports to the caller. */
void lki_acquire_report_cut(lki_operation *);

/*
 * Begin a release that has no caller. lki_undo(): of a grant that no caller was told of.
 * lki_release_begin(): of a hold that callers had. False: out of memory.
 */
bool lki_undo(lk_lock *, lk_mode, uint64_t fence);
bool lki_release_begin(lk_lock *, lk_mode);

/*
 * Removes a lost hold on the server, so that others need not wait until its lease expires. A write
 * leaves its abandoned mark. Not by force, which would remove the holds of other handles with the
 * same owner, too.
 */
void lki_drop_begin(lk_lock *);

/* Reports to the caller although the outcome is unknown; the operation may go on alone. */
void lki_operation_abandon(lki_operation *, lk_status);

/* Pending operations must now wait for the answer to this one: adjusts their timeouts. */
void lki_operation_note_blocking(lki_operation *);

/* Moves a pending operation, which is reported, ahead of those that are not. */
void lki_operation_put_ahead(lki_operation *);

/* A release or downgrade was reported: changes the counts now; its request goes on alone. */
void lki_release_go_on_alone(lki_operation *);

#endif
