/*
 * A request to a server that belongs to no handle, such as inspect or list. It is sent, and sent
 * again after a failure, until it has its reply or command_timeout_ms are over. Every function is
 * called with the monitor held.
 */
#ifndef LKI_CALL_H
#define LKI_CALL_H

#include "base/thread.h"
#include "session/session.h"

typedef struct lki_call lki_call;
struct lki_call {
    lki_request request;
    const char *what; /* starts error texts: `lock "x"`, or "list" */
    bool once;        /* must not be sent twice: LK_UNAVAILABLE if the reply is lost */
    bool has_slot;    /* it is about one lock, which may move to another server */
    unsigned slot;    /* of that lock */
    lki_sent (*encode)(const lki_call *, lki_form *, lki_bytes *);
    /*
     * Gets each reply that is not an error; `server` is the one that answered. Not called after the
     * caller has given up.
     */
    lk_status (*answered)(lki_call *, const redisReply *, lki_error *);

    /* The fields below belong to call.c. */
    lki_server *server;
    lki_sent sent;
    lki_caller caller;
    bool is_over;
    bool is_wide;     /* the lock needs both of its keys: for `encode` */
    bool asking;      /* see lki_elsewhere */
    bool orphaned;    /* the caller has returned: free it when its request is completed */
    int64_t retry_us; /* not to be sent again before */
    lki_error error;  /* of the result; before that, of the last attempt */
};

/* Zeroed memory, for a struct whose first member is an lki_call. NULL: out of memory. */
void *lki_call_new(size_t size);
void lki_call_free(lki_call *); /* now, or when its request is completed; NULL is fine */

/* Blocks for at most command_timeout_ms. */
LKI_UNLOCKS lk_status lki_call_run(lki_call *, lki_server *, lki_error *);

#endif
