/*
 * One handle: what it holds, what it waits for, what it lost. src/README.md explains how the parts
 * of lock/ work together. Every function is called with the monitor held.
 */
#ifndef LKI_LOCK_H
#define LKI_LOCK_H

#include "base/thread.h"
#include "lock/locks.h"
#include "lock/order.h"
#include "lock/timers.h"

typedef struct lki_operation lki_operation;

/*
 * The monitor protects all fields. A handle has at most one operation whose request has no answer
 * (`asked`), and at most one in the queue of the server (`waiting`). Operations that cannot begin
 * yet are in the list `pending` (SPEC 9).
 */
struct lk_lock {
    lki_locks *locks;
    lki_session *session;
    lki_server *server;
    unsigned slot;       /* of its keys; 0 if the topology has no slots */
    bool asking;         /* the slot is being moved to `server`: send ASKING before each command */
    lki_elsewhere next;  /* where the lock is now, once no request is on its way; to NULL: here */
    unsigned references; /* one for the user, each operation and each renewal in progress */
    bool freed;          /* by its user */
    bool awaiting_release; /* freed, but its hold could not be released yet */
    bool manual_renew;
    bool abandoned;        /* the last grant found an abandoned mark */
    bool lost;             /* the hold is lost; reads and writes still have to be unlocked */
    bool renewing_hold;    /* a renewal of the hold has no answer yet */
    bool renewing_waiter;  /* a refresh of the waiter has no answer yet */
    bool renewal_in_doubt; /* the answer to a renewal was lost; the server may have done it */
    bool unclaimed;        /* the hold is provisional, until its first renewal */
    bool is_dirty;         /* in lki_locks.dirty, or being settled */
    lk_policy policy;
    unsigned reads, writes; /* counts of the hold that callers have not released */
    unsigned acquires;      /* existing acquire operations: each may add a count */
    unsigned losses;        /* losses for which on_lost has not been called */
    unsigned callbacks;     /* of its operations and losses, queued or running */
    uint64_t number;        /* of the handle, in its client; from 1 */
    lk_lock *next_in_bucket;
    int64_t lease_ms;      /* of the handle */
    int64_t lease_most_ms; /* the longest that was ever requested, by lk_renew too */
    const char *owner;     /* given_owner; if that is NULL, `handle` */
    char *given_owner, *group;
    lk_lost_fn *on_lost;
    void *on_lost_arg;
    lki_callback lost_callback;

    lki_order order; /* of reads and writes; has room for one more for each of `acquires` */

    uint64_t first_fence, fence; /* of the hold: it has all fences from first to last (SPEC 8.3) */
    uint64_t last_fence;         /* the greatest that this handle ever got */
    uint64_t granted_server_us;  /* when the hold began by the server's clock, or soon after */
    unsigned life;               /* of the server that last confirmed the hold */
    uint64_t hold_serial;        /* changes whenever a hold begins or ends */
    int64_t deadline_us;         /* the hold is certain until then; 0: no hold */
    int64_t renew_us;            /* the next renewal of the hold; LKI_NEVER: none */

    int64_t wide_until_us; /* requests pass both keys of the lock until then (SPEC 11.1) */
    uint64_t last_request; /* the greatest request number used */
    lki_operation *asked, *waiting, *pending;
    int64_t waiter_us; /* the next refresh of the waiter */
    lki_timer timer;
    lk_lock *next_due;   /* in lki_locks.due */
    lk_lock *next_dirty; /* in lki_locks.dirty, which has a reference */

    char handle[LKI_HANDLE_LENGTH + 1]; /* its identifier on the server (SPEC 1.2) */
    char name[];                        /* of the lock */
};

lk_status lki_lock_new(lki_locks *, const char *name, const lk_lock_options *, lk_lock **out,
                       lki_error *);
LKI_UNLOCKS void lki_lock_free(lk_lock *); /* lk_lock_free */
void lki_lock_cancel(lk_lock *);           /* lk_cancel: cancels acquires that wait */
void lki_lock_shut(lk_lock *); /* reports LK_CANCELED to acquires; the drain releases the hold */
void lki_lock_end(lk_lock *);  /* the client is closed: every operation ends with LK_CANCELED */

void lki_lock_retain(lk_lock *);
void lki_lock_release(lk_lock *); /* may free the handle, but never the session */

lki_key lki_lock_key(const lk_lock *);
/*
 * For each refusal of a request: remembers whether the next ones must pass both keys, and which
 * server has the lock.
 */
void lki_lock_note_refusal(lk_lock *, const lki_refusal *, const lki_elsewhere *);

/* Another server has the lock: the handle goes there as soon as no request is on its way. */
void lki_lock_redirect(lk_lock *, const lki_elsewhere *);

/*
 * Whether a request can be sent now. lki_lock_begin_request() then returns where to write it; NULL:
 * out of memory.
 */
bool lki_lock_can_send(const lk_lock *);
lki_bytes *lki_lock_begin_request(lk_lock *);
bool lki_lock_holds(const lk_lock *); /* it has a hold that is not lost */

/*
 * Marks the handle as changed: the next drain settles it. Settling sends requests that can be sent,
 * begins operations that can begin, and sets the timer of the handle.
 */
void lki_lock_changed(lk_lock *);
void lki_lock_settle(lk_lock *); /* for the drain */

void lki_lock_due(lk_lock *, int64_t now_us); /* its timer is due */

/*
 * Its server is connected again, or it has another one. A request in doubt is sent again now; a hold
 * and a waiter are renewed now.
 */
void lki_lock_connected(lk_lock *);
void lki_lock_renew_now(lk_lock *);

/* Other timeouts or another connection matter now: its callers must decide again. */
void lki_lock_recheck(const lk_lock *);

/* Handles a message to this client; is_own: see lki_session_events. */
void lki_locks_heard(lki_locks *, lki_server *, bool is_own, const char *text, size_t length);

#endif
