/*
 * A network that falls apart: the master and some clients are on one side, the replicas, the
 * sentinels and other clients on the other. The sentinels make a replica the master. What each
 * client is told, until the network is whole again and after that.
 *
 * The sides are network namespaces. Where this user may not make them, the tests say so, and are
 * skipped.
 */
#include "places.h"
#include "sentinels.h"
#include "waiting.h"
#include "world.h"

enum { FAILOVER_MS = 60000, LEASE_MS = 6000, LONG_LEASE_MS = 60000, REPLICAS = 2 };

/* Clients between reach both sides, and do not connect these with each other. */
enum { BESIDE_MASTER, BESIDE_SENTINELS, BETWEEN, PLACES };

static const char *why_skipped; /* NULL: this user may make namespaces */
static test_places *places;
static test_sentinels *site;

/* ------------------------------------------------------------------------------ the network */

static void stop_site(void) {
    test_sentinels_stop(site);
    test_places_stop(places);
    site = NULL;
    places = NULL;
}

/* A busy machine must not look like a master that is down, or like replicas that lag. */
static void start_site(const char *const *server_options) {
    if (why_skipped)
        skip();
    run_after_closing(stop_site);
    places = test_places_start(PLACES);
    assert_non_null(places);
    site = test_sentinels_start(&(test_sentinels_options){
        .down_after_ms = 2500, .places = places, .server_options = server_options});
    assert_non_null(site);
}

static void plain_site(void) {
    start_site(NULL);
}

static void site_that_wants_replicas(void) {
    start_site(
        (const char *const[]){"--min-replicas-to-write", "1", "--min-replicas-max-lag", "3", NULL});
}

/* Its threads stay at the place where it was opened. */
static lk_client *open_at(size_t place, const lk_client_options *options) {
    lk_client_options full = *options;
    if (!full.command_timeout_ms)
        full.command_timeout_ms = FAILOVER_MS;
    test_places_enter(places, place);
    lk_client *client = open_client_url(test_sentinels_url(site), &full);
    test_places_leave(places);
    return client;
}

static lk_client *open_beside_master(void) {
    return open_at(BESIDE_MASTER, &(lk_client_options){0});
}

static lk_client *open_beside_sentinels(void) {
    return open_at(BESIDE_SENTINELS, &(lk_client_options){0});
}

static test_node *server_at(int index) {
    return test_sentinels_server(site, (size_t)index);
}

static char *address_of(int index) {
    return world_print("%s:%d", test_node_address(server_at(index)),
                       test_node_port(server_at(index)));
}

static void assert_first_is_master(void) {
    assert_int_equal(test_sentinels_wait_for_master(site, FAILOVER_MS), 0);
}

/* WAIT only waits for what its own connection has written. */
static void replicate(void) {
    assert_first_is_master();
    redisContext *context = test_node_connect(server_at(0));
    freeReplyObject(redisCommand(context, "SET replicated yes"));
    freeReplyObject(redisCommand(context, "DEL replicated"));
    redisReply *reply = redisCommand(context, "WAIT %d %d", REPLICAS, FAILOVER_MS);
    assert_non_null(reply);
    assert_int_equal(reply->integer, REPLICAS);
    freeReplyObject(reply);
    redisFree(context);
}

/* Returns the new master, which the sentinels name. The old one goes on to say that it is one. */
static int fall_apart(void) {
    assert_true(test_places_cut(places, BESIDE_MASTER, BESIDE_SENTINELS));
    int now = test_sentinels_wait_for_other_master(site, 0, FAILOVER_MS);
    assert_true(now > 0);
    assert_true(test_node_is_master(server_at(0)));
    return now;
}

static void become_whole(void) {
    assert_true(test_places_mend(places, BESIDE_MASTER, BESIDE_SENTINELS));
    assert_true(test_sentinels_wait_for_replica(site, 0, FAILOVER_MS));
}

static long long key_count_at(int index) {
    redisReply *reply = test_node_ask(server_at(index), "DBSIZE");
    long long count = reply ? reply->integer : -1;
    freeReplyObject(reply);
    return count;
}

static bool all_are_empty(void) {
    for (int i = 0; i <= REPLICAS; i++)
        if (key_count_at(i) != 0)
            return false;
    return true;
}

