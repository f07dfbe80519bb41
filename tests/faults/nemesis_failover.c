/*
 * Faults of sites with several servers: the master dies, stops, is cut off or gives up its role, and
 * a replica takes its place; or a slot of a cluster moves. Each ends when the site is settled again.
 */
#include "draw.h"
#include "nemesis.h"
#include "test_memory.h"
#include "waiting.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LAG_LEAST_MS = 200, LAG_MOST_MS = 500, SERVERS_MOST = 32 };

static test_node *target_of(const attack *self) {
    return site_node(self->servers, (size_t)self->target);
}

/* Whether this server is a replica of the target. The target must run. */
static bool is_its_replica(const attack *self, size_t server) {
    test_role role;
    return test_node_get_role(site_node(self->servers, server), &role) && !role.is_master &&
           role.master_port == test_node_port(target_of(self));
}

static bool is_master(const attack *self, size_t server) {
    return test_node_is_master(site_node(self->servers, server));
}

static int slot_of(const char *lock) {
    char *key = test_print("lk:{%s}", lock);
    int slot = test_key_slot(key, strlen(key));
    free(key);
    return slot;
}

/* Aims at a master that shall be replaced. */
static bool prepare(attack *self) {
    if (!attack_aim(self))
        return false;
    self->move.slot = slot_of(self->lock);
    self->masters = 0;
    for (size_t i = 0; i < site_server_count(self->servers); i++)
        self->masters |= (unsigned)is_master(self, i) << i;
    return true;
}

static void note_successor(attack *self, size_t server) {
    self->successor = (int)server;
    self->served_ns = history_now_ns();
}

/* Waits until a server that was none is a master. */
static bool has_successor(attack *self) {
    for (int64_t end_ms = test_wait_end(ATTACK_MOST_MS); test_wait_on(end_ms);)
        for (size_t i = 0; i < site_server_count(self->servers); i++)
            if (!(self->masters >> i & 1) && is_master(self, i)) {
                note_successor(self, i);
                return true;
            }
    return false;
}

/* Waits until the others agree that another server than the target has its role. */
static bool is_replaced(attack *self) {
    test_cluster *cluster = site_cluster(self->servers);
    if (!has_successor(self))
        return false;
    if (!cluster)
        return test_sentinels_wait_for_other_master(site_sentinels(self->servers), self->target,
                                                    ATTACK_MOST_MS) >= 0;
    return test_cluster_wait_for_other_owner(cluster, self->move.slot, self->target,
                                             ATTACK_MOST_MS) >= 0;
}

/* ------------------------------------------------------------------------------ death */

bool master_kill(attack *self) {
    if (!prepare(self))
        return false;
    test_node_kill(target_of(self));
    return is_replaced(self);
}

bool master_revive(attack *self) {
    return test_node_restart(target_of(self)) && attack_settle(self);
}

/* From some instant on, the replicas learn nothing more; then the master dies. */
bool master_lag_and_kill(attack *self) {
    bool paused[SERVERS_MOST] = {false};
    if (!prepare(self))
        return false;
    for (size_t i = 0; i < site_server_count(self->servers); i++)
        paused[i] = is_its_replica(self, i);
    for (size_t i = 0; i < site_server_count(self->servers); i++)
        if (paused[i])
            test_node_pause(site_node(self->servers, i));
    /* What is in the socket of a paused replica would still arrive; what follows does not. */
    bool cut = site_tell(self->servers, (size_t)self->target, "CLIENT KILL TYPE replica");
    usleep((useconds_t)(LAG_LEAST_MS + draw(&self->seed, LAG_MOST_MS - LAG_LEAST_MS)) * 1000);
    test_node_kill(target_of(self));
    for (size_t i = 0; i < site_server_count(self->servers); i++)
        if (paused[i])
            test_node_continue(site_node(self->servers, i));
    return cut && is_replaced(self);
}

/* ------------------------------------------------------------------------------ stopping */

bool master_stop(attack *self) {
    if (!prepare(self))
        return false;
    test_node_pause(target_of(self));
    return is_replaced(self);
}

/* It says for a moment that it is the master still. */
bool master_resume(attack *self) {
    test_node_continue(target_of(self));
    return attack_settle(self);
}

bool replica_stop(attack *self) {
    if (!attack_aim(self))
        return false;
    for (size_t i = 0; i < site_server_count(self->servers); i++)
        if (is_its_replica(self, i)) {
            self->target = (int)i;
            test_node_pause(target_of(self));
            return true;
        }
    return false;
}

bool replica_continue(attack *self) {
    test_node_continue(target_of(self));
    return attack_settle(self);
}

/* ------------------------------------------------------------------------------ on request */

bool failover_on_request(attack *self) {
    test_cluster *cluster = site_cluster(self->servers);
    if (!prepare(self))
        return false;
    if (!cluster)
        return test_sentinels_fail_over(site_sentinels(self->servers), 0, ATTACK_MOST_MS) &&
               is_replaced(self);
    int replica = test_cluster_replica_of(cluster, self->target);
    if (replica < 0 ||
        !test_cluster_fail_over(cluster, (size_t)replica, NULL, ATTACK_MOST_MS))
        return false;
    /* Redis 7.0 may count votes of an earlier failover. Then the replica is the master only for a
     * moment, so nobody waits until the others agree. */
    note_successor(self, (size_t)replica);
    return true;
}

/* The clocks of the other servers step first, so that the next master has another time. */
bool failover_with_other_clock(attack *self) {
    if (!attack_aim(self))
        return false;
    for (size_t i = 0; i < site_server_count(self->servers); i++)
        if ((int)i != self->target)
            test_server_step_clock(site_server(self->servers, i),
                                   1000 * (int64_t)(draw(&self->seed, 1000) - 500));
    return failover_on_request(self);
}

bool failover_done(attack *self) {
    return attack_settle(self);
}

/* ------------------------------------------------------------------------------ a partition */

/*
 * The master refuses all but the user of the clients: the sentinels and the replicas lose it, and
 * the clients do not. It needs no rights on the machine, as network namespaces would.
 */
bool master_isolate(attack *self) {
    if (!prepare(self))
        return false;
    size_t master = (size_t)self->target;
    return site_tell(self->servers, master, "ACL SETUSER default off") &&
           site_tell(self->servers, master, "CLIENT KILL USER default") &&
           site_tell(self->servers, master, "CLIENT KILL TYPE replica") && is_replaced(self);
}

bool master_rejoin(attack *self) {
    return site_tell(self->servers, (size_t)self->target, "ACL SETUSER default on") &&
           attack_settle(self);
}

/* ------------------------------------------------------------------------------ slots */

static int draw_other_master(attack *self) {
    int count = (int)site_server_count(self->servers), first = draw(&self->seed, count);
    for (int i = 0; i < count; i++)
        if ((first + i) % count != self->target && is_master(self, (size_t)((first + i) % count)))
            return (first + i) % count;
    return -1;
}

/* The slot of one of the locks. */
bool slot_leaves(attack *self) {
    if (!attack_aim(self))
        return false;
    self->move = (test_slot_move){.slot = slot_of(self->lock),
                                  .from = self->target,
                                  .to = draw_other_master(self)};
    return self->move.from >= 0 && self->move.to >= 0 &&
           test_cluster_move_begin(site_cluster(self->servers), &self->move);
}

bool slot_arrives(attack *self) {
    test_cluster *cluster = site_cluster(self->servers);
    return test_cluster_move_keys(cluster, &self->move) &&
           test_cluster_move_end(cluster, &self->move) && attack_settle(self);
}
