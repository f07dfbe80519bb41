/* Failovers by hand and slots on the move. See cluster.h. */
#include "cluster_private.h"
#include "waiting.h"

#include <stdlib.h>

/* Servers give a manual failover up after 5 s. */
enum { FAILOVER_MOST_MS = 6000, MIGRATE_MOST_MS = 10000, KEYS_AT_ONCE = 100 };

static bool becomes_master(const test_node *node, int64_t limit_ms) {
    int64_t end_ms = test_wait_end(limit_ms);
    while (!test_node_is_master(node))
        if (!test_wait_on(end_ms))
            return false;
    return true;
}

bool test_cluster_fail_over(const test_cluster *cluster, size_t replica, const char *how,
                            int64_t limit_ms) {
    const test_node *node = cluster->members[replica].node;
    int64_t end_ms = test_wait_end(limit_ms);
    do {
        freeReplyObject(how ? test_node_ask(node, "CLUSTER FAILOVER %s", how)
                            : test_node_ask(node, "CLUSTER FAILOVER"));
        if (becomes_master(node, FAILOVER_MOST_MS))
            return true;
    } while (test_wait_on(end_ms));
    return false;
}

/* ------------------------------------------------------------------------------ moving slots */

/* The target first: a client that the source sends there must be let in. */
bool test_cluster_move_begin(const test_cluster *cluster, const test_slot_move *move) {
    const cluster_member *from = &cluster->members[move->from], *to = &cluster->members[move->to];
    return test_node_tell(to->node, "CLUSTER SETSLOT %d IMPORTING %s", move->slot, from->id) &&
           test_node_tell(from->node, "CLUSTER SETSLOT %d MIGRATING %s", move->slot, to->id);
}

bool test_cluster_move_key(const test_cluster *cluster, const test_slot_move *move, const char *key,
                           size_t length) {
    const test_node *from = cluster->members[move->from].node;
    int port = test_node_port(cluster->members[move->to].node);
    if (cluster->password)
        return test_node_tell(from, "MIGRATE 127.0.0.1 %d %b 0 %d AUTH %s", port, key, length,
                              MIGRATE_MOST_MS, cluster->password);
    return test_node_tell(from, "MIGRATE 127.0.0.1 %d %b 0 %d", port, key, length, MIGRATE_MOST_MS);
}

/* Returns how many keys it has moved; -1: a server has refused. */
static int move_some_keys(const test_cluster *cluster, const test_slot_move *move) {
    redisReply *keys = test_node_ask(cluster->members[move->from].node,
                                     "CLUSTER GETKEYSINSLOT %d %d", move->slot, KEYS_AT_ONCE);
    int moved = keys && keys->type == REDIS_REPLY_ARRAY ? 0 : -1;
    for (size_t i = 0; moved >= 0 && i < keys->elements; i++) {
        const redisReply *key = keys->element[i];
        moved = test_cluster_move_key(cluster, move, key->str, key->len) ? moved + 1 : -1;
    }
    freeReplyObject(keys);
    return moved;
}

bool test_cluster_move_keys(const test_cluster *cluster, const test_slot_move *move) {
    for (;;) {
        int moved = move_some_keys(cluster, move);
        if (moved <= 0)
            return moved == 0;
    }
}

static bool tell_owner(const test_cluster *cluster, int teller, const test_slot_move *move) {
    return test_node_tell(cluster->members[teller].node, "CLUSTER SETSLOT %d NODE %s", move->slot,
                          cluster->members[move->to].id);
}

/* The target first: otherwise the source sends clients to a node that sends them back. */
bool test_cluster_move_end(const test_cluster *cluster, const test_slot_move *move) {
    if (!tell_owner(cluster, move->to, move) || !tell_owner(cluster, move->from, move))
        return false;
    for (int i = 0; i < (int)cluster->count; i++)
        if (i != move->to && i != move->from && cluster_member_counts(cluster, (size_t)i) &&
            test_node_is_master(cluster->members[i].node) && !tell_owner(cluster, i, move))
            return false;
    return true;
}

bool test_cluster_move_slot(const test_cluster *cluster, int slot, int to) {
    test_slot_move move = {.slot = slot, .from = test_cluster_owner(cluster, slot), .to = to};
    return move.from == to ||
           (move.from >= 0 && test_cluster_move_begin(cluster, &move) &&
            test_cluster_move_keys(cluster, &move) && test_cluster_move_end(cluster, &move));
}
