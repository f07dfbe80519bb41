/*
 * Sentinels with their servers, and a cluster, that talk TLS only: to clients and among themselves.
 * A lock goes through a failover, and through the move of its slot.
 */
#include "cluster.h"
#include "sentinels.h"
#include "tls_server.h"
#include "world.h"

enum { FAILOVER_MS = 60000, LEASE_MS = 60000, NODES = 3 };

static test_sentinels *site;
static test_cluster *cluster;

static void stop_servers(void) {
    test_sentinels_stop(site);
    test_cluster_stop(cluster);
    site = NULL;
    cluster = NULL;
    certificates_remove();
}

static void sentinels_with_tls(void) {
    run_after_closing(stop_servers);
    assert_true(certificates_make());
    site = test_sentinels_start(&(test_sentinels_options){.down_after_ms = 2500, .tls = true});
    assert_non_null(site);
}

/* No failover happens here. */
static void cluster_with_tls(void) {
    run_after_closing(stop_servers);
    assert_true(certificates_make());
    cluster = test_cluster_start(&(test_cluster_options){
        .masters = NODES, .replicas = 0, .node_timeout_ms = 60000, .tls = true});
    assert_non_null(cluster);
}

static lk_client *open_with_ca(const char *url) {
    return open_client_url(url, &(lk_client_options){.command_timeout_ms = FAILOVER_MS,
                                                     .tls_ca = certificate_file("ca.crt")});
}

static void assert_refused(const char *url, const char *ca, lk_status wanted, const char *words) {
    lk_client *client = NULL;
    lk_client_options options = {.tls_ca = ca ? certificate_file(ca) : NULL};
    assert_status(lk_open(url, &options, &client), wanted);
    assert_null(client);
    assert_said(words);
}

/* Until the replicas have what the master has: a hold that they lack would be lost. */
static void replicate(const test_node *master) {
    redisContext *context = test_node_connect(master);
    freeReplyObject(redisCommand(context, "SET replicated yes"));
    freeReplyObject(redisCommand(context, "DEL replicated"));
    redisReply *reply = redisCommand(context, "WAIT 2 %d", FAILOVER_MS);
    assert_non_null(reply);
    assert_int_equal(reply->integer, 2);
    freeReplyObject(reply);
    redisFree(context);
}

TEST_WITH(sentinels_with_tls, a_lock_behind_sentinels_goes_through_a_failover) {
    atomic_int losses = 0;
    const char *url = test_sentinels_url(site);
    lk_client *client = open_with_ca(url), *other = open_with_ca(url);
    lk_lock *holder = new_watched_lock(client, "a", LEASE_MS, &losses);
    lk_lock *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    uint64_t fence = lk_fence(holder);
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    int former = test_sentinels_wait_for_master(site, FAILOVER_MS);
    assert_true(former >= 0);
    replicate(test_sentinels_server(site, (size_t)former));
    test_node_kill(test_sentinels_server(site, (size_t)former));
    int now = test_sentinels_wait_for_other_master(site, former, FAILOVER_MS);
    assert_true(now >= 0);
    assert_ok(lk_renew(holder, 0));
    assert_int_equal(lk_fence(holder), fence);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_true(lk_fence(waiter) > fence);
    assert_ok(lk_wrunlock(waiter));
    assert_int_equal(atomic_load(&losses), 0);
}

TEST_WITH(cluster_with_tls, a_lock_of_a_cluster_goes_along_with_its_slot) {
    atomic_int losses = 0;
    const char *url = test_cluster_url(cluster);
    lk_client *client = open_with_ca(url), *other = open_with_ca(url);
    lk_lock *holder = new_watched_lock(client, "a", LEASE_MS, &losses);
    lk_lock *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    uint64_t fence = lk_fence(holder);
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    int slot = test_key_slot("lk:{a}", strlen("lk:{a}"));
    int to = (test_cluster_owner(cluster, slot) + 1) % NODES;
    assert_true(test_cluster_move_slot(cluster, slot, to));
    assert_ok(lk_renew(holder, 0));
    assert_int_equal(lk_fence(holder), fence);
    assert_string_equal(
        inspect(client, "a")->server,
        world_print("127.0.0.1:%d", test_node_port(test_cluster_node(cluster, (size_t)to))));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_true(lk_fence(waiter) > fence);
    assert_ok(lk_wrunlock(waiter));
    assert_int_equal(atomic_load(&losses), 0);
}

TEST_WITH(cluster_with_tls, a_cluster_is_refused_without_tls_and_with_another_issuer) {
    const char *url = test_cluster_url(cluster);
    assert_refused(url, "other.crt", LK_DENIED, "certificate");
    assert_refused(world_print("redis+cluster://%s", strstr(url, "://") + 3), NULL, LK_UNAVAILABLE,
                   "rediss");
}

TEST_WITH(sentinels_with_tls, sentinels_are_refused_without_tls_and_with_another_issuer) {
    const char *url = test_sentinels_url(site);
    assert_refused(url, "other.crt", LK_DENIED, "certificate");
    assert_refused(world_print("redis+sentinel://%s", strstr(url, "://") + 3), NULL, LK_UNAVAILABLE,
                   "rediss");
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
