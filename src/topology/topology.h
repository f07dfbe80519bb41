/* Decides which server has a lock, and where that server is. Each topology has its own file. */
#ifndef LKI_TOPOLOGY_H
#define LKI_TOPOLOGY_H

#include "base/error.h"
#include "net/url.h"

typedef struct lki_topology lki_topology;

typedef struct {
    void (*close)(lki_topology *);
    size_t (*server_count)(const lki_topology *);
    /* The index of the server that has the lock `name`, below server_count. */
    size_t (*server_of)(const lki_topology *, const char *name);
    /*
     * Where the server is now. Called before each attempt to connect, on any thread, without the
     * monitor. May block until deadline_us, or until stop_fd becomes readable (-1: never).
     */
    lk_status (*locate)(lki_topology *, size_t server, int64_t deadline_us, int stop_fd,
                        lki_endpoint *out, lki_error *);
} lki_topology_methods;

/* The first member of every topology. */
struct lki_topology {
    const lki_topology_methods *methods;
    char *shown; /* the URL without the password, for error texts; owned by the topology */
};

typedef struct {
    const char *const *schemes; /* of its URLs: the text before the first colon; ends with NULL */
    lk_status (*open)(const char *url, const char *password, lki_topology **out, lki_error *);
} lki_topology_kind;

extern const lki_topology_kind lki_topology_single, lki_topology_embedded;

/*
 * Finds the topology by the scheme of the URL, and opens it. Does not connect. LK_INVALID,
 * LK_UNSUPPORTED (a planned scheme), LK_UNAVAILABLE (local: in a private /tmp), LK_NOMEM.
 */
lk_status lki_topology_open(const char *url, const char *password, lki_topology **out, lki_error *);

#endif
