/*
 * One handle: what it holds, what it waits for, what it lost. See src/README.md for
 * how the parts go together. Everything with the monitor held, unless said otherwise.
 */
#ifndef LKI_LOCK_H
#define LKI_LOCK_H

#include "base/thread.h"
#include "lock/locks.h"
#include "lock/order.h"
#include "lock/timers.h"

typedef struct lki_operation lki_operation;

/*
 * The owner of each field is the handle, under the monitor. A handle has at most one request that
 * is not answered (`asked`), and at most one operation that waits in the server's queue
 * (`waiting`); what cannot begin yet stands in `pending` (SPEC 9).
 */
struct lk_lock {
    lki_locks *locks;
    lki_session *session;
    lki_server *server;
    unsigned references;   /* the user's, and each operation's and renewal's in progress */
    bool freed;            /* by its user */
    bool awaiting_release; /* freed, but what it holds could not be given back yet */
    bool manual_renew;
    bool abandoned; /* at the last grant */
    bool lost;      /* reads and writes are what is still to be unlocked then */
    bool renewing_hold, renewing_waiter; /* an entry for it is on the way */
    bool renewal_in_doubt;               /* the server may have the hold for longer than we know */
    bool unclaimed; /* granted by hand-over, for a second; the first renewal claims it */
    bool is_dirty;  /* in the list below */
    lk_policy policy;
    unsigned reads, writes; /* that callers have and did not give back */
    unsigned acquires;      /* operations that exist: each may yet become one more hold */
    unsigned losses;        /* that on_lost has not been told of */
    unsigned callbacks;     /* of its operations and losses, not yet returned */
    uint64_t number;
    lk_lock *next_in_bucket;
    int64_t lease_ms, lease_most_ms; /* of the handle; the longest that was ever asked for */
    const char *owner;               /* the text of the handle, if none was given */
    char *given_owner, *group;
    lk_lost_fn *on_lost;
    void *on_lost_arg;
    lki_callback lost_callback;

    lki_order order; /* of reads and writes; has room for one more for each of `acquires` */

    uint64_t first_fence, fence; /* of the hold; it answers to both, and all between (SPEC 8.3) */
    uint64_t last_fence;         /* the greatest that this handle was ever given */
    uint64_t granted_server_us;  /* by the server's clock, or not much later */
    uint64_t hold_serial;        /* differs from one hold to the next */
    int64_t deadline_us;         /* until then the hold is surely ours */
    int64_t renew_us;            /* the hold's next renewal; LKI_NEVER: none */

    uint64_t last_request;
    lki_operation *asked, *waiting, *pending;
    int64_t waiter_us; /* the waiter's next renewal */
    lki_timer timer;
    lk_lock *next_due;   /* in lki_locks.due */
    lk_lock *next_dirty; /* in lki_locks.dirty, which has a reference */

    char handle[LKI_HANDLE_LENGTH + 1];
    char name[];
};

lk_status lki_lock_new(lki_locks *, const char *name, const lk_lock_options *, lk_lock **out,
                       lki_error *);
LKI_UNLOCKS void lki_lock_free(lk_lock *); /* the user's, see latchkey.h; lets go of the monitor */
void lki_lock_cancel(lk_lock *); /* what waits ends with LK_CANCELED, unless granted meanwhile */
void lki_lock_shut(lk_lock *); /* reports LK_CANCELED to all, and begins to give everything back */

void lki_lock_end(lk_lock *); /* the client is closed: every operation ends with LK_CANCELED */

void lki_lock_retain(lk_lock *);
void lki_lock_release(lk_lock *); /* may free it; the session stays */

lki_key lki_lock_key(const lk_lock *);
bool lki_lock_holds(const lk_lock *); /* something, and it is not lost */

/*
 * Something of the handle has changed: the next drain settles it. Settling sends what can be sent,
 * begins operations that can begin, and sets the timer of the handle.
 */
void lki_lock_changed(lk_lock *);
void lki_lock_settle(lk_lock *); /* the drain's */

void lki_lock_due(lk_lock *, int64_t now_us); /* its timer has run out */

/* A message came for the handles of this client. */
void lki_locks_heard(lki_locks *, const char *text, size_t length);

#endif
