/*
 * The text of CLUSTER NODES, which every version of a server has: who is in the cluster, and which
 * slots each has. Handles text only.
 */
#ifndef LKI_CLUSTER_NODES_H
#define LKI_CLUSTER_NODES_H

#include "topology/slot.h"

#include <stdbool.h>

/* A line. All texts are parts of the text that was given. */
typedef struct {
    const char *id;
    const char *ip;   /* "": the node does not know its own address yet */
    const char *name; /* the host name that it announces; "": none */
    const char *port;
    const char *master; /* of a replica: the id of its master */
    bool is_self;       /* the node that was asked */
    bool is_replica;
    bool is_down;      /* the cluster counts it as failed, suspects it, or has no address of it */
    const char *slots; /* for the functions below */
} lki_cluster_node;

/* Reads the next line of *rest, and changes the text. False: there is none. */
bool lki_cluster_nodes_next(char **rest, lki_cluster_node *out);

/* Reads the next range of slots. False: there is none. */
bool lki_cluster_slots_next(const char **slots, unsigned *first, unsigned *last);

/* How many slots move, as the node that was asked sees it. Other nodes do not know of its moves. */
size_t lki_cluster_slots_open(const char *slots);

#endif
