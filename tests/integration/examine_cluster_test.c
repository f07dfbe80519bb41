/* lk_examine of a cluster: the nodes of the URL, and every master with its slots. */
#include "cluster.h"
#include "world.h"

enum { MASTERS = 3, UNTROUBLED_MS = 30000 }; /* a node_timeout_ms that no busy machine exceeds */

static test_cluster *cluster;
static lk_facts *facts;

static void end_cluster(void) {
    lk_facts_free(facts);
    facts = NULL;
    test_cluster_stop(cluster);
    cluster = NULL;
}

static void start_cluster(const test_cluster_options *options) {
    cluster = test_cluster_start(options);
    assert_non_null(cluster);
    run_after_closing(end_cluster);
}

static void cluster_with_replicas(void) {
    start_cluster(&(test_cluster_options){.node_timeout_ms = UNTROUBLED_MS});
}

static void masters_alone(void) {
    start_cluster(&(test_cluster_options){.masters = MASTERS, .node_timeout_ms = UNTROUBLED_MS});
}

static void secured_masters(void) {
    start_cluster(&(test_cluster_options){
        .masters = MASTERS, .node_timeout_ms = UNTROUBLED_MS, .password = "of-nodes"});
}

static lk_status examine_url(const char *url) {
    lk_client_options options = {.command_timeout_ms = PATIENT_MS};
    lk_facts_free(facts);
    facts = NULL;
    return lk_examine(url, &options, &facts);
}

static lk_status examine(void) {
    return examine_url(test_cluster_url(cluster));
}

static char *url_of(size_t node) {
    return world_print("redis://127.0.0.1:%d", test_node_port(test_cluster_node(cluster, node)));
}

TEST_WITH(cluster_with_replicas, masters_are_described_in_the_order_of_their_slots) {
    static const char *const slots[] = {"0-", "5461-", "10922-16383"};
    assert_ok(examine());
    assert_string_equal(facts->server, test_cluster_url(cluster));
    assert_string_equal(facts->mode, "cluster");
    assert_string_equal(facts->uncovered, "");
    assert_int_equal(facts->answered, LK_YES);
    assert_int_equal(facts->seed_count, 6);
    assert_int_equal(facts->shard_count, MASTERS);
    for (size_t i = 0; i < MASTERS; i++) {
        const lk_shard_facts *one = &facts->shards[i];
        assert_memory_equal(one->slots, slots[i], strlen(slots[i]));
        assert_string_equal(one->master->server, url_of(i));
        assert_string_equal(one->master->mode, "cluster");
        assert_int_equal(one->master->answered, LK_YES);
        assert_int_equal(one->master->replica, LK_NO);
        assert_int_equal(one->master->missing_count, 0);
        assert_int_equal(one->master->clock_known, LK_YES);
        assert_int_equal(one->replicas, 1);
        assert_int_equal(one->replicas_down, 0);
        assert_string_equal(one->state, "ok");
        assert_int_equal(one->open_slots, 0);
        assert_int_equal(one->node_timeout_ms, UNTROUBLED_MS);
        assert_int_equal(one->full_coverage, LK_YES);
        assert_int_equal(one->pubsub_when_down, LK_YES);
    }
}

TEST_WITH(cluster_with_replicas, any_node_describes_the_cluster) {
    for (size_t i = 0; i < test_cluster_count(cluster); i++) {
        int port = test_node_port(test_cluster_node(cluster, i));
        assert_ok(examine_url(world_print("redis+cluster://127.0.0.1:%d", port)));
        assert_int_equal(facts->shard_count, MASTERS);
        assert_string_equal(facts->shards[2].master->server, url_of(2));
    }
}

TEST_WITH(cluster_with_replicas, nodes_that_are_away_are_facts) {
    int replica = test_cluster_replica_of(cluster, 0);
    test_node_kill(test_cluster_node(cluster, 1));
    test_node_kill(test_cluster_node(cluster, (size_t)replica));
    assert_ok(examine());
    assert_int_equal(facts->seeds[0].status, LK_OK);
    assert_int_equal(facts->seeds[1].status, LK_UNAVAILABLE);
    assert_true(*facts->seeds[1].error);
    assert_int_equal(facts->shards[1].master->answered, LK_NO);
    assert_string_equal(facts->shards[1].master->server, url_of(1));
    assert_true(*facts->shards[1].master->error);
    assert_string_equal(facts->shards[1].state, "");
    assert_int_equal(facts->shards[0].master->answered, LK_YES);
    eventually(examine() == LK_OK && facts->shards[0].master->replicas == 0);
}

