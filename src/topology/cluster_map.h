/*
 * Which node of a cluster has which slot. A node keeps its index as long as the map exists, also
 * when it has left the cluster. Not safe for several threads at once.
 */
#ifndef LKI_CLUSTER_MAP_H
#define LKI_CLUSTER_MAP_H

#include "topology/cluster_ask.h"
#include "topology/slot.h"

typedef struct {
    char *host, *port;
    unsigned slots; /* how many it has */
} lki_map_node;

/* Slots went from one node to another. */
typedef struct {
    size_t from, to;
} lki_map_move;

typedef struct {
    lki_map_node *nodes;
    size_t count;
    lki_map_move *moves; /* those that lki_cluster_map_take_move() has not returned, each once */
    size_t move_count;
    uint16_t owners[LKI_SLOTS]; /* indexes of nodes; LKI_NODES_MOST: nobody */
    uint64_t epoch;             /* of the newest view that was applied */
} lki_cluster_map;

void lki_cluster_map_init(lki_cluster_map *);
void lki_cluster_map_clear(lki_cluster_map *);

/* The index of the node at this address, which is added if it is new. False: no room. */
bool lki_cluster_map_node(lki_cluster_map *, const char *host, const char *port, size_t *out);

/* Gives a slot to a node. False: no room. */
bool lki_cluster_map_give(lki_cluster_map *, unsigned slot, size_t node);

/* Makes the map the same as the view. *changed: a slot has another owner. False: no room. */
bool lki_cluster_map_apply(lki_cluster_map *, const lki_cluster_view *, bool *changed);

/* Removes the first of the moves. False: there is none. */
bool lki_cluster_map_take_move(lki_cluster_map *, lki_map_move *out);

/* The owner of a slot. If nobody has it: a node that has others, and that will say so. */
size_t lki_cluster_map_owner(const lki_cluster_map *, unsigned slot);

/* Adds all slots whose owner is this node. */
void lki_cluster_map_add_slots(const lki_cluster_map *, size_t node, lki_slots *);

#endif
