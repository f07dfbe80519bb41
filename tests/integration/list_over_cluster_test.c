/*
 * lk_list on a cluster, while masters fail. The locks of a failed master are listed by the node that
 * replaces it.
 */
#include "cluster.h"
#include "world.h"

enum { FAILOVER_MS = 60000, LEASE_MS = 120000, NODES = 3 };

static test_cluster *cluster;

static void stop_cluster(void) {
    test_cluster_stop(cluster);
    cluster = NULL;
}

static void start_cluster(const test_cluster_options *options) {
    cluster = test_cluster_start(options);
    assert_non_null(cluster);
    run_after_closing(stop_cluster);
}

/* A busy machine must not look like a master that is down. */
static void with_replicas(void) {
    start_cluster(&(test_cluster_options){.node_timeout_ms = 3000});
}

static void masters_alone(void) {
    start_cluster(
        &(test_cluster_options){.masters = NODES, .replicas = 0, .node_timeout_ms = 60000});
}

static lk_client *open_at_cluster(int64_t command_timeout_ms) {
    return open_client_url(test_cluster_url(cluster),
                           &(lk_client_options){.command_timeout_ms = command_timeout_ms});
}

static test_node *node_at(int index) {
    return test_cluster_node(cluster, (size_t)index);
}

static char *address_of(int index) {
    return world_print("127.0.0.1:%d", test_node_port(node_at(index)));
}

static int owner_of(const char *name) {
    char *key = world_print("lk:{%s}", name);
    int owner = test_cluster_key_owner(cluster, key, strlen(key));
    assert_true(owner >= 0);
    return owner;
}

/* ------------------------------------------------------------------------------ locks to list */

enum { LOCKS = 12 }; /* "n0" to "n11": some on each node */

static void hold_locks(void) {
    bool used[NODES] = {false};
    lk_client *client = open_at_cluster(FAILOVER_MS);
    for (int i = 0; i < LOCKS; i++) {
        char *name = world_print("n%d", i);
        int owner = owner_of(name);
        if (owner < NODES)
            used[owner] = true;
        assert_ok(lk_wrlock(new_leased_lock(client, name, LEASE_MS)));
    }
    for (int node = 0; node < NODES; node++)
        assert_true(used[node]);
}

/* Until the replica of each master has what the master has. */
static void replicate(void) {
    for (int i = 0; i < LOCKS; i++) {
        redisContext *context = test_node_connect(node_at(owner_of(world_print("n%d", i))));
        freeReplyObject(redisCommand(context, "SET replicated:{n%d} yes", i));
        freeReplyObject(redisCommand(context, "DEL replicated:{n%d}", i));
        redisReply *reply = redisCommand(context, "WAIT 1 %d", FAILOVER_MS);
        assert_non_null(reply);
        assert_int_equal(reply->integer, 1);
        freeReplyObject(reply);
        redisFree(context);
    }
}

static bool count_name(const char *name, void *arg) {
    int *counts = arg;
    long number = *name == 'n' ? strtol(name + 1, NULL, 10) : LOCKS;
    counts[number < LOCKS ? number : LOCKS]++;
    return true;
}

static void assert_all_listed(lk_client *client) {
    int counts[LOCKS + 1] = {0}; /* the last one: other names */
    assert_ok(lk_list(client, NULL, count_name, counts));
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(counts[i], 1);
    assert_int_equal(counts[LOCKS], 0);
}

/* ------------------------------------------------------------------------------ failover */

TEST_WITH(with_replicas, all_locks_are_listed_after_a_master_was_killed) {
    lk_client *client = open_at_cluster(FAILOVER_MS);
    hold_locks();
    replicate();
    assert_all_listed(client); /* so it is connected to all masters */
    test_node_kill(node_at(owner_of("n0")));
    assert_all_listed(client);
}

/* Its map has the node that was killed, and it has never been connected to that node. */
TEST_WITH(with_replicas, all_locks_are_listed_by_a_client_that_never_reached_the_failed_master) {
    lk_client *client = open_at_cluster(FAILOVER_MS);
    hold_locks();
    replicate();
    test_node_kill(node_at(owner_of("n0")));
    assert_all_listed(client);
}

TEST_WITH(with_replicas, all_locks_are_listed_while_a_master_is_stopped) {
    lk_client *client = open_at_cluster(FAILOVER_MS);
    hold_locks();
    replicate();
    assert_all_listed(client);
    test_node_pause(node_at(owner_of("n0")));
    assert_all_listed(client);
}

/* ------------------------------------------------------------------------------ no failover */

static void assert_list_names(lk_client *client, const char *address) {
    int counts[LOCKS + 1] = {0};
    assert_status(lk_list(client, NULL, count_name, counts), LK_UNAVAILABLE);
    assert_said("list on redis+cluster://");
    assert_said(world_print(": %s: ", address));
    for (int i = 0; i <= LOCKS; i++)
        assert_int_equal(counts[i], 0);
}

TEST_WITH(masters_alone, a_list_that_a_killed_master_makes_impossible_names_the_node) {
    lk_client *client = open_at_cluster(1000);
    hold_locks();
    test_node_kill(node_at(1));
    assert_list_names(client, address_of(1));
}

TEST_WITH(masters_alone, a_list_that_a_stopped_master_makes_impossible_names_the_node) {
    lk_client *client = open_at_cluster(1000);
    hold_locks();
    assert_all_listed(client);
    test_node_pause(node_at(1));
    assert_list_names(client, address_of(1));
    test_node_continue(node_at(1));
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
