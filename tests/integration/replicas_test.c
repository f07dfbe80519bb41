/*
 * `min_replicas`: a grant counts when so many replicas have it. A master with two replicas, behind
 * sentinels, so that the master can fail.
 */
#include "sentinels.h"
#include "world.h"

enum { FAILOVER_MS = 60000, LEASE_MS = 60000, REPLICAS = 2 };

static test_sentinels *site;

static void stop_site(void) {
    test_sentinels_stop(site);
    site = NULL;
}

static void start_site(void) {
    site = test_sentinels_start(&(test_sentinels_options){.down_after_ms = 20000});
    assert_non_null(site);
    run_after_closing(stop_site);
}

static lk_client *open_with(int min_replicas, int64_t replica_timeout_ms) {
    return open_client_url(test_sentinels_url(site),
                           &(lk_client_options){.command_timeout_ms = FAILOVER_MS,
                                                .min_replicas = min_replicas,
                                                .replica_timeout_ms = replica_timeout_ms});
}

static lk_client *open_patient(void) {
    return open_with(REPLICAS, FAILOVER_MS / 2);
}

static int master(void) {
    int found = test_sentinels_wait_for_master(site, FAILOVER_MS);
    assert_true(found >= 0);
    return found;
}

static test_node *server_at(int index) {
    return test_sentinels_server(site, (size_t)index);
}

static void for_each_replica(void (*act)(test_node *), int most) {
    int of = master();
    for (int i = 0; i < REPLICAS + 1 && most > 0; i++)
        if (i != of) {
            act(server_at(i));
            most--;
        }
}

static long long key_count_at(int index) {
    redisReply *reply = test_node_ask(server_at(index), "DBSIZE");
    long long count = reply ? reply->integer : -1;
    freeReplyObject(reply);
    return count;
}

/* On a busy machine the replicas may need longer than the short timeouts of these tests. */
static void take(lk_lock *lock) {
    eventually(lk_trywrlock(lock) == LK_OK);
}

/* ------------------------------------------------------------------------------ grants */

TEST_WITH(start_site, a_grant_is_on_the_replicas_when_the_call_returns) {
    lk_client *client = open_patient();
    int of = master();
    for (int round = 0; round < 20; round++) {
        lk_lock *lock = new_lock(client, world_print("n%d", round));
        assert_ok(round % 2 ? lk_rdlock(lock) : lk_wrlock(lock));
        for (int i = 0; i < REPLICAS + 1; i++)
            assert_true(key_count_at(i) >= round + 1);
    }
    assert_int_equal(key_count_at(of), 20);
}

TEST_WITH(start_site, a_grant_that_too_few_replicas_confirm_is_given_back) {
    lk_client *client = open_with(REPLICAS, 300);
    lk_lock *lock = new_lock(client, "a");
    for_each_replica(test_node_pause, 1);
    assert_status(lk_trywrlock(lock), LK_UNAVAILABLE);
    assert_said(" of 2 replicas confirmed it within 300 ms");
    assert_said("given back");
    eventually(key_count_at(master()) == 0); /* and no mark: no caller was told of the grant */
    for_each_replica(test_node_continue, REPLICAS);
    take(lock);
    assert_false(lk_abandoned(lock));
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(start_site, fewer_replicas_than_there_are_may_be_enough) {
    lk_client *client = open_with(1, FAILOVER_MS / 2);
    lk_lock *lock = new_lock(client, "a");
    for_each_replica(test_node_pause, 1);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(start_site, many_threads_share_the_confirmations) {
    enum { THREADS = 16 };
    lk_client *client = open_patient();
    lk_lock *locks[THREADS];
    call calls[THREADS];
    for (int i = 0; i < THREADS; i++) {
        locks[i] = new_lock(client, i % 2 ? "shared" : world_print("n%d", i));
        begin_lock(&calls[i], locks[i], i % 2 ? LK_READ : LK_WRITE, FAILOVER_MS);
    }
    for (int i = 0; i < THREADS; i++)
        assert_call(&calls[i], LK_OK);
    for (int i = 0; i < THREADS; i++)
        assert_ok(lk_unlock(locks[i]));
}

/* ------------------------------------------------------------------------------ waiters */

TEST_WITH(start_site, a_grant_by_hand_over_is_confirmed_before_the_call_returns) {
    lk_client *client = open_with(0, 0), *other = open_patient();
    lk_lock *holder = new_lock(client, "a"), *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, client, "a", 1);
    for_each_replica(test_node_pause, REPLICAS);
    assert_ok(lk_wrunlock(holder));
    eventually(look_at(client, "a").holders == 1); /* the waiter, who does not know it yet */
    sleep_ms(300);
    assert_false(lk_valid(waiter));
    for_each_replica(test_node_continue, REPLICAS);
    assert_call(&waiting, LK_OK);
    assert_true(lk_valid(waiter));
    assert_ok(lk_wrunlock(waiter));
}

TEST_WITH(start_site, a_hand_over_that_too_few_replicas_confirm_goes_to_the_next) {
    lk_client *client = open_with(0, 0), *other = open_with(REPLICAS, 300);
    lk_lock *holder = new_lock(client, "a"), *waiter = new_lock(other, "a");
    lk_lock *next = new_lock(client, "a");
    call waiting, nexts;
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, client, "a", 1);
    begin_wait(&nexts, next, LK_WRITE, client, "a", 2);
    for_each_replica(test_node_pause, REPLICAS);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_UNAVAILABLE);
    assert_call(&nexts, LK_OK);
    assert_false(lk_abandoned(next));
    assert_ok(lk_wrunlock(next));
}

