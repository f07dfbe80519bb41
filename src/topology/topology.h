/* Decides which server has a lock, and where that server is. Each topology has its own file. */
#ifndef LKI_TOPOLOGY_H
#define LKI_TOPOLOGY_H

#include "base/error.h"
#include "net/transport.h"

typedef struct lki_topology lki_topology;

/* Who wants to know that a server has moved. */
typedef struct {
    lki_tls_files tls; /* valid as long as the topology watches */
    int stop_fd;       /* readable: stop */
    /* Called on a thread of the topology. run_id: of the server that is there now; "": unknown. */
    void (*moved)(void *context, size_t server, const char *run_id);
    void *context;
} lki_watcher;

typedef struct {
    void (*close)(lki_topology *);
    size_t (*server_count)(const lki_topology *);
    /* The index of the server that has the lock `name`, below server_count. */
    size_t (*server_of)(const lki_topology *, const char *name);
    /*
     * Where the server is now. Called before each attempt to connect, on any thread, without the
     * monitor. May block until the deadline of `reach`.
     */
    lk_status (*locate)(lki_topology *, size_t server, const lki_reach *, lki_endpoint *out,
                        lki_error *);
    /*
     * Watches for servers that move, on a thread of its own, until stop_fd is readable; then
     * `unwatch` waits for that thread. All three are NULL if the servers never move. LK_NOMEM.
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

extern const lki_topology_kind lki_topology_single, lki_topology_embedded, lki_topology_sentinel;

/*
 * Finds the topology by the scheme of the URL, and opens it. Does not connect. `password` is for
 * the servers, `sentinel_password` for sentinels. Each is used if the URL has none, and may be
 * NULL. LK_INVALID, LK_UNSUPPORTED (a planned scheme), LK_UNAVAILABLE (local: in a private /tmp),
 * LK_NOMEM.
 */
lk_status lki_topology_open(const char *url, const char *password, const char *sentinel_password,
                            lki_topology **out, lki_error *);

#endif
