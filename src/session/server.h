/*
 * One server of a session: a wire for commands and a wire for messages. A wire is a link that is
 * connected again whenever it breaks. A dialer does that: a thread that lives as long as the
 * attempt, because a name lookup can block, and no other thread should wait for it.
 *
 * Every function is called with the monitor held, unless its comment says otherwise.
 */
#ifndef LKI_SERVER_H
#define LKI_SERVER_H

#include "base/thread.h"
#include "engine/form.h"
#include "net/greet.h"
#include "net/link.h"
#include "session/confirm.h"
#include "session/ears.h"

typedef struct lki_session lki_session;
typedef struct lki_server lki_server;

typedef struct {
    lki_link link;
    lki_server *server;
    bool wanted;     /* keep it connected: commands always, messages once requested */
    bool dialing;    /* the dialer is trying to connect */
    bool is_dropped; /* the server has moved since the dialer began: its connection is not used */
    bool has_dialer; /* `dialer` is a thread that has not been joined */
    pthread_t dialer;
    int stop_fd; /* an eventfd, readable: the dialer should give up */
    int64_t dialing_since_us;
    /*
     * The socket while the dialer connects and greets, else -1. A child after fork() closes it.
     * Used without the monitor.
     */
    _Atomic int dialing_fd;
    int64_t next_dial_us; /* not before this */
    unsigned failures;    /* in a row: failed attempts, and connections that soon broke */
    bool unreachable;     /* the last attempt failed */
    int64_t dialed_us;    /* when dialing began that made the last connection */
    int64_t up_since_us;
    int64_t down_since_us;  /* LKI_NEVER: it is up */
    lki_error why;          /* the reason why it is down */
    lki_identity identity;  /* of the last connection */
    int64_t grace_until_us; /* see LKI_GRACE_US; 0: no grace yet */
    bool urgent;            /* the keeper should read without delay */

    /* The fields below are used by the messages wire only. */
    lki_request heartbeat;   /* a PING, to find out whether the connection works */
    int64_t heartbeat_us;    /* when to send the next */
    int64_t published_us;    /* see lki_server_published_us */
    int64_t next_refresh_us; /* of the waiters, while messages may not arrive */
} lki_wire;

/* A redirect that a server has sent: see elsewhere.c. */
typedef struct {
    const lki_server *to; /* NULL: none yet */
    unsigned slot;
    int64_t when_us;
} lki_redirected;

enum { LKI_REDIRECTED_MOST = 64 };

struct lki_server {
    lki_session *session;
    size_t index; /* in the topology */
    lki_wire commands, messages;
    lki_form form;
    lki_confirmations confirmations;
    lki_ear own;          /* for handles that were made for this server */
    /*
     * Differs for each server process that the commands wire has reached. If the server does not
     * tell its run id, it differs for each connection.
     */
    unsigned life;
    int64_t suspected_us; /* when the topology was last told that it does not answer */
    lki_redirected redirected[LKI_REDIRECTED_MOST]; /* by the slot; a later one replaces it */
    uint64_t floor;       /* the greatest fence or time that it has told this client (SPEC 8.1) */
    size_t waiting;       /* operations in the queues of the server */
    size_t async_waiting; /* of these, the ones without a caller that waits */
};

lki_server *lki_server_new(lki_session *, size_t index, lki_error *); /* NULL: see the error */
/* Both wires must be down, and their dialers joined. NULL is fine. */
void lki_server_free(lki_server *);

/* Connects the commands wire soon, and keeps it connected. */
void lki_server_want(lki_server *);

/* Another server has its locks now: ends connections and dials, until it is wanted again. */
void lki_server_retire(lki_server *);
void lki_server_break(lki_server *, const lki_error *);

/* Connects the commands wire for the first time. Blocks; call it without the monitor. */
lk_status lki_server_open(lki_server *, lki_error *);

void lki_server_close_after_fork(lki_server *); /* in a child: only closes the descriptors */

/* For the keeper: dials wires that are down, breaks silent ones. Returns when to call it again. */
LKI_UNLOCKS int64_t lki_server_tend(lki_server *, int64_t now_us);
void lki_server_join_dialers(lki_server *); /* without the monitor, after the keeper has ended */

/*
 * Another server has the locks now: breaks the wires that lead to a server with another run id.
 * run_id "": breaks both. Wires that are being dialed are dialed anew.
 */
void lki_server_moved(lki_server *, const char *run_id);

/* Another server may have its locks now: makes the topology find out. */
void lki_server_suspect(lki_server *);

/* Where to send a command that a server refused with MOVED or ASK. */
typedef struct {
    lki_server *to; /* NULL: to the same server */
    bool asking;    /* after ASKING, every time */
} lki_elsewhere;

/*
 * What an error reply to a command of this server means. If the server is a replica now, and the
 * topology can find the master, the wires are made anew and the command is to be sent again. If
 * another server has the lock, *elsewhere says which, and the command is to be sent there.
 */
lki_refusal lki_server_refused(lki_server *, lki_sent, const char *error_reply,
                               lki_elsewhere *elsewhere);

/*
 * Commits ASKING: the next command may use a slot that is being moved to this server. False: out of
 * memory. The commands wire must be up.
 */
bool lki_server_asking(lki_server *);

/* Dials now if the server is down, and starts again with short pauses between attempts. */
void lki_server_dial_now(lki_server *);

/*
 * Connects the messages wire: immediately for an operation that waits; after 100 ms for a handle
 * with on_lost, so that a short-lived program does not connect it.
 */
void lki_server_want_messages(lki_server *);
void lki_server_want_messages_soon(lki_server *);

/*
 * Changes the number of operations in the queues of the server by `all`, and the number of these
 * without a waiting caller by `async`. While there are some, the session checks more often whether
 * messages arrive.
 */
void lki_server_count_waiters(lki_server *, int all, int async);

/*
 * Messages that arrive now were published after this instant, by the clock of the client. It is the
 * instant at which the last answered heartbeat was sent: earlier messages arrived before its reply.
 * So nothing depends on the clock of the server, which may be set.
 */
int64_t lki_server_published_us(const lki_server *);

void lki_server_raise_floor(lki_server *, uint64_t fence_or_time);

/* Drains, sends, and makes sure that a thread reads the replies without delay. */
LKI_UNLOCKS void lki_server_push(lki_server *);

void lki_server_hurry(lki_server *); /* the keeper should read the next replies without delay */

#endif