TEST_WITH(start_site, an_upgrade_is_confirmed_too) {
    lk_client *client = open_with(REPLICAS, 300);
    lk_lock *lock = new_lock(client, "a");
    eventually(lk_tryrdlock(lock) == LK_OK);
    for_each_replica(test_node_pause, REPLICAS);
    assert_status(lk_trywrlock(lock), LK_UNAVAILABLE);
    assert_true(lk_valid(lock)); /* the read */
    for_each_replica(test_node_continue, REPLICAS);
    take(lock);
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_rdunlock(lock));
}

/* ------------------------------------------------------------------------------ renewals */

TEST_WITH(start_site, a_renewal_that_is_not_confirmed_does_not_lengthen_the_hold) {
    atomic_int losses = 0;
    lk_client *client = open_with(REPLICAS, 200);
    lk_lock *lock = new_watched_lock(client, "a", 3000, &losses);
    take(lock);
    for_each_replica(test_node_pause, REPLICAS);
    assert_status(lk_renew(lock, 0), LK_UNAVAILABLE);
    assert_said("does not count");
    eventually(atomic_load(&losses) == 1);
    assert_false(lk_valid(lock));
    for_each_replica(test_node_continue, REPLICAS);
    assert_status(lk_wrunlock(lock), LK_LOST);
}

TEST_WITH(start_site, a_hold_is_renewed_while_replicas_confirm) {
    atomic_int losses = 0;
    lk_client *client = open_patient();
    lk_lock *lock = new_watched_lock(client, "a", 3000, &losses);
    assert_ok(lk_wrlock(lock));
    sleep_ms(7000); /* more than two leases */
    assert_true(lk_valid(lock));
    assert_ok(lk_renew(lock, LEASE_MS));
    assert_true(lk_remaining_ms(lock) > LEASE_MS / 2);
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(atomic_load(&losses), 0);
}

/* ------------------------------------------------------------------------------ ends */

TEST_WITH(start_site, a_call_that_waits_for_replicas_can_be_cancelled) {
    lk_client *client = open_patient();
    lk_lock *lock = new_lock(client, "a");
    call acquiring;
    for_each_replica(test_node_pause, REPLICAS);
    begin_lock(&acquiring, lock, LK_WRITE, FAILOVER_MS);
    eventually(key_count_at(master()) == 1);
    assert_ok(lk_cancel(lock));
    assert_call(&acquiring, LK_CANCELED);
    for_each_replica(test_node_continue, REPLICAS);
    eventually(key_count_at(master()) == 0);
}

TEST_WITH(start_site, a_client_closes_while_replicas_are_silent) {
    lk_client *client = open_with(REPLICAS, 300);
    lk_lock *lock = new_lock(client, "a");
    take(lock);
    for_each_replica(test_node_pause, REPLICAS);
    close_bounded(client);
    assert_int_equal(key_count_at(master()), 0);
}

TEST_WITH(start_site, a_confirmed_hold_survives_its_master) {
    atomic_int losses = 0;
    lk_client *client = open_patient();
    lk_lock *lock = new_watched_lock(client, "a", LEASE_MS, &losses);
    int former = master();
    assert_ok(lk_wrlock(lock));
    test_node_kill(server_at(former)); /* at once */
    assert_true(test_sentinels_wait_for_other_master(site, former, FAILOVER_MS) >= 0);
    test_node_restart(server_at(former)); /* so that there are two replicas again */
    assert_ok(lk_renew(lock, 0));
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(atomic_load(&losses), 0);
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
