/* tests/support/cluster.c: several servers that form a cluster. */
#include "cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    LONG_MS = 60000,
    PATIENT_MS = 30000, /* a node timeout that no slow machine exceeds */
    PROGRAM_SECONDS = 600,
    KEYS = 20
};

static test_cluster *start(const test_cluster_options *options) {
    test_cluster *cluster = test_cluster_start(options);
    assert_non_null(cluster);
    return cluster;
}

static test_node *node_at(const test_cluster *cluster, int node) {
    assert_true(node >= 0);
    return test_cluster_node(cluster, (size_t)node);
}

static int slot_of(const char *key) {
    return test_key_slot(key, strlen(key));
}

static int owner_of(const test_cluster *cluster, const char *key) {
    return test_cluster_key_owner(cluster, key, strlen(key));
}

static void assert_error(const test_node *node, const char *error, const char *command) {
    redisReply *reply = test_node_ask(node, command);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    assert_memory_equal(reply->str, error, strlen(error));
    freeReplyObject(reply);
}

static long long integer(const test_node *node, const char *command) {
    redisReply *reply = test_node_ask(node, command);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    long long value = reply->integer;
    freeReplyObject(reply);
    return value;
}

/* ---------------------------------------------------------------------------- without failover */

static test_cluster *shared;

static int start_shared(void **state) {
    (void)state;
    shared = test_cluster_start(&(test_cluster_options){
        .masters = 3, .replicas = 3, .node_timeout_ms = PATIENT_MS, .password = "secret"});
    return shared ? 0 : -1;
}

static int stop_shared(void **state) {
    (void)state;
    test_cluster_stop(shared);
    return 0;
}

static void keys_are_where_their_slots_are(void **state) {
    (void)state;
    for (int i = 0; i < KEYS; i++) {
        char key[32], set[64];
        snprintf(key, sizeof key, "key-%d", i);
        snprintf(set, sizeof set, "SET %s 1", key);
        int owner = owner_of(shared, key);
        assert_true(test_node_tell(node_at(shared, owner), set));
        assert_error(node_at(shared, (owner + 1) % 3), "MOVED", set);
    }
}

static void a_slot_is_the_one_that_servers_compute(void **state) {
    (void)state;
    const char *const keys[] = {"foo",   "123456789", "{user}.a", "foo{}{bar}",  "foo{{bar}}zap",
                                "{}",    "{a",        "a}b{c}",   "foo{bar}{z}", "}{",
                                "\xff{", "x{\xfe}y",  "{}{a}"};
    assert_int_equal(slot_of("123456789"), 0x31c3);
    assert_int_equal(slot_of(""), 0);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        redisReply *reply = test_node_ask(test_cluster_node(shared, 0), "CLUSTER KEYSLOT %b",
                                          keys[i], strlen(keys[i]));
        assert_non_null(reply);
        assert_int_equal(slot_of(keys[i]), reply->integer);
        freeReplyObject(reply);
    }
}

static void each_master_has_a_replica_and_an_id(void **state) {
    (void)state;
    assert_int_equal(test_cluster_count(shared), 6);
    for (int i = 0; i < 3; i++) {
        assert_true(test_node_is_master(node_at(shared, i)));
        assert_int_equal(test_cluster_replica_of(shared, i), i + 3);
        assert_int_equal(test_cluster_owner(shared, i * 5461 + 10), i);
    }
    assert_string_not_equal(test_cluster_id(shared, 0), test_cluster_id(shared, 1));
}

static void the_url_names_the_nodes(void **state) {
    (void)state;
    char first[64];
    snprintf(first, sizeof first, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d,",
             test_node_port(test_cluster_node(shared, 0)),
             test_node_port(test_cluster_node(shared, 1)));
    assert_memory_equal(test_cluster_url(shared), first, strlen(first));
    redisContext *link = redisConnect("127.0.0.1", test_node_port(test_cluster_node(shared, 5)));
    redisReply *reply = redisCommand(link, "PING");
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    assert_memory_equal(reply->str, "NOAUTH", 6);
    freeReplyObject(reply);
    redisFree(link);
}

