/*
 * The servers of a round behind one interface: one server, a master with replicas and sentinels, or
 * a cluster. All are real servers, and end with this program. Knows no workers and no faults.
 */
#ifndef FAULTS_SITE_H
#define FAULTS_SITE_H

#include "cluster.h"
#include "proxy.h"
#include "sentinels.h"
#include "server.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bit each, so that a fault can name the topologies that it fits. */
typedef enum { SITE_SINGLE = 1, SITE_SENTINEL = 2, SITE_CLUSTER = 4 } site_kind;
enum { SITE_FAILS_OVER = SITE_SENTINEL | SITE_CLUSTER, SITE_ANY = SITE_FAILS_OVER | SITE_SINGLE };

typedef struct {
    const char *fsync; /* appendfsync of the servers; "none": they keep no data */
    bool clock;        /* the clocks of the servers can be stepped */
    /*
     * Clients log in as a user of their own, so that a fault can shut out replicas and sentinels
     * without them. A server that is restarted does not know that user.
     */
    bool login;
} site_needs;

typedef struct site site;

/* NULL: it does not start. It has said why on stderr. */
site *site_start(site_kind, site_needs);
bool site_has(const site *, site_kind, site_needs); /* whether it is such a site */
void site_stop(site *);                             /* NULL is fine */

const char *site_kind_name(site_kind);
site_kind site_get_kind(const site *);
size_t site_replicas(const site *); /* of each master */

/* The URL for a client. Every second client of a single server is behind the proxy. */
const char *site_url(const site *, unsigned client);

/*
 * Waits until the servers are as at the start: all run, replicas are in sync, sentinels and nodes
 * agree. False: they are not, by then.
 */
bool site_wait_until_settled(site *, int64_t limit_ms);

/* The parts. NULL where this kind of site does not have them. */
proxy *site_proxy(const site *);
test_sentinels *site_sentinels(const site *);
test_cluster *site_cluster(const site *);

/* All servers that have data, sentinels not included. */
size_t site_server_count(const site *);
test_server *site_server(const site *, size_t);

/* The server that now has the lock with this name; -1: none. And its node, if it is one. */
int site_owner(const site *, const char *lock);
test_node *site_node(const site *, size_t server);

/* Differs after each failover, also after one that nobody asked for. */
int64_t site_generation(const site *);

/*
 * For servers whose clocks can be stepped: sets all to the one that is farthest ahead, or to the
 * machine's clock. A lock keeps its token until the clock of its server has passed it.
 */
void site_align_clocks(const site *);

/* Sends a command, in the format of redisCommand(). NULL: no answer. The caller frees it. */
redisReply *site_ask(const site *, size_t server, const char *format, ...);
/* The same. False: there is no answer or it is an error, which is printed on stderr. */
bool site_tell(const site *, size_t server, const char *format, ...);

#endif
