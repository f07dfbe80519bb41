/*
 * A cluster of real servers, on 127.0.0.1 or at places of a network: masters that share the slots
 * evenly, and their replicas.
 *
 * Nodes are numbered from 0: first the masters, then the replicas, then the nodes that a test adds.
 * The first replica belongs to the first master, and so on in turn. A failover changes these roles.
 * Nodes may start one that no test asked for: a machine that stalls for `node_timeout_ms` is
 * enough. So a test asks who has a slot, and a test that allows no failover takes a long
 * `node_timeout_ms`. No function waits for a node that is killed or paused.
 *
 * Replicas stay with their master (cluster-allow-replica-migration is off). The servers must know
 * --cluster-port: version 7.0 or later.
 */
#ifndef TEST_CLUSTER_H
#define TEST_CLUSTER_H

#include "key_slot.h"
#include "node.h"

#include <stdint.h>

typedef struct test_cluster test_cluster;

typedef struct {
    const char *program;               /* default: test_server_any() */
    size_t masters, replicas;          /* default: 3 and 3; masters alone: 3 and 0 */
    int node_timeout_ms;               /* default: 1000 */
    const char *password;              /* default: none */
    const char *const *server_options; /* further words of their command lines, ended by NULL */
    bool keeps_data;                   /* with an append-only file; default: no */
    bool tls;                          /* all use it; certificates_make() comes first */
    bool clocks;                       /* test_server_step_clock() can step those of the nodes */
    /* Node 0 is at place 0, all others are at place 1; default: 127.0.0.1. */
    const test_places *places;
} test_cluster_options;

/*
 * Returns when the cluster is settled: see test_cluster_wait_until_settled. NULL when that fails,
 * after saying why on stderr. `options` may be NULL.
 */
test_cluster *test_cluster_start(const test_cluster_options *options);
void test_cluster_stop(test_cluster *); /* NULL is fine */

size_t test_cluster_count(const test_cluster *);
test_node *test_cluster_node(const test_cluster *, size_t node);
const char *test_cluster_id(const test_cluster *, size_t node);

/*
 * "redis+cluster://127.0.0.1:PORT,…" with all nodes of the start, without a password; with TLS,
 * "rediss+cluster://…".
 */
const char *test_cluster_url(const test_cluster *);

/* ------------------------------------------------------------------------------ looking */

/*
 * The running node that says itself that it is the master of the slot; -1: none. When two nodes say
 * so, the one with the higher epoch is right: the other has missed a failover.
 */
int test_cluster_owner(const test_cluster *, int slot);
int test_cluster_key_owner(const test_cluster *, const char *key, size_t length);

/* The first running replica that is in sync with this master; -1: none. */
int test_cluster_replica_of(const test_cluster *, int master);

/* Waits until another node than `former` has the slot. Returns that node; -1: none. */
int test_cluster_wait_for_other_owner(const test_cluster *, int slot, int former, int64_t limit_ms);

/*
 * Waits until all running nodes say that the cluster is ok, know all nodes that have joined, and
 * agree on the owner of each slot, and until all replicas among them are in sync.
 */
bool test_cluster_wait_until_settled(const test_cluster *, int64_t limit_ms);

/* ------------------------------------------------------------------------------ failover */

/*
 * Sends CLUSTER FAILOVER to a replica, and again each time the servers give up, until the replica
 * is a master. `how`: NULL, "FORCE" or "TAKEOVER". Other nodes may hear of it later.
 */
bool test_cluster_fail_over(const test_cluster *, size_t replica, const char *how,
                            int64_t limit_ms);

/* ------------------------------------------------------------------------------ moving slots */

typedef struct {
    int slot, from, to;
} test_slot_move;

/* These return false when a server refuses, after saying why on stderr. */

/* From now on the source sends clients to the target for keys that it lacks (ASK). */
bool test_cluster_move_begin(const test_cluster *, const test_slot_move *);
/* Moves one key, or all keys that the source still has. A key that is gone counts as moved. */
bool test_cluster_move_key(const test_cluster *, const test_slot_move *, const char *key,
                           size_t length);
bool test_cluster_move_keys(const test_cluster *, const test_slot_move *);
/* Gives the slot to the target: first there, then at the source, then at all other masters. */
bool test_cluster_move_end(const test_cluster *, const test_slot_move *);

/* Moves the slot with all its keys, from its present owner. */
bool test_cluster_move_slot(const test_cluster *, int slot, int to);

/* ------------------------------------------------------------------------------ nodes */

/*
 * Starts one more node and waits until the cluster is settled with it. It is a replica of `master`,
 * or, if that is -1, a master without slots. Returns its number; -1: that failed.
 */
int test_cluster_add_node(test_cluster *, int master, int64_t limit_ms);

/*
 * Makes all running nodes forget this one, and this one all others. The node keeps running, alone;
 * it may also have been killed before. A master must have no slots, keys or replicas left. False
 * when a node refuses, after saying why on stderr.
 */
bool test_cluster_forget_node(test_cluster *, size_t node);

#endif
