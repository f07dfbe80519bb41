/*
 * One server of a session: a wire for commands and a wire for messages.
 * A wire is a link that is connected again whenever it breaks, by a thread that lives as long as
 * the attempt, because looking up a name blocks and nothing else may wait for that.
 *
 * Everything with the monitor held.
 */
#ifndef LKI_SERVER_H
#define LKI_SERVER_H

#include "base/thread.h"
#include "engine/form.h"
#include "net/greet.h"
#include "net/link.h"

typedef struct lki_session lki_session;
typedef struct lki_server lki_server;

typedef struct {
    lki_link link;
    lki_server *server;
    bool wanted;  /* to be connected; commands always, messages when asked for */
    bool dialing; /* the thread below is at it */
    bool to_join;
    pthread_t dialer;
    _Atomic int
        dialing_fd; /* the socket from its making to the end of the greeting, else -1: a child
                               of fork() closes it. Needs no monitor */
    int64_t next_dial_us;
    unsigned failures; /* in a row: attempts, and connections that ended at once */
    bool unreachable;  /* the last attempt failed */
    int64_t up_since_us;
    int64_t down_since_us;  /* LKI_NEVER while it is up */
    lki_error why;          /* it is down */
    lki_identity identity;  /* of the last connection */
    int64_t grace_until_us; /* the grace of a silence that was noticed too late */
    bool urgent;            /* somebody who does not drive wants what is to be read, now */
    lki_request heartbeat;  /* of messages: a silent connection may be a dead one */
    int64_t heartbeat_us;   /* the next one */
    int64_t published_us;   /* what comes from now on was published after this instant */
    int64_t deaf_us;        /* when waiters are refreshed next, while messages do not come */
} lki_wire;

struct lki_server {
    lki_session *session;
    size_t index;
    lki_wire commands, messages;
    lki_form form;
    size_t waiting;       /* operations in the server's queues */
    size_t async_waiting; /* those of them that no caller waits for */
};

lk_status lki_server_init(lki_server *, lki_session *, size_t index, lki_error *);
void lki_server_free(lki_server *); /* both wires must be down, and their dialers joined */

/* Connects the commands wire for the first time; lets go of nothing, call it without monitor. */
lk_status lki_server_open(lki_server *, lki_error *);

void lki_server_close_after_fork(lki_server *); /* after fork: closes descriptors */

/* The keeper's: dials what is down, breaks what is silent too long. When to look again. */
LKI_UNLOCKS int64_t lki_server_tend(lki_server *, int64_t now_us);
void lki_server_join_dialers(lki_server *); /* without the monitor, with stop_fd readable */

/* A server that is away is tried now, and then with short pauses, as if it had just gone. */
void lki_server_dial_now(lki_server *);

/* At once, for who waits; or within 100 ms, for who may have gone by then. */
void lki_server_want_messages(lki_server *);
void lki_server_want_messages_soon(lki_server *);
bool lki_server_is_subscribed(const lki_server *);

/*
 * Operations join or leave the queues of the server: so many more, or fewer; and so many of them
 * that no caller waits for. While some wait, the session makes sure that messages come.
 */
void lki_server_count_waiters(lki_server *, int all, int async);

/*
 * Messages that come now were published after this instant of our clock. It is when the last
 * heartbeat that has its answer was sent: the server answers it behind all earlier messages. So
 * nothing depends on the server's clock, which may have been stepped.
 */
int64_t lki_server_published_us(const lki_server *);

/*
 * Sends what was committed, and sees to it that somebody reads the answers at once; lets go of the
 * monitor.
 */
LKI_UNLOCKS void lki_server_push(lki_server *);

void lki_server_hurry(lki_server *); /* the keeper reads the next answers without delay */

#endif
