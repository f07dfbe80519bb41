/* Which server has a lock, and where that server is now. Each topology has a file of its own. */
#ifndef LKI_TOPOLOGY_H
#define LKI_TOPOLOGY_H

#include "base/error.h"
#include "net/url.h"

typedef struct lki_topology lki_topology;

typedef struct {
    void (*close)(lki_topology *);
    size_t (*server_count)(const lki_topology *);
    size_t (*server_of)(const lki_topology *, const char *name); /* below server_count */
    /*
     * Where a server is at this moment; asked before each attempt to connect, from any thread, and
     * may block until deadline_us or until stop_fd becomes readable (-1: never).
     */
    lk_status (*locate)(lki_topology *, size_t server, int64_t deadline_us, int stop_fd,
                        lki_endpoint *out, lki_error *);
} lki_topology_methods;

/* The first member of every topology. */
struct lki_topology {
    const lki_topology_methods *methods;
    char *shown; /* the URL for people, without secrets; the topology's own */
};

typedef struct {
    const char *const *schemes; /* what stands before the first colon of a URL; ended by NULL */
    lk_status (*open)(const char *url, const char *password, lki_topology **out, lki_error *);
} lki_topology_kind;

extern const lki_topology_kind lki_topology_single, lki_topology_embedded;

/* Finds the topology by the URL's scheme, and opens it; connects to nobody. */
lk_status lki_topology_open(const char *url, const char *password, lki_topology **out, lki_error *);

#endif
