/*
 * The servers of a client, their threads, and the monitor. A session does not know handles: it
 * tells the layer above what happens through a table of callbacks (lki_session_events).
 *
 * The monitor is the only mutex of a client; docs/THREADS.md says which thread runs where.
 */
#ifndef LKI_SESSION_H
#define LKI_SESSION_H

#include "base/thread.h"
#include "session/callbacks.h"
#include "session/keeper.h"
#include "session/server.h"
#include "session/settings.h"
#include "topology/topology.h"

/*
 * Callbacks to the layer above. Each runs with the monitor held, does not release it, and only
 * notes what has changed. `drain` acts on the changes: it may commit requests, which the session
 * then sends.
 */
typedef struct {
    void (*connected)(void *context, lki_server *);    /* requests can be sent again */
    /* After its requests were completed; also after each attempt to connect that has failed. */
    void (*disconnected)(void *context, lki_server *);
    void (*subscribed)(void *context, lki_server *);   /* messages arrive from now on */
    /* The server refuses the subscription, and will again. */
    void (*refused)(void *context, lki_server *, const lki_error *);
    /* Messages may not arrive at present: waiters must be refreshed. */
    void (*messages_missing)(void *context, lki_server *);
    /* is_own: this server has published it. Otherwise another node may have, nobody knows when. */
    void (*message)(void *context, lki_server *, bool is_own, const char *text, size_t length);
    void (*remapped)(void *context); /* lki_session_server() may return another server now */
    int64_t (*next_due_us)(const void *context); /* when to call `due`; LKI_NEVER: not needed */
    void (*due)(void *context, int64_t now_us);
    bool (*drain)(void *context); /* false: there was nothing to do */
} lki_session_events;

struct lki_session {
    /* These are set before another thread sees the session, and never change. */
    unsigned forks; /* lki_fork_count() when it was opened */
    lki_settings settings;
    lki_topology *topology;
    int stop_fd; /* an eventfd, readable once the session stops */
    const lki_session_events *events;
    void *context; /* passed to the events */
    /* Called without the monitor, when the last reference is released. */
    void (*destroy)(lki_session *);

    pthread_mutex_t monitor; /* protects everything below */
    unsigned references;     /* one for the opener, each handle and each call in progress */
    bool closing;            /* lk_close has begun: no operation may begin any more */
    bool closed;             /* lk_close has ended the threads and connections */
    /* By their index in the topology. NULL: no lock has needed this one yet. Only grows. */
    lki_server **servers;
    size_t server_count;
    unsigned lives; /* the number of server processes that were reached */
    lki_keeper keeper;
    lki_callbacks callbacks;
    /* Signalled when a callback, call or operation has ended, or a callback is to be dispatched. */
    pthread_cond_t ended;
    size_t calls; /* in progress; see session/call.h */
};

/*
 * lki_session_init() comes first; the session then has one reference. lki_session_open() starts the
 * keeper. If there is one server, it connects to it; the nodes of a cluster are connected when
 * they are needed. Settings and topology must be set before.
 */
void lki_session_init(lki_session *, const lki_session_events *, void *context);
lk_status lki_session_open(lki_session *, lki_error *);

/*
 * lki_session_stop() ends all threads except that of callbacks; call it without the monitor.
 * lki_session_break() then ends the connections; call it with the monitor held.
 */
void lki_session_stop(lki_session *);
void lki_session_break(lki_session *);
void lki_session_free(lki_session *);             /* without the monitor */
void lki_session_close_after_fork(lki_session *); /* in a child: only closes the descriptors */

/* Both with the monitor held. Release unlocks it, does not lock it again, and may destroy. */
void lki_session_retain(lki_session *);
LKI_UNLOCKS void lki_session_release(lki_session *);

/* For the end of a call: drains, and sends the requests that were committed. */
LKI_UNLOCKS void lki_session_settle(lki_session *);

/*
 * The server that has the keys of a slot, and the server with this index. Both are kept connected
 * from now on. With the monitor held. NULL: out of memory or descriptors.
 */
lki_server *lki_session_server(lki_session *, unsigned slot, lki_error *);
lki_server *lki_session_server_at(lki_session *, size_t index, lki_error *);

/* After slots have moved: each new server of a slot gets the floor of the former one. */
void lki_session_pass_floors(lki_session *);

/* Adds the slots of a server, as far as the client knows: all, if the topology is not sharded. */
void lki_session_add_slots(lki_session *, const lki_server *, lki_slots *);

/* With the monitor held. Queues a callback that writes the line. */
void lki_log(lki_session *, lk_log_level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
