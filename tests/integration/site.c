/* See site.h. */
#include "site.h"

test_sentinels *site;

static void stop_site(void) {
    test_sentinels_stop(site);
    site = NULL;
}

void start_site(const test_sentinels_options *options) {
    site = test_sentinels_start(options);
    assert_non_null(site);
    run_after_closing(stop_site);
}

/* A busy machine must not look like a master that is down: a second failover could lose a hold. */
void plain_site(void) {
    start_site(&(test_sentinels_options){.down_after_ms = 2500});
}

lk_client *open_at_site(void) {
    return open_client_url(test_sentinels_url(site),
                           &(lk_client_options){.command_timeout_ms = FAILOVER_MS});
}

int master(void) {
    int found = test_sentinels_wait_for_master(site, FAILOVER_MS);
    assert_true(found >= 0);
    return found;
}

int other_master(int former) {
    int found = test_sentinels_wait_for_other_master(site, former, FAILOVER_MS);
    assert_true(found >= 0);
    return found;
}

int kill_master(void) {
    int former = master();
    test_node_kill(server_at(former));
    return former;
}

test_node *server_at(int index) {
    return test_sentinels_server(site, (size_t)index);
}

long long key_count_at(int index) {
    redisReply *reply = test_node_ask(server_at(index), "DBSIZE");
    long long count = reply ? reply->integer : -1;
    freeReplyObject(reply);
    return count;
}

/* WAIT only waits for what its own connection has written. */
void replicate(void) {
    redisContext *context = test_node_connect(server_at(master()));
    freeReplyObject(redisCommand(context, "SET replicated yes"));
    freeReplyObject(redisCommand(context, "DEL replicated"));
    redisReply *reply = redisCommand(context, "WAIT 2 %d", FAILOVER_MS);
    assert_non_null(reply);
    assert_int_equal(reply->integer, 2);
    freeReplyObject(reply);
    redisFree(context);
}

static void for_each_replica(int of, void (*act)(test_node *)) {
    for (size_t i = 0; i < test_sentinels_server_count(site); i++)
        if ((int)i != of)
            act(server_at((int)i));
}

void cut_replicas(int of) {
    for_each_replica(of, test_node_pause);
    assert_true(test_node_tell(server_at(of), "CLIENT KILL TYPE replica"));
}

void continue_replicas(int of) {
    for_each_replica(of, test_node_continue);
}

int fail_over_to_cut_replica(int former) {
    test_node_kill(server_at(former));
    continue_replicas(former);
    return other_master(former);
}
