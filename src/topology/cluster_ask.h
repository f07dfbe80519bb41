/* Asks a node of a cluster who has which slots. Knows no session. */
#ifndef LKI_CLUSTER_ASK_H
#define LKI_CLUSTER_ASK_H

#include "net/greet.h"
#include "topology/topology.h"

/* Slots from first to last, and the master that has them. */
typedef struct {
    unsigned first, last;
    char *host, *port;
} lki_slot_range;

/* The cluster, as one of its nodes sees it. */
typedef struct {
    lki_slot_range *ranges;
    size_t count;
    uint64_t epoch; /* rises when a slot gets another master; 0: the node did not tell */
    bool is_ok;     /* the node says that the cluster works */
} lki_cluster_view;

void lki_cluster_view_clear(lki_cluster_view *);

/*
 * LK_UNSUPPORTED (not a node of a cluster), LK_DENIED, LK_UNAVAILABLE, LK_INVALID (a TLS file),
 * LK_CANCELED for stop_fd, LK_NOMEM, LK_INTERNAL (an error or an answer that latchkey does not
 * know).
 */
lk_status lki_cluster_ask(const lki_endpoint *node, const lki_reach *, _Atomic int *fd_seen,
                          lki_cluster_view *out, lki_error *);

#endif
