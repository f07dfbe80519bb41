/* Decides which server has a lock, and where that server is. Each topology has its own file. */
#ifndef LKI_TOPOLOGY_H
#define LKI_TOPOLOGY_H

#include "base/error.h"
#include "net/transport.h"
#include "topology/redirect.h"
#include "topology/slot.h"

enum { LKI_NODES_MOST = 1024 }; /* servers of one topology */

typedef struct lki_topology lki_topology;

/* Who wants to know that a server or a slot has moved. Called on a thread of the topology. */
typedef struct {
    lki_tls_files tls; /* valid as long as the topology watches */
    int stop_fd;       /* readable: stop */
    /* Another process is this server now. run_id: of that process; "": unknown. */
    void (*moved)(void *context, size_t server, const char *run_id);
    /* Slots have other servers now: ask server_of and has_slots again. */
    void (*remapped)(void *context);
    void *context;
} lki_watcher;

typedef struct {
    void (*close)(lki_topology *);
    /*
     * Finds the servers, before any other function is called. Blocks until the deadline of `reach`.
     * NULL: the URL names the server, or `locate` finds it.
     */
    lk_status (*discover)(lki_topology *, const lki_reach *, lki_error *);
    /* The index of the server that has the keys of this slot. NULL: there is one server, 0. */
    size_t (*server_of)(lki_topology *, unsigned slot);
    /* Whether the server has any slots at present. NULL: as for server_of. */
    bool (*has_slots)(lki_topology *, size_t server);
    /* Adds all slots for which server_of returns this server. NULL: as for server_of. */
    void (*add_slots)(lki_topology *, size_t server, lki_slots *);
    /* Where the server is, for error texts. NULL: the URL says it. */
    void (*address)(lki_topology *, size_t server, char out[LKI_ADDRESS_SIZE]);
    /* The server `from` says that another server has the slot. NULL: as for server_of. LK_NOMEM. */
    lk_status (*redirect)(lki_topology *, size_t from, const lki_redirect *, size_t *server);
    /*
     * Slots have gone from one server to another, by `redirect` or before `remapped` is called.
     * Returns each pair once, in order. False: there is no further one. NULL: as for server_of.
     */
    bool (*take_move)(lki_topology *, size_t *from, size_t *to);
    /* A server does not answer, or refuses: find out soon who has its locks. May be NULL. */
    void (*suspect)(lki_topology *);
    /*
     * Where the server is now. Called before each attempt to connect, on any thread, without the
     * monitor. May block until the deadline of `reach`.
     */
    lk_status (*locate)(lki_topology *, size_t server, const lki_reach *, lki_endpoint *out,
                        lki_error *);
    /*
     * Watches for servers and slots that move, on a thread of its own, until stop_fd is readable;
     * then `unwatch` waits for that thread. All three are NULL if nothing ever moves. LK_NOMEM.
     */
    lk_status (*watch)(lki_topology *, const lki_watcher *, lki_error *);
    void (*unwatch)(lki_topology *);
    void (*close_after_fork)(lki_topology *); /* in a child: only closes the descriptors */
} lki_topology_methods;

/* The first member of every topology. */
struct lki_topology {
    const lki_topology_methods *methods;
    char *shown; /* the URL without the password, for error texts; owned by the topology */
};

typedef struct {
    const char *const *schemes; /* of its URLs: the text before the first colon; ends with NULL */
    lk_status (*open)(const char *url, const char *password, const char *sentinel_password,
                      lki_topology **out, lki_error *);
} lki_topology_kind;

extern const lki_topology_kind lki_topology_single, lki_topology_embedded, lki_topology_sentinel,
    lki_topology_cluster;

/* Whether locks are spread over several servers by the slots of their keys. */
bool lki_topology_is_sharded(const lki_topology *);
/* The slot of a key; 0 if the topology is not sharded. */
unsigned lki_topology_slot(const lki_topology *, const char *key, size_t length);

/*
 * Finds the topology by the scheme of the URL, and opens it. Does not connect. `password` is for
 * the servers, `sentinel_password` for sentinels. Each is used if the URL has none, and may be
 * NULL. LK_INVALID, LK_UNSUPPORTED (a planned scheme), LK_UNAVAILABLE (local: in a private /tmp),
 * LK_NOMEM.
 */
lk_status lki_topology_open(const char *url, const char *password, const char *sentinel_password,
                            lki_topology **out, lki_error *);

#endif
