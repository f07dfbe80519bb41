/* lk_examine of sentinels: the facts about each of them, and about the master that they name. */
#include "sentinels.h"
#include "world.h"

enum { UNTROUBLED_MS = 30000 }; /* a down_after_ms that no busy machine exceeds */

static test_sentinels *site;
static lk_facts *facts;

static void end_site(void) {
    lk_facts_free(facts);
    facts = NULL;
    test_sentinels_stop(site);
    site = NULL;
}

static void start_site(const test_sentinels_options *options) {
    site = test_sentinels_start(options);
    assert_non_null(site);
    run_after_closing(end_site);
}

static void plain_site(void) {
    start_site(&(test_sentinels_options){.down_after_ms = UNTROUBLED_MS});
}

static void secured_site(void) {
    start_site(&(test_sentinels_options){.down_after_ms = UNTROUBLED_MS,
                                         .password = "of-servers",
                                         .sentinel_password = "of-sentinels"});
}

static lk_status examine_within(const char *url, int64_t command_timeout_ms) {
    lk_client_options options = {.command_timeout_ms = command_timeout_ms};
    lk_facts_free(facts);
    facts = NULL;
    return lk_examine(url, &options, &facts);
}

static lk_status examine_url(const char *url) {
    return examine_within(url, PATIENT_MS);
}

static lk_status examine(void) {
    return examine_url(test_sentinels_url(site));
}

static test_node *sentinel_at(size_t index) {
    return test_sentinels_sentinel(site, index);
}

static char *address_of(const test_node *node) {
    return world_print("127.0.0.1:%d", test_node_port(node));
}

TEST_WITH(plain_site, sentinels_and_their_master_are_described) {
    char *master = address_of(test_sentinels_server(site, 0));
    assert_ok(examine());
    assert_string_equal(facts->server, world_print("redis://%s", master));
    assert_string_equal(facts->mode, "standalone");
    assert_int_equal(facts->answered, LK_YES);
    assert_int_equal(facts->replica, LK_NO);
    assert_int_equal(facts->shard_count, 0);
    assert_int_equal(facts->seed_count, 3);
    for (size_t i = 0; i < 3; i++) {
        const lk_seed_facts *one = &facts->seeds[i];
        assert_int_equal(one->status, LK_OK);
        assert_string_equal(one->error, "");
        assert_string_equal(one->server, world_print("redis://%s", address_of(sentinel_at(i))));
        assert_string_equal(one->master, master);
        assert_string_equal(one->flags, "master");
        assert_int_equal(one->others, 2);
        assert_int_equal(one->quorum, 2);
        assert_int_equal(one->down_after_ms, UNTROUBLED_MS);
        assert_int_equal(one->failover_timeout_ms, 2000);
        assert_int_equal(one->replicas, 2);
        assert_int_equal(one->promotable, 2);
        assert_int_equal(one->can_fail_over, LK_YES);
    }
}

static bool is_listed(const test_node *replica) {
    for (size_t i = 0; i < facts->replica_list_count; i++)
        if (strcmp(facts->replica_list[i].address, address_of(replica)) == 0)
            return true;
    return false;
}

TEST_WITH(plain_site, replicas_are_described) {
    test_node *master = test_sentinels_server(site, 0);
    assert_true(test_node_tell(master, "CONFIG SET min-replicas-max-lag 7"));
    assert_ok(examine());
    assert_int_equal(facts->replicas, 2);
    assert_int_equal(facts->replica_list_count, 2);
    assert_true(is_listed(test_sentinels_server(site, 1)));
    assert_true(is_listed(test_sentinels_server(site, 2)));
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(facts->replica_list[i].state, "online");
        assert_true(facts->replica_list[i].lag_bytes >= 0);
        assert_true(facts->replica_list[i].lag_s >= 0);
    }
    /* Without the number of replicas, the server ignores the lag. */
    assert_int_equal(facts->min_replicas, 0);
    assert_int_equal(facts->min_replicas_lag_s, 0);
    assert_true(test_node_tell(master, "CONFIG SET min-replicas-to-write 1"));
    assert_ok(examine());
    assert_int_equal(facts->min_replicas, 1);
    assert_int_equal(facts->min_replicas_lag_s, 7);
}

TEST_WITH(plain_site, a_sentinel_that_is_away_is_a_fact) {
    test_node_kill(sentinel_at(1));
    assert_ok(examine());
    assert_int_equal(facts->seeds[0].status, LK_OK);
    assert_int_equal(facts->seeds[1].status, LK_UNAVAILABLE);
    assert_says(facts->seeds[1].error, address_of(sentinel_at(1)));
    assert_string_equal(facts->seeds[1].master, "");
    assert_int_equal(facts->seeds[1].quorum, -1);
    assert_int_equal(facts->seeds[2].status, LK_OK);
}

