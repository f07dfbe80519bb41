/*
 * A network that falls apart: a master of a cluster and some clients are on one side, all other
 * nodes and clients on the other. The replica of the master takes its place. What each client is
 * told, until the network is whole again and after that.
 *
 * The sides are network namespaces. Where this user may not make them, the tests say so, and are
 * skipped.
 */
#include "cluster.h"
#include "places.h"
#include "waiting.h"
#include "world.h"

enum { FAILOVER_MS = 60000, LEASE_MS = 6000, LONG_LEASE_MS = 60000 };

/* Clients between reach both sides, and do not connect these with each other. */
enum { BESIDE_MASTER, BESIDE_OTHERS, BETWEEN, PLACES };

static const char *why_skipped; /* NULL: this user may make namespaces */
static test_places *places;
static test_cluster *cluster;

/* ------------------------------------------------------------------------------ the network */

static void stop_cluster(void) {
    test_cluster_stop(cluster);
    test_places_stop(places);
    cluster = NULL;
    places = NULL;
}

/* A busy machine must not look like a master that is down. */
static void start_cluster(void) {
    if (why_skipped)
        skip();
    run_after_closing(stop_cluster);
    places = test_places_start(PLACES);
    assert_non_null(places);
    cluster = test_cluster_start(&(test_cluster_options){
        .masters = 3, .replicas = 3, .node_timeout_ms = 3000, .places = places});
    assert_non_null(cluster);
}

/* Its threads stay at the place where it was opened. */
static lk_client *open_at(size_t place, int64_t command_timeout_ms) {
    test_places_enter(places, place);
    lk_client *client =
        open_client_url(test_cluster_url(cluster),
                        &(lk_client_options){.command_timeout_ms = command_timeout_ms});
    test_places_leave(places);
    return client;
}

static int slot_of(const char *name) {
    char *key = world_print("lk:{%s}", name);
    return test_key_slot(key, strlen(key));
}

/* A lock of the master that will be cut off. */
static char *name_on_master(const char *prefix) {
    for (int i = 0; i < 10000; i++) {
        char *name = world_print("%s%d", prefix, i);
        if (test_cluster_owner(cluster, slot_of(name)) == 0)
            return name;
    }
    fail_msg("node 0 has no slots");
    return NULL;
}

static char *address_of(int node) {
    const test_node *at = test_cluster_node(cluster, (size_t)node);
    return world_print("%s:%d", test_node_address(at), test_node_port(at));
}

/*
 * Until the replica has what the master has. WAIT only waits for what its own connection has
 * written.
 */
static void replicate(const char *name) {
    redisContext *context = test_node_connect(test_cluster_node(cluster, 0));
    freeReplyObject(redisCommand(context, "SET replicated:{%s} yes", name));
    freeReplyObject(redisCommand(context, "DEL replicated:{%s}", name));
    redisReply *reply = redisCommand(context, "WAIT 1 %d", FAILOVER_MS);
    assert_non_null(reply);
    assert_int_equal(reply->integer, 1);
    freeReplyObject(reply);
    redisFree(context);
}

/* Returns the new master of the lock. */
static int fall_apart(const char *name) {
    assert_true(test_places_cut(places, BESIDE_MASTER, BESIDE_OTHERS));
    int now = test_cluster_wait_for_other_owner(cluster, slot_of(name), 0, FAILOVER_MS);
    assert_true(now > 0);
    assert_true(test_node_is_master(test_cluster_node(cluster, 0)));
    return now;
}

static void become_whole(void) {
    assert_true(test_places_mend(places, BESIDE_MASTER, BESIDE_OTHERS));
    assert_true(test_cluster_wait_until_settled(cluster, FAILOVER_MS));
}

static bool all_are_empty(void) {
    bool empty = true;
    for (size_t i = 0; i < test_cluster_count(cluster); i++) {
        redisReply *reply = test_node_ask(test_cluster_node(cluster, i), "DBSIZE");
        empty = empty && reply && reply->integer == 0;
        freeReplyObject(reply);
    }
    return empty;
}

#define eventually_after_failover(condition)            \
    do {                                                \
        int64_t end_ms = test_wait_end(FAILOVER_MS);    \
        while (!(condition))                            \
            if (!test_wait_on(end_ms))                  \
                fail_msg("never true: %s", #condition); \
    } while (0)

/* ------------------------------------------------------------------------------ the tests */

/* The master may still grant and release the lock, until it notices that it is alone. */
static bool is_refused(lk_lock *lock) {
    lk_status status = lk_trywrlock(lock);
    if (status == LK_OK)
        lk_wrunlock(lock);
    return status == LK_UNAVAILABLE;
}

TEST_WITH(start_cluster, clients_beside_a_master_that_is_alone_are_refused_and_lose_their_holds) {
    atomic_int losses = 0;
    lk_client *stale = open_at(BESIDE_MASTER, 2000), *current = open_at(BESIDE_OTHERS, FAILOVER_MS);
    char *name = name_on_master("a"), *other_name = name_on_master("b");
    lk_lock *held = new_watched_lock(stale, name, LEASE_MS, &losses);
    lk_lock *next = new_leased_lock(current, name, LEASE_MS), *other = new_lock(stale, other_name);
    eventually_after_failover(lk_trywrlock(held) == LK_OK);
    uint64_t fence = lk_fence(held);
    replicate(name);
    fall_apart(name);

    eventually_after_failover(is_refused(other));
    eventually_after_failover(atomic_load(&losses) == 1);
    assert_false(lk_valid(held));
    assert_status(lk_wrunlock(held), LK_LOST);
    assert_ok(lk_wrlock(next)); /* the new master knew the hold until its lease ended */
    assert_true(lk_fence(next) > fence);

    become_whole();
    fence = lk_fence(next);
    assert_ok(lk_wrunlock(next));
    eventually_after_failover(lk_trywrlock(held) == LK_OK);
    assert_true(lk_fence(held) > fence);
    assert_ok(lk_wrunlock(held));
    eventually_after_failover(lk_trywrlock(other) == LK_OK);
    assert_ok(lk_wrunlock(other));
    eventually_after_failover(all_are_empty());
}

TEST_WITH(start_cluster, clients_that_reach_both_sides_follow_the_new_master_and_lose_nothing) {
    atomic_int losses = 0;
    lk_client *between = open_at(BETWEEN, FAILOVER_MS), *other = open_at(BETWEEN, FAILOVER_MS);
    char *name = name_on_master("a");
    lk_lock *holder = new_watched_lock(between, name, LONG_LEASE_MS, &losses);
    lk_lock *waiter = new_lock(other, name);
    call waiting;
    assert_ok(lk_wrlock(holder));
    uint64_t fence = lk_fence(holder);
    begin_wait(&waiting, waiter, LK_WRITE, other, name, 1);
    replicate(name);
    int now = fall_apart(name);
    eventually_after_failover(strcmp(inspect(between, name)->server, address_of(now)) == 0);
    assert_ok(lk_renew(holder, 0));
    assert_int_equal(lk_fence(holder), fence);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(waiter));
    assert_int_equal(atomic_load(&losses), 0);
    become_whole();
    eventually_after_failover(all_are_empty());
}

int main(int argc, char **argv) {
    why_skipped = test_places_prepare(); /* while this is the only thread */
    if (why_skipped)
        printf("skipped: %s\n", why_skipped);
    return world_main(argc, argv);
}
