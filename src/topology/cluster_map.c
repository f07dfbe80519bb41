/* See cluster_map.h. */
#include "topology/cluster_map.h"

#include "base/memory.h"

#include <string.h>

enum { NOBODY = LKI_NODES_MOST };

void lki_cluster_map_init(lki_cluster_map *map) {
    *map = (lki_cluster_map){0};
    for (size_t i = 0; i < LKI_SLOTS; i++)
        map->owners[i] = NOBODY;
}

void lki_cluster_map_clear(lki_cluster_map *map) {
    for (size_t i = 0; i < map->count; i++) {
        lki_free(map->nodes[i].host);
        lki_free(map->nodes[i].port);
    }
    lki_free(map->nodes);
    lki_free(map->moves);
    *map = (lki_cluster_map){0};
}

static bool add_node(lki_cluster_map *map, const char *host, const char *port) {
    lki_map_node added = {0};
    if (map->count == LKI_NODES_MOST)
        return false;
    lki_map_node *nodes = lki_resize(map->nodes, (map->count + 1) * sizeof *nodes);
    if (!nodes)
        return false;
    map->nodes = nodes;
    if (!lki_copy_to(&added.host, host) || !lki_copy_to(&added.port, port)) {
        lki_free(added.host);
        return false;
    }
    map->nodes[map->count++] = added;
    return true;
}

bool lki_cluster_map_node(lki_cluster_map *map, const char *host, const char *port, size_t *out) {
    size_t i = 0;
    while (i < map->count &&
           (strcmp(map->nodes[i].host, host) != 0 || strcmp(map->nodes[i].port, port) != 0))
        i++;
    if (i == map->count && !add_node(map, host, port))
        return false;
    *out = i;
    return true;
}

/* False: no room. */
static bool note_move(lki_cluster_map *map, unsigned slot, size_t to) {
    size_t from = map->owners[slot];
    if (from == to || from == NOBODY || to == NOBODY)
        return true;
    for (size_t i = map->move_count; i > 0; i--) /* the last first: slots move in ranges */
        if (map->moves[i - 1].from == from && map->moves[i - 1].to == to)
            return true;
    lki_map_move *moves = lki_resize(map->moves, (map->move_count + 1) * sizeof *moves);
    if (!moves)
        return false;
    moves[map->move_count++] = (lki_map_move){from, to};
    map->moves = moves;
    return true;
}

bool lki_cluster_map_take_move(lki_cluster_map *map, lki_map_move *out) {
    if (!map->move_count)
        return false;
    *out = map->moves[0];
    memmove(map->moves, map->moves + 1, --map->move_count * sizeof *map->moves);
    return true;
}

static void set_owner(lki_cluster_map *map, unsigned slot, size_t node) {
    size_t former = map->owners[slot];
    if (former != NOBODY)
        map->nodes[former].slots--;
    if (node != NOBODY)
        map->nodes[node].slots++;
    map->owners[slot] = (uint16_t)node;
}

bool lki_cluster_map_give(lki_cluster_map *map, unsigned slot, size_t node) {
    if (!note_move(map, slot, node))
        return false;
    set_owner(map, slot, node);
    return true;
}

static bool read_view(lki_cluster_map *map, const lki_cluster_view *view,
                      uint16_t owners[LKI_SLOTS]) {
    for (size_t slot = 0; slot < LKI_SLOTS; slot++)
        owners[slot] = NOBODY;
    for (size_t i = 0; i < view->count; i++) {
        const lki_slot_range *range = &view->ranges[i];
        size_t node;
        if (!lki_cluster_map_node(map, range->host, range->port, &node))
            return false;
        for (unsigned slot = range->first; slot <= range->last; slot++)
            owners[slot] = (uint16_t)node;
    }
    return true;
}

bool lki_cluster_map_apply(lki_cluster_map *map, const lki_cluster_view *view, bool *changed) {
    uint16_t owners[LKI_SLOTS];
    if (!read_view(map, view, owners))
        return false;
    for (unsigned slot = 0; slot < LKI_SLOTS; slot++)
        if (!note_move(map, slot, owners[slot]))
            return false;
    *changed = memcmp(map->owners, owners, sizeof owners) != 0;
    for (unsigned slot = 0; slot < LKI_SLOTS; slot++)
        set_owner(map, slot, owners[slot]);
    map->epoch = view->epoch;
    return true;
}

size_t lki_cluster_map_owner(const lki_cluster_map *map, unsigned slot) {
    size_t node = map->owners[slot];
    if (node != NOBODY)
        return node;
    for (node = 0; node < map->count; node++)
        if (map->nodes[node].slots)
            return node;
    return 0;
}

void lki_cluster_map_add_slots(const lki_cluster_map *map, size_t node, lki_slots *slots) {
    for (unsigned slot = 0; slot < LKI_SLOTS; slot++)
        if (lki_cluster_map_owner(map, slot) == node)
            lki_slots_add(slots, slot);
}