static void a_slot_moves_step_by_step(void **state) {
    (void)state;
    test_slot_move move = {.slot = slot_of("{t}"), .from = owner_of(shared, "{t}")};
    move.to = (move.from + 1) % 3;
    test_node *from = node_at(shared, move.from), *to = node_at(shared, move.to);
    assert_true(test_node_tell(from, "MSET {t}a 1 {t}b 2 {t}c 3"));

    assert_true(test_cluster_move_begin(shared, &move));
    assert_true(test_cluster_move_key(shared, &move, "{t}a", 4));
    assert_error(from, "ASK", "GET {t}a");
    assert_error(from, "TRYAGAIN", "MGET {t}a {t}b");
    assert_int_equal(integer(from, "EXISTS {t}b"), 1);
    assert_error(to, "MOVED", "GET {t}a");

    assert_true(test_cluster_move_keys(shared, &move));
    assert_int_equal(test_cluster_owner(shared, move.slot), move.from);
    assert_true(test_cluster_move_end(shared, &move));
    assert_int_equal(integer(to, "EXISTS {t}a {t}b {t}c"), 3);
    assert_error(from, "MOVED", "GET {t}a");
    assert_true(test_cluster_wait_until_settled(shared, LONG_MS));
    assert_int_equal(test_cluster_owner(shared, move.slot), move.to);
}

static void a_slot_moves_at_once(void **state) {
    (void)state;
    int from = owner_of(shared, "{u}"), to = (from + 1) % 3;
    for (int i = 0; i < KEYS * 10; i++)
        assert_true(test_node_tell(node_at(shared, from), "SET {u}%d 1", i));
    assert_true(test_cluster_move_slot(shared, slot_of("{u}"), to));
    assert_int_equal(owner_of(shared, "{u}"), to);
    redisReply *reply =
        test_node_ask(node_at(shared, to), "CLUSTER COUNTKEYSINSLOT %d", slot_of("{u}"));
    assert_non_null(reply);
    assert_int_equal(reply->integer, KEYS * 10);
    freeReplyObject(reply);
    assert_true(test_cluster_wait_until_settled(shared, LONG_MS));
}

static void a_node_joins_gets_a_slot_and_leaves(void **state) {
    (void)state;
    int slot = slot_of("{j}"), owner = test_cluster_owner(shared, slot);
    assert_true(test_node_tell(node_at(shared, owner), "SET {j} 1"));
    int node = test_cluster_add_node(shared, -1, LONG_MS);
    assert_true(node >= 0);
    assert_true(test_cluster_move_slot(shared, slot, node));
    assert_int_equal(integer(node_at(shared, node), "EXISTS {j}"), 1);
    assert_true(test_cluster_move_slot(shared, slot, owner));
    assert_true(test_cluster_wait_until_settled(shared, LONG_MS));
    assert_true(test_cluster_forget_node(shared, (size_t)node));
    assert_true(test_cluster_wait_until_settled(shared, LONG_MS));
    assert_error(node_at(shared, node), "CLUSTERDOWN", "GET {j}");
}

static void a_replica_joins_and_leaves(void **state) {
    (void)state;
    int node = test_cluster_add_node(shared, 1, LONG_MS);
    assert_true(node >= 0);
    test_role role;
    assert_true(test_node_get_role(node_at(shared, node), &role));
    assert_false(role.is_master);
    assert_true(role.in_sync);
    test_node_kill(node_at(shared, node));
    assert_true(test_cluster_forget_node(shared, (size_t)node));
    assert_true(test_cluster_wait_until_settled(shared, LONG_MS));
}