#define eventually_after_failover(condition)            \
    do {                                                \
        int64_t end_ms = test_wait_end(FAILOVER_MS);    \
        while (!(condition))                            \
            if (!test_wait_on(end_ms))                  \
                fail_msg("never true: %s", #condition); \
    } while (0)

/* ------------------------------------------------------------------------------ no protection */

/* Two clients hold one lock at once: docs/GUARANTEES.md says so. Fences tell them apart. */
TEST_WITH(plain_site, clients_beside_a_stale_master_go_on_until_the_network_is_whole_again) {
    atomic_int losses = 0;
    lk_client *stale = open_beside_master(), *current = open_beside_sentinels();
    lk_lock *held = new_watched_lock(stale, "a", LEASE_MS, &losses);
    lk_lock *waiter = new_lock(stale, "a"), *next = new_leased_lock(current, "a", LEASE_MS);
    call waiting;
    assert_ok(lk_wrlock(held));
    uint64_t fence = lk_fence(held);
    begin_wait(&waiting, waiter, LK_WRITE, stale, "a", 1);
    replicate();
    fall_apart();

    /* The new master knows the hold until its lease ends: no renewal gets there. */
    assert_ok(lk_wrlock(next));
    uint64_t next_fence = lk_fence(next);
    assert_true(next_fence > fence);

    /* The old master has told nobody anything. */
    assert_ok(lk_renew(held, 0));
    assert_int_equal(lk_fence(held), fence);
    lk_lock *late = new_watched_lock(stale, "b", LEASE_MS, &losses);
    assert_ok(lk_trywrlock(late));
    uint64_t late_fence = lk_fence(late);
    assert_string_equal(inspect(stale, "b")->server, address_of(0));
    assert_int_equal(atomic_load(&losses), 0);

    become_whole();
    eventually_after_failover(atomic_load(&losses) == 2);
    assert_false(lk_valid(held));
    assert_status(lk_wrunlock(held), LK_LOST);
    assert_status(lk_wrunlock(late), LK_LOST);
    assert_true(lk_valid(next));
    assert_int_equal(lk_fence(next), next_fence);
    assert_ok(lk_wrunlock(next));
    assert_call(&waiting, LK_OK); /* it has queued again, at the new master */
    assert_true(lk_fence(waiter) > next_fence);
    assert_ok(lk_wrunlock(waiter));
    assert_ok(lk_wrlock(late));
    assert_true(lk_fence(late) > late_fence);
    assert_ok(lk_wrunlock(late));
    eventually_after_failover(all_are_empty());
}

/* ------------------------------------------------------------------------------ other clients */

TEST_WITH(plain_site, clients_that_reach_the_sentinels_leave_a_stale_master_and_lose_nothing) {
    atomic_int losses = 0;
    lk_client *between = open_at(BETWEEN, &(lk_client_options){0});
    lk_client *current = open_beside_sentinels();
    lk_lock *first = new_watched_lock(between, "a", LONG_LEASE_MS, &losses);
    lk_lock *second = new_watched_lock(current, "b", LONG_LEASE_MS, &losses);
    assert_ok(lk_wrlock(first));
    assert_ok(lk_wrlock(second));
    uint64_t fences[] = {lk_fence(first), lk_fence(second)};
    replicate();
    int now = fall_apart();
    eventually_after_failover(strcmp(inspect(between, "a")->server, address_of(now)) == 0);
    assert_ok(lk_renew(first, 0));
    assert_ok(lk_renew(second, 0));
    assert_int_equal(lk_fence(first), fences[0]);
    assert_int_equal(lk_fence(second), fences[1]);
    assert_string_equal(inspect(current, "b")->server, address_of(now));
    assert_ok(lk_wrunlock(first));
    assert_ok(lk_wrunlock(second));
    assert_int_equal(atomic_load(&losses), 0);
    become_whole();
    eventually_after_failover(all_are_empty());
}

/* ------------------------------------------------------------------------------ min_replicas */

TEST_WITH(plain_site, with_min_replicas_a_client_beside_a_stale_master_is_told_before_others_hold) {
    atomic_int losses = 0;
    lk_client *stale = open_at(
        BESIDE_MASTER, &(lk_client_options){.min_replicas = REPLICAS, .replica_timeout_ms = 2000});
    lk_client *current = open_beside_sentinels();
    lk_lock *held = new_watched_lock(stale, "a", LEASE_MS, &losses);
    lk_lock *next = new_leased_lock(current, "a", LEASE_MS);
    eventually_after_failover(lk_trywrlock(held) == LK_OK);
    uint64_t fence = lk_fence(held);
    replicate();
    fall_apart();

    assert_ok(lk_wrlock(next));
    assert_false(lk_valid(held));
    assert_true(lk_fence(next) > fence);
    eventually_after_failover(atomic_load(&losses) == 1);
    assert_status(lk_wrunlock(held), LK_LOST);
    assert_status(lk_trywrlock(new_lock(stale, "b")), LK_UNAVAILABLE);
    assert_said("replicas");
    assert_true(test_node_is_master(server_at(0)));

    become_whole();
    assert_true(lk_valid(next));
    fence = lk_fence(next);
    assert_ok(lk_wrunlock(next));
    eventually_after_failover(lk_trywrlock(held) == LK_OK);
    assert_true(lk_fence(held) > fence);
    assert_ok(lk_wrunlock(held));
    eventually_after_failover(all_are_empty());
}

/* ------------------------------------------------------------------------ min-replicas-to-write */

/* The master may still grant and release the lock, until it notices that its replicas lag. */
static bool is_refused(lk_lock *lock) {
    lk_status status = lk_trywrlock(lock);
    if (status == LK_OK)
        lk_wrunlock(lock);
    return status == LK_UNAVAILABLE && strstr(lk_last_error(), "NOREPLICAS");
}

TEST_WITH(site_that_wants_replicas, a_stale_master_that_wants_replicas_refuses_and_holds_are_lost) {
    atomic_int losses = 0;
    lk_client *stale = open_at(BESIDE_MASTER, &(lk_client_options){.command_timeout_ms = 2000});
    lk_client *current = open_beside_sentinels();
    lk_lock *held = new_watched_lock(stale, "a", LEASE_MS, &losses);
    lk_lock *next = new_leased_lock(current, "a", LEASE_MS), *other = new_lock(stale, "b");
    eventually_after_failover(lk_trywrlock(held) == LK_OK);
    uint64_t fence = lk_fence(held);
    replicate();
    fall_apart();

    eventually_after_failover(is_refused(other));
    eventually_after_failover(atomic_load(&losses) == 1);
    assert_status(lk_wrunlock(held), LK_LOST);
    assert_true(test_node_is_master(server_at(0)));
    assert_ok(lk_wrlock(next));
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

int main(int argc, char **argv) {
    why_skipped = test_places_prepare(); /* while this is the only thread */
    if (why_skipped)
        printf("skipped: %s\n", why_skipped);
    return world_main(argc, argv);
}
