/*
 * One connection that many threads use at once: requests go out in order, and the replies come
 * back in that order. Nobody is told off to read: a thread that waits for its reply reads for all
 * (it is the driver) until its own is there, then leaves the reading to another that waits. When
 * nobody waits, the client's keeper drives. So one thread alone makes a bare round trip, and many
 * share each read and write.
 *
 * Every function is called with the monitor held, the mutex that the link was made with. Those
 * that do I/O let go of it meanwhile, and say so. Completions run with it held.
 *
 * What the bytes of a request mean, and how to get a new connection, the link does not know.
 */
#ifndef LKI_LINK_H
#define LKI_LINK_H

#include "base/bytes.h"
#include "base/thread.h"
#include "net/transport.h"

#include <hiredis/hiredis.h>
#include <pthread.h>

typedef struct lki_connection lki_connection;

/* A request on its way. Whoever submits it owns it, and keeps it until it is completed. */
typedef struct lki_request lki_request;
struct lki_request {
    lki_request *next;
    bool on_way;     /* committed, and not completed yet; the link sets it */
    int64_t sent_us; /* when it was submitted: no later than any byte of it left */
    /* Exactly once. NULL: the connection was lost, and nobody knows whether the server saw it. */
    void (*complete)(lki_request *, const redisReply *);
};

/* A thread that waits in a call. It sleeps on `wake` or drives a link. */
typedef struct lki_caller lki_caller;
struct lki_caller {
    pthread_cond_t wake;
    bool done;    /* what it waits for has happened */
    bool recheck; /* what it waits for has changed: it must look anew where to wait */
    bool asleep;
    int kick;                    /* of the link that it reads from at this moment, else -1 */
    lki_caller *next, *previous; /* among the sleepers of a link */
};

typedef struct {
    void (*push)(void *context, const redisReply *); /* a message that answers no request */
    void (*delivered)(void *context); /* after pushes and completions that came in one read */
    void (*broken)(void *context, const lki_error *); /* the connection is gone; no request left */
    void (*unread)(void *context);  /* nobody drives, and there may be something to read */
    void (*relieve)(void *context); /* the keeper drives, and a caller would rather */
    void (*full)(void *context);    /* the keeper drives, and more is to be written than went */
    void *context;
} lki_link_events;

typedef struct {
    pthread_mutex_t *monitor;
    lki_link_events events;
    lki_connection *connection; /* NULL while there is no connection */
    lki_connection *kept;       /* the one that the keeper drives, perhaps broken since */
    lki_connection *watched;    /* the one whose end the keeper would notice */
    lki_caller *sleepers;
    int kick;                /* an eventfd that interrupts a caller who drives */
    int64_t unread_since_us; /* when the last driver left, while nobody drives */
} lki_link;

lk_status lki_link_init(lki_link *, pthread_mutex_t *monitor, lki_link_events, lki_error *);
void lki_link_free(lki_link *); /* it must have been broken, and nobody may drive */

/* Takes a connection, and the transport with it. LK_NOMEM: the transport is still the caller's. */
lk_status lki_link_attach(lki_link *, lki_transport *);
bool lki_link_is_up(const lki_link *);

/* Ends the connection: requests not answered are completed with NULL, then `broken` is told. */
void lki_link_break(lki_link *, const lki_error *);
void lki_link_close_after_fork(
    lki_link *); /* after fork: closes the descriptors, and nothing else */

/*
 * A request: write its bytes to lki_link_begin(), then commit, or nothing is sent. LK_NOMEM when
 * the bytes did not fit into memory. The link must be up. lki_link_flush() sends what was
 * committed, and lets go of the monitor while it does.
 */
lki_bytes *lki_link_begin(lki_link *);
lk_status lki_link_commit(lki_link *, lki_request *, int64_t now_us);
LKI_UNLOCKS void lki_link_flush(lki_link *);

/*
 * Since when the server has been silent although a request has no answer; LKI_NEVER if there is no
 * such request. A whole reply, also to an earlier request, is a sign of life. Single bytes are not:
 * a server could send them one by one for ever.
 */
int64_t lki_link_silent_since_us(const lki_link *);
int64_t lki_link_answered_us(const lki_link *); /* when a whole reply last came; 0: none yet */
/* When the last request that has its answer was sent; 0: none yet. */
int64_t lki_link_answered_sent_us(const lki_link *);
bool lki_link_has_requests(const lki_link *);
bool lki_link_has_output(const lki_link *); /* that was committed and not sent yet */

/*
 * Waits, by driving or by sleeping, until the caller is done or must recheck, the connection is
 * gone, or until_us. Lets go of the monitor.
 */
LKI_UNLOCKS void lki_link_wait(lki_link *, lki_caller *, int64_t until_us);

/*
 * The keeper's side. Take: become the driver, if nobody is and nobody would rather; whether it is.
 * Leave: a caller that sleeps takes over; fine when it does not drive.
 */
bool lki_link_keeper_take(lki_link *);
void lki_link_keeper_leave(lki_link *);
bool lki_link_has_sleepers(const lki_link *);
int lki_link_keeper_fd(const lki_link *, short *events); /* -1 if the keeper is not the driver */
/* Reads once without waiting, and completes; lets go of the monitor. */
LKI_UNLOCKS void lki_link_keeper_read(lki_link *);

/*
 * A connection that nobody drives may end as well. The descriptor to wait at for that (POLLRDHUP),
 * or -1; it stays open until this is called again, or lki_link_unwatch. Then: it has ended, it
 * seems.
 */
int lki_link_watch_fd(lki_link *);
void lki_link_unwatch(lki_link *);
LKI_UNLOCKS void lki_link_seems_ended(lki_link *);

void lki_caller_init(lki_caller *);
void lki_caller_clear(lki_caller *);
void lki_caller_notify(lki_caller *); /* it is done, or must recheck: it wakes, or stops reading */
LKI_UNLOCKS void lki_caller_sleep(lki_caller *, pthread_mutex_t *monitor, int64_t until_us);

#endif
