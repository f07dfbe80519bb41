/*
 * A master with two replicas and three sentinels: what holders, waiters and callers see while the
 * master fails and another server becomes the master.
 */
#include "site.h"

/* ------------------------------------------------------------------------------ no failover */

TEST_WITH(plain_site, a_lock_lives_on_the_master_that_the_sentinels_name) {
    lk_client *client = open_at_site();
    lk_lock *lock = new_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    assert_int_equal(key_count_at(master()), 1);
    assert_string_equal(inspect(client, "a")->server,
                        world_print("127.0.0.1:%d", test_node_port(server_at(master()))));
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(key_count_at(master()), 0);
}

TEST_WITH(plain_site, a_seed_that_is_down_does_no_harm) {
    test_node_kill(test_sentinels_sentinel(site, 0));
    lk_client *client = open_at_site();
    lk_lock *lock = new_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

/* ------------------------------------------------------------------------------ holders */

TEST_WITH(plain_site, a_hold_that_was_replicated_goes_on) {
    atomic_int losses = 0;
    lk_client *client = open_at_site();
    lk_lock *lock = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_ok(lk_wrlock(lock));
    uint64_t fence = lk_fence(lock);
    replicate();
    other_master(kill_master());
    assert_true(lk_valid(lock));
    assert_ok(lk_renew(lock, 0));
    assert_int_equal(lk_fence(lock), fence);
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(atomic_load(&losses), 0);
    assert_int_equal(key_count_at(master()), 0);
}

TEST_WITH(plain_site, a_hold_that_the_new_master_lacks_is_lost_and_the_next_fence_is_greater) {
    atomic_int losses = 0;
    lk_client *client = open_at_site();
    lk_lock *lock = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_ok(lk_wrlock(lock));
    uint64_t fence = lk_fence(lock);
    int former = master();
    replicate();
    assert_true(
        test_node_tell(server_at(former), "DEL lk:{a}")); /* as if it had never come there */
    replicate();
    test_node_kill(server_at(former));
    other_master(former);
    eventually(atomic_load(&losses) == 1);
    assert_false(lk_valid(lock));
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_ok(lk_wrlock(lock));
    assert_true(lk_fence(lock) > fence);
    assert_ok(lk_wrunlock(lock));
}

/* ------------------------------------------------------------------------------ waiters */

TEST_WITH(plain_site, a_waiter_is_granted_by_the_new_master) {
    lk_client *client = open_at_site(), *other = open_at_site();
    lk_lock *holder = new_leased_lock(client, "a", LEASE_MS), *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    replicate();
    other_master(kill_master());
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(waiter));
}

TEST_WITH(plain_site, a_master_that_stops_and_goes_on_is_left) {
    atomic_int losses = 0;
    lk_client *client = open_at_site(), *other = open_at_site();
    lk_lock *holder = new_watched_lock(client, "a", LEASE_MS, &losses);
    lk_lock *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    replicate();
    int former = master();
    test_node_pause(server_at(former));
    other_master(former);
    assert_ok(lk_renew(holder, 0)); /* by the new master: the old one cannot answer */
    eventually(look_at(other, "a").waiters == 1);
    test_node_continue(server_at(former)); /* and says that it is a master, for a while */
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_true(test_sentinels_wait_for_replica(site, (size_t)former, FAILOVER_MS));
    assert_ok(lk_wrunlock(waiter));
    assert_int_equal(atomic_load(&losses), 0);
    assert_int_equal(key_count_at(master()), 0);
}

TEST_WITH(plain_site, a_failover_on_request_loses_nothing) {
    atomic_int losses = 0;
    lk_client *client = open_at_site(), *other = open_at_site();
    lk_lock *holder = new_watched_lock(client, "a", LEASE_MS, &losses);
    lk_lock *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    replicate();
    int former = master();
    assert_true(test_sentinels_fail_over(site, 0, FAILOVER_MS));
    other_master(former);
    assert_ok(lk_renew(holder, 0));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(waiter));
    assert_int_equal(atomic_load(&losses), 0);
}

/* ------------------------------------------------------------------------------ passwords */

static void secured_site(void) {
    start_site(
        &(test_sentinels_options){.password = "of-servers", .sentinel_password = "of-sentinels"});
}

static char *secured_url(const char *of_servers, const char *of_sentinels) {
    const char *hosts = strstr(test_sentinels_url(site), "://") + 3;
    return world_print("redis+sentinel://:%s@%s?sentinel_password=%s", of_servers, hosts,
                       of_sentinels);
}

TEST_WITH(secured_site, sentinels_have_a_password_of_their_own) {
    lk_client *client = open_client_url(secured_url("of-servers", "of-sentinels"), NULL);
    lk_lock *lock = new_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

static void assert_refused(const char *url, lk_status wanted, const char *words) {
    lk_client *client = NULL;
    assert_status(lk_open(url, NULL, &client), wanted);
    assert_null(client);
    assert_said(words);
    assert_says_not(lk_last_error(), "of-se");
}

TEST_WITH(secured_site, a_password_for_the_wrong_half_is_refused) {
    assert_refused(secured_url("of-servers", "of-servers"), LK_DENIED, "AUTH failed");
    assert_refused(secured_url("of-sentinels", "of-sentinels"), LK_DENIED, "AUTH failed");
    assert_refused(test_sentinels_url(site), LK_DENIED, "LATCHKEY_SENTINEL_PASSWORD");
}

/* ------------------------------------------------------------------------------ bad input */

TEST_WITH(plain_site, sentinels_that_do_not_know_the_master_say_so) {
    char *url = world_print(
        "%.*s/nobody", (int)(strrchr(test_sentinels_url(site), '/') - test_sentinels_url(site)),
        test_sentinels_url(site));
    assert_refused(url, LK_INVALID, "does not know a master called \"nobody\"");
}

TEST_WITH(plain_site, a_server_is_no_sentinel) {
    char *url = world_print("redis+sentinel://127.0.0.1:%d/latchkey", test_node_port(server_at(0)));
    assert_refused(url, LK_UNSUPPORTED, "is not a sentinel");
}

TEST_WITH(plain_site, a_sentinel_is_no_server) {
    char *url =
        world_print("redis://127.0.0.1:%d", test_node_port(test_sentinels_sentinel(site, 0)));
    assert_refused(url, LK_UNSUPPORTED, "redis+sentinel://");
}

TEST(seeds_that_are_all_down_are_unavailable) {
    char *url = world_print("redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/latchkey",
                            test_server_free_port(), test_server_free_port());
    assert_refused(url, LK_UNAVAILABLE, "onnect");
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