TEST_WITH(masters_alone, slots_without_a_master_are_named) {
    for (size_t i = 0; i < MASTERS; i++)
        assert_true(test_node_tell(test_cluster_node(cluster, i), "CLUSTER DELSLOTS 0 1 2 16383"));
    eventually(examine() == LK_OK && strcmp(facts->shards[0].state, "fail") == 0);
    assert_string_equal(facts->uncovered, "0-2 16383");
    assert_memory_equal(facts->shards[0].slots, "3-", strlen("3-"));
    assert_int_equal(facts->shards[0].replicas, 0);
}

TEST_WITH(masters_alone, slots_that_move_are_counted_at_both_ends) {
    test_slot_move move = {.slot = 5, .from = 0, .to = 1};
    assert_true(test_cluster_move_begin(cluster, &move));
    assert_ok(examine());
    assert_int_equal(facts->shards[0].open_slots, 1);
    assert_int_equal(facts->shards[1].open_slots, 1);
    assert_int_equal(facts->shards[2].open_slots, 0);
    assert_string_equal(facts->uncovered, "");
}

TEST_WITH(masters_alone, a_node_is_described_with_a_plain_url) {
    assert_ok(examine_url(url_of(0)));
    assert_string_equal(facts->mode, "cluster");
    assert_int_equal(facts->seed_count, 0);
    assert_int_equal(facts->shard_count, 0);
}

TEST_WITH(masters_alone, what_the_user_may_not_ask_is_unknown) {
    for (size_t i = 0; i < MASTERS; i++)
        assert_true(test_node_tell(test_cluster_node(cluster, i),
                                   "ACL SETUSER app on >pw ~lk:* &lk:* +@all -config "
                                   "-cluster|info"));
    char *url = world_print("redis+cluster://app:pw@127.0.0.1:%d",
                            test_node_port(test_cluster_node(cluster, 0)));
    assert_ok(examine_url(url));
    assert_int_equal(facts->shard_count, MASTERS);
    assert_string_equal(facts->shards[0].state, "");
    assert_int_equal(facts->shards[0].node_timeout_ms, -1);
    assert_int_equal(facts->shards[0].full_coverage, LK_UNKNOWN);
    assert_int_equal(facts->shards[0].open_slots, 0);
    assert_int_equal(facts->shards[0].master->min_replicas, -1);
}

TEST_WITH(secured_masters, the_password_is_for_all_nodes) {
    const char *hosts = test_cluster_url(cluster) + strlen("redis+cluster://");
    assert_ok(examine_url(world_print("redis+cluster://:of-nodes@%s", hosts)));
    for (size_t i = 0; i < MASTERS; i++)
        assert_int_equal(facts->shards[i].master->answered, LK_YES);
    assert_status(examine(), LK_DENIED);
    assert_said("LATCHKEY_PASSWORD");
    assert_status(examine_url(world_print("redis+cluster://:secretword@%s", hosts)), LK_DENIED);
    assert_says_not(lk_last_error(), "secretword");
}

TEST(servers_that_are_no_nodes_of_a_cluster_are_refused) {
    test_node *alone = test_node_start(&(test_node_options){.kind = TEST_NODE_PLAIN});
    assert_non_null(alone);
    char *url = world_print("redis+cluster://127.0.0.1:%d", test_node_port(alone));
    lk_status status = examine_url(url);
    test_node_stop(alone);
    assert_status(status, LK_UNSUPPORTED);
    assert_said("not a node of a cluster");
    assert_status(examine_url("redis+cluster://127.0.0.1:1,127.0.0.1:2"), LK_UNAVAILABLE);
    assert_null(facts);
}

int main(void) {
    return world_run(begin_world);
}
