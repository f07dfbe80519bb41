/*
 * One connection that many threads share: requests go out in order, and the replies come back in
 * the same order. No thread is dedicated to reading. A caller that waits for its reply reads for
 * all callers (it is the driver) until it has its own reply; then another waiting caller drives. If
 * no caller waits, the keeper of the client drives. So a single thread makes one write and one read
 * for a round trip, and many threads share each write and each read.
 *
 * Every function is called with the monitor held: the mutex that the link was made with. Functions
 * that do I/O release it meanwhile, and carry LKI_UNLOCKS. Completions run with the monitor held.
 *
 * The link knows neither what a request means nor how to connect again.
 */
#ifndef LKI_LINK_H
#define LKI_LINK_H

#include "base/bytes.h"
#include "base/thread.h"
#include "net/transport.h"

#include <hiredis/hiredis.h>
#include <pthread.h>

typedef struct lki_connection lki_connection;

/* A request. The thread that commits it owns it, and keeps it until it is completed. */
typedef struct lki_request lki_request;
struct lki_request {
    lki_request *next; /* owned by the link */
    bool on_way;       /* committed and not completed; the link sets it */
    int64_t sent_us;   /* when it was committed, so not after its first byte was sent */
    /* Called exactly once. NULL: the connection was lost; the server may have run the request. */
    void (*complete)(lki_request *, const redisReply *);
};

/* A thread that waits in a call. It sleeps on `wake`, or drives a link. */
typedef struct lki_caller lki_caller;
struct lki_caller {
    pthread_cond_t wake;
    bool done;                   /* the call is completed: stop waiting */
    bool recheck;                /* the call must decide again where to wait, or until when */
    bool asleep;                 /* sleeps on `wake` */
    int kick;                    /* the eventfd of the link that it polls; -1: none */
    lki_caller *next, *previous; /* in the list of sleepers of a link */
};

/* Called with the monitor held. */
typedef struct {
    void (*push)(void *context, const redisReply *);  /* a message; NULL: the link has no pushes */
    void (*delivered)(void *context);                 /* after the replies of one read */
    void (*broken)(void *context, const lki_error *); /* after all requests were completed */
    void (*unread)(void *context);  /* no thread drives, and there may be something to read */
    void (*relieve)(void *context); /* the keeper drives, and a caller wants to */
    void (*full)(void *context);    /* the keeper drives, and the socket did not take all output */
    void *context;
} lki_link_events;

typedef struct {
    pthread_mutex_t *monitor;
    lki_link_events events;
    lki_connection *connection; /* NULL: not connected */
    lki_connection *kept;       /* driven by the keeper; may be broken already; NULL: none */
    lki_connection *watched;    /* the keeper polls for its end; NULL: none */
    lki_caller *sleepers;       /* callers that sleep while another thread drives */
    int kick;                   /* an eventfd that interrupts a caller that drives */
    int64_t unread_since_us;    /* when the last driver left; only valid while no thread drives */
} lki_link;

lk_status lki_link_init(lki_link *, pthread_mutex_t *monitor, lki_link_events, lki_error *);
void lki_link_free(lki_link *); /* after lki_link_break; no thread may use the link any more */

/* Starts to use a connected transport, and owns it. LK_NOMEM: the caller still owns it. */
lk_status lki_link_attach(lki_link *, lki_transport *);
bool lki_link_is_up(const lki_link *);

/* Ends the connection: completes requests without a reply with NULL, then calls `broken`. */
void lki_link_break(lki_link *, const lki_error *);

/* In a child after fork: closes the descriptors and does nothing else. */
void lki_link_close_after_fork(lki_link *);

/*
 * To send a request, write its bytes to lki_link_begin() and commit it. Bytes that are not
 * committed are not sent. LK_NOMEM: out of memory while the bytes were written. The link must be
 * up. lki_link_flush() sends everything that was committed.
 */
lki_bytes *lki_link_begin(lki_link *);
lk_status lki_link_commit(lki_link *, lki_request *, int64_t now_us);
LKI_UNLOCKS void lki_link_flush(lki_link *);

/*
 * The start of the server's silence, while a request has no reply; LKI_NEVER: every request has its
 * reply. A whole reply ends the silence, also one to an earlier request. Single bytes do not: a
 * server could send them one by one for ever.
 */
int64_t lki_link_silent_since_us(const lki_link *);

/* When the last whole reply or push arrived; 0: none yet. */
int64_t lki_link_answered_us(const lki_link *);

/* When the last request that has its reply was sent; 0: none yet. */
int64_t lki_link_answered_sent_us(const lki_link *);

bool lki_link_has_requests(const lki_link *); /* without a reply */
bool lki_link_has_output(const lki_link *);   /* committed and not sent yet */

/*
 * Waits, by driving or by sleeping, until the caller is done or must recheck, the connection is
 * lost, or until_us.
 */
LKI_UNLOCKS void lki_link_wait(lki_link *, lki_caller *, int64_t until_us);

/*
 * The keeper's side. Take: the keeper becomes the driver, unless a caller drives or wants to; true:
 * the keeper is the driver. Leave: a sleeping caller takes over; no effect if the keeper does not
 * drive.
 */
bool lki_link_keeper_take(lki_link *);
void lki_link_keeper_leave(lki_link *);
bool lki_link_has_sleepers(const lki_link *);            /* that still wait */
int lki_link_keeper_fd(const lki_link *, short *events); /* -1: the keeper is not the driver */
LKI_UNLOCKS void lki_link_keeper_read(lki_link *);       /* reads once, without waiting */

/*
 * For a connection that no thread drives: lki_link_watch_fd() returns the descriptor that the
 * keeper polls for POLLRDHUP, or -1. It stays open until the next call, or lki_link_unwatch(). When
 * poll reports an event, lki_link_seems_ended() reads the connection to find out whether it has
 * ended.
 */
int lki_link_watch_fd(lki_link *);
void lki_link_unwatch(lki_link *);
LKI_UNLOCKS void lki_link_seems_ended(lki_link *);

void lki_caller_init(lki_caller *);
void lki_caller_clear(lki_caller *);
void lki_caller_notify(lki_caller *); /* call it after `done` or `recheck` was set */
LKI_UNLOCKS void lki_caller_sleep(lki_caller *, pthread_mutex_t *monitor, int64_t until_us);

#endif