static void a_replica_takes_over_on_request(void **state) {
    (void)state;
    const char *const ways[] = {NULL, "FORCE", "TAKEOVER"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        int former = test_cluster_owner(shared, 0);
        int replica = test_cluster_replica_of(shared, former);
        assert_true(replica >= 0);
        assert_true(test_cluster_fail_over(shared, (size_t)replica, ways[i], LONG_MS));
        assert_int_equal(test_cluster_wait_for_other_owner(shared, 0, former, LONG_MS), replica);
        assert_true(test_cluster_wait_until_settled(shared, LONG_MS));
        assert_int_equal(test_cluster_replica_of(shared, replica), former);
    }
}

/* ---------------------------------------------------------------------------- with failover */

static void a_killed_master_is_replaced_and_returns_as_a_replica(void **state) {
    (void)state;
    test_cluster *cluster = start(NULL);
    int former = owner_of(cluster, "key");
    assert_true(test_node_tell(node_at(cluster, former), "SET key 1"));
    test_node_kill(node_at(cluster, former));
    int owner = test_cluster_wait_for_other_owner(cluster, slot_of("key"), former, LONG_MS);
    assert_true(owner >= 0);
    assert_true(test_cluster_wait_until_settled(cluster, LONG_MS));
    assert_true(test_node_restart(node_at(cluster, former)));
    assert_true(test_cluster_wait_until_settled(cluster, LONG_MS));
    owner = owner_of(cluster, "key");
    assert_true(owner >= 0);
    assert_true(test_cluster_replica_of(cluster, owner) >= 0);
    test_cluster_stop(cluster);
}

static void a_paused_master_is_replaced_and_becomes_a_replica_when_it_goes_on(void **state) {
    (void)state;
    test_cluster *cluster = start(NULL);
    int former = test_cluster_owner(cluster, 0);
    test_node_pause(node_at(cluster, former));
    assert_true(test_cluster_wait_for_other_owner(cluster, 0, former, LONG_MS) >= 0);
    test_node_continue(node_at(cluster, former));
    assert_true(test_cluster_wait_until_settled(cluster, LONG_MS));
    assert_true(test_cluster_replica_of(cluster, test_cluster_owner(cluster, 0)) >= 0);
    test_cluster_stop(cluster);
}

static void masters_need_no_replicas_and_keep_data(void **state) {
    (void)state;
    const char *const server_options[] = {"--appendfsync", "always", NULL};
    test_cluster *cluster = start(&(test_cluster_options){
        .masters = 3, .server_options = server_options, .keeps_data = true});
    int owner = owner_of(cluster, "key");
    assert_true(test_node_tell(node_at(cluster, owner), "SET key 1"));
    assert_true(test_node_restart(node_at(cluster, owner)));
    assert_true(test_cluster_wait_until_settled(cluster, LONG_MS));
    assert_int_equal(integer(node_at(cluster, owner), "EXISTS key"), 1);
    test_cluster_stop(cluster);
}

int main(void) {
    const struct CMUnitTest without_failover[] = {
        cmocka_unit_test(keys_are_where_their_slots_are),
        cmocka_unit_test(a_slot_is_the_one_that_servers_compute),
        cmocka_unit_test(each_master_has_a_replica_and_an_id),
        cmocka_unit_test(the_url_names_the_nodes),
        cmocka_unit_test(a_slot_moves_step_by_step),
        cmocka_unit_test(a_slot_moves_at_once),
        cmocka_unit_test(a_node_joins_gets_a_slot_and_leaves),
        cmocka_unit_test(a_replica_joins_and_leaves),
        cmocka_unit_test(a_replica_takes_over_on_request),
    };
    const struct CMUnitTest with_failover[] = {
        cmocka_unit_test(a_killed_master_is_replaced_and_returns_as_a_replica),
        cmocka_unit_test(a_paused_master_is_replaced_and_becomes_a_replica_when_it_goes_on),
        cmocka_unit_test(masters_need_no_replicas_and_keep_data),
    };
    alarm(PROGRAM_SECONDS); /* a program that hangs ends by SIGALRM, so that its servers end too */
    int failed = cmocka_run_group_tests(without_failover, start_shared, stop_shared);
    return failed + cmocka_run_group_tests(with_failover, NULL, NULL);
}
