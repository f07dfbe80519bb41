/* A question to a server that is about no handle: asked, and asked again, until it is answered. */
#ifndef LKI_CALL_H
#define LKI_CALL_H

#include "client/client.h"

typedef struct lki_call lki_call;
struct lki_call {
    lki_request request;
    const char *what; /* for sentences: `lock "x"`, or "list" */
    bool once;        /* asking twice would do harm: an answer that is lost is LK_UNAVAILABLE */
    int script;       /* an lki_script_id, or -1 */
    void (*encode)(const lki_call *, lki_bytes *, bool text);
    /* With the monitor held; the reply is no error. */
    lk_status (*answered)(lki_call *, const redisReply *, lki_error *);

    lki_server *server;
    lki_caller caller;
    bool asked, is_answered;
    int64_t retry_us;
    lki_error error;
};

/* Blocks; with the monitor held, which it lets go of. */
lk_status lki_call_run(lki_call *, lki_server *, lki_error *);

#endif
