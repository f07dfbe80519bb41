/*
 * A question to a server that is about no handle: asked, and asked again, until it is answered or
 * command_timeout_ms are over. Everything with the monitor held.
 */
#ifndef LKI_CALL_H
#define LKI_CALL_H

#include "base/thread.h"
#include "session/session.h"

typedef struct lki_call lki_call;
struct lki_call {
    lki_request request;
    const char *what; /* for sentences: `lock "x"`, or "list" */
    bool once;        /* asking twice would do harm: an answer that is lost is LK_UNAVAILABLE */
    lki_sent (*encode)(const lki_call *, lki_form *, lki_bytes *);
    /* The reply is no error. Not called once the caller has given up. */
    lk_status (*answered)(lki_call *, const redisReply *, lki_error *);

    lki_server *server;
    lki_sent sent;
    lki_caller caller;
    bool is_over;
    bool orphaned; /* its caller has gone: it is freed when its request is completed */
    int64_t retry_us;
    lki_error error;
};

/* Zeros, for a struct that begins with an lki_call. NULL: out of memory. */
void *lki_call_new(size_t size);
void lki_call_free(lki_call *); /* now, or when its request is completed; NULL is fine */

/* Blocks for command_timeout_ms at most; lets go of the monitor. */
LKI_UNLOCKS lk_status lki_call_run(lki_call *, lki_server *, lki_error *);

#endif
