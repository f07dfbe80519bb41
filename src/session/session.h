/*
 * The servers of a client, the threads that serve them, and the monitor. A session knows nothing of
 * handles: it tells the layer above what happens, through a table of callbacks (lki_session_events).
 *
 * The monitor is the one mutex of the library; docs/THREADS.md says which thread runs where.
 */
#ifndef LKI_SESSION_H
#define LKI_SESSION_H

#include "base/thread.h"
#include "session/callbacks.h"
#include "session/keeper.h"
#include "session/server.h"
#include "session/settings.h"
#include "topology/topology.h"

enum { LKI_CLIENT_ID_LENGTH = 32 };

/*
 * What a session tells the layer above. Each callback runs with the monitor held and keeps it. It
 * notes what has changed. `drain` acts on the changes: it may commit requests, which the session
 * then sends.
 */
typedef struct {
    void (*connected)(void *context, lki_server *);    /* requests can be sent again */
    void (*disconnected)(void *context, lki_server *); /* after its requests were completed */
    void (*subscribed)(void *context, lki_server *);   /* messages come from now on */
    void (*refused)(void *context, lki_server *,
                    const lki_error *);           /* the subscription, for good */
    void (*unheard)(void *context, lki_server *); /* messages may not arrive: ask the server */
    void (*message)(void *context, lki_server *, const char *text, size_t length);
    int64_t (*next_due_us)(const void *context); /* when `due` has something to do */
    void (*due)(void *context, int64_t now_us);
    bool (*drain)(void *context); /* false: there was nothing to do */
} lki_session_events;

struct lki_session {
    /* Set before another thread sees the session, and never changed. */
    unsigned forks; /* lki_fork_count() when it was opened */
    lki_settings settings;
    lki_topology *topology;
    char id[LKI_CLIENT_ID_LENGTH + 1];
    char *channel; /* of pub/sub: the server publishes messages for this client there */
    int stop_fd;   /* an eventfd, readable once the session stops */
    const lki_session_events *events;
    void *context;                  /* for the events */
    void (*destroy)(lki_session *); /* the last reference is gone; without the monitor */

    pthread_mutex_t monitor; /* for everything below */
    unsigned references;     /* the opener's, each handle's, each call's that is in progress */
    bool closing;            /* lk_close has begun: nothing new begins */
    bool closed;
    lki_server *servers;
    size_t server_count;
    lki_keeper keeper;
    lki_callbacks callbacks;
    pthread_cond_t ended; /* a callback, a call or an operation has come to its end, or a
                             callback is to be dispatched */
    size_t calls;         /* in progress; see session/call.h */
};

/*
 * Before anything else; with one reference. lki_session_open() connects to all servers and starts
 * the keeper; settings and topology must be set.
 */
void lki_session_init(lki_session *, const lki_session_events *, void *context);
lk_status lki_session_open(lki_session *, lki_error *);

/*
 * lki_session_stop() ends all threads but the one of callbacks; without the monitor.
 * lki_session_break() then ends the connections; with the monitor.
 */
void lki_session_stop(lki_session *);
void lki_session_break(lki_session *);
void lki_session_free(lki_session *);             /* without the monitor: all that belongs to it */
void lki_session_close_after_fork(lki_session *); /* after fork: closes the descriptors only */

/* Both with the monitor held; release lets go of it, and may destroy the session. */
void lki_session_retain(lki_session *);
LKI_UNLOCKS void lki_session_release(lki_session *);

/* At the end of a call: drains, and sends what came of it; lets go of the monitor. */
LKI_UNLOCKS void lki_session_settle(lki_session *);

lki_server *lki_session_server(lki_session *, const char *name);

/* With the monitor held; a callback writes the line. */
void lki_log(lki_session *, lk_log_level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