TEST_WITH(plain_site, a_master_that_is_away_is_a_fact) {
    test_node_pause(test_sentinels_server(site, 0));
    assert_ok(examine_within(test_sentinels_url(site), HASTY_MS));
    assert_int_equal(facts->answered, LK_NO);
    assert_says(facts->error, address_of(test_sentinels_server(site, 0)));
    assert_says(facts->server, address_of(test_sentinels_server(site, 0)));
    assert_string_equal(facts->version, "");
    assert_int_equal(facts->supported, LK_UNKNOWN);
    assert_int_equal(facts->seed_count, 3);
    assert_int_equal(facts->seeds[0].status, LK_OK);
}

/* One of them is told that another server is the master. With the same epoch, it stays with that. */
TEST_WITH(plain_site, each_sentinel_is_asked_for_its_own_master) {
    int other = test_node_port(test_sentinels_server(site, 1));
    assert_true(test_node_tell(sentinel_at(2), "SENTINEL REMOVE latchkey"));
    assert_true(test_node_tell(sentinel_at(2), "SENTINEL MONITOR latchkey 127.0.0.1 %d 2", other));
    assert_ok(examine());
    assert_string_equal(facts->seeds[0].master, address_of(test_sentinels_server(site, 0)));
    assert_string_equal(facts->seeds[1].master, facts->seeds[0].master);
    assert_string_equal(facts->seeds[2].master, address_of(test_sentinels_server(site, 1)));
}

TEST_WITH(plain_site, sentinels_without_a_majority_say_so) {
    for (size_t i = 0; i < 3; i++)
        assert_true(
            test_node_tell(sentinel_at(i), "SENTINEL SET latchkey down-after-milliseconds 1000"));
    test_node_kill(sentinel_at(1));
    test_node_kill(sentinel_at(2));
    eventually(examine() == LK_OK && facts->seeds[0].can_fail_over == LK_NO);
    assert_int_equal(facts->seeds[1].can_fail_over, LK_UNKNOWN);
}

TEST_WITH(plain_site, sentinels_that_do_not_know_the_master_are_an_error) {
    char *url = world_print("redis+sentinel://%s/nobody", address_of(sentinel_at(0)));
    assert_status(examine_url(url), LK_INVALID);
    assert_said("nobody");
    url = world_print("redis+sentinel://%s/latchkey", address_of(test_sentinels_server(site, 0)));
    assert_status(examine_url(url), LK_UNSUPPORTED);
    assert_status(examine_url("redis+sentinel://127.0.0.1:1/latchkey"), LK_UNAVAILABLE);
    assert_null(facts);
}

TEST_WITH(plain_site, one_sentinel_that_knows_the_master_is_enough) {
    char *url = world_print("redis+sentinel://127.0.0.1:1,%s,%s/latchkey",
                            address_of(test_sentinels_server(site, 0)), address_of(sentinel_at(0)));
    assert_ok(examine_url(url));
    assert_int_equal(facts->seed_count, 3);
    assert_int_equal(facts->seeds[0].status, LK_UNAVAILABLE);
    assert_int_equal(facts->seeds[1].status, LK_UNSUPPORTED);
    assert_int_equal(facts->seeds[2].status, LK_OK);
}

static char *secured_url(const char *of_servers, const char *of_sentinels) {
    const char *hosts = test_sentinels_url(site) + strlen("redis+sentinel://");
    return world_print("redis+sentinel://:%s@%s?sentinel_password=%s", of_servers, hosts,
                       of_sentinels);
}

TEST_WITH(secured_site, each_half_has_its_own_password) {
    assert_ok(examine_url(secured_url("of-servers", "of-sentinels")));
    assert_int_equal(facts->answered, LK_YES);
    assert_int_equal(facts->seeds[2].can_fail_over, LK_YES);
    assert_status(examine_url(secured_url("of-servers", "wrong")), LK_DENIED);
    assert_ok(examine_url(secured_url("wrong", "of-sentinels")));
    assert_int_equal(facts->answered, LK_NO);
    assert_says(facts->error, "AUTH");
    assert_says_not(facts->error, "wrong");
    assert_int_equal(facts->seeds[0].status, LK_OK);
}

int main(void) {
    return world_run(begin_world);
}
