/* Waits, claims, upgrades and async calls, while connections are cut, silent or away. */
#include "network.h"

/* `lock` is granted and stays valid, and nothing is left after it is unlocked. */
static void expect_kept(void) {
    enum { CLAIM_MS = 1000 };
    eventually(lk_remaining_ms(lock) > 2 * CLAIM_MS);
    glance seen = look_at(other, "a");
    assert_int_equal(seen.holders, 1);
    assert_int_equal(seen.writes, 1);
    assert_true(seen.left_ms > 2 * CLAIM_MS);
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ claims */

static void claim_while_cut(void (*cut_request)(proxy *, proxy_kinds, size_t)) {
    wait_behind_holder();
    cut_request(net, PROXY_COMMANDS, 1);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    eventually(proxy_cuts(net) == 1);
    expect_kept();
}

TEST_WITH(network, claim_that_is_cut_before_its_answer_is_made_again) {
    claim_while_cut(proxy_cut_after_request);
}

TEST_WITH(network, claim_that_does_not_reach_the_server_is_made_again) {
    claim_while_cut(proxy_cut_before_request);
}

TEST_WITH(network, subscription_that_says_nothing_any_more_only_delays_a_grant) {
    enum { LEASE_MS = 1500 }; /* the wait is refreshed every third of it */
    lk_lock *brief = new_leased_lock(client, "a", LEASE_MS);
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, brief, LK_WRITE, other, "a", 1);
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_true(lk_valid(brief));
    assert_ok(lk_wrunlock(brief));
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT); /* late messages change nothing */
    assert_ok(lk_wrlock(brief));
    assert_ok(lk_wrunlock(brief));
    eventually(is_empty());
}

TEST_WITH(network, message_that_comes_after_its_wait_was_over_changes_nothing) {
    wait_behind_holder();
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT);
    assert_ok(lk_wrunlock(holder));
    assert_ok(lk_cancel(lock));
    lk_status status = end_call(&waiting);
    assert_true(status == LK_OK || status == LK_CANCELED);
    if (status == LK_OK)
        assert_ok(lk_wrunlock(lock));
    eventually(is_empty());
    assert_ok(lk_wrlock(lock));
    uint64_t fence = lk_fence(lock);
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT);
    eventually(proxy_bytes_taken(net, PROXY_TO_CLIENT) == proxy_bytes_passed(net, PROXY_TO_CLIENT));
    assert_ok(lk_renew(lock, 0));
    assert_true(lk_valid(lock));
    assert_int_equal(lk_fence(lock), fence);
    assert_int_equal(look_at(other, "a").writes, 1);
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ waits */

TEST_WITH(network, wait_in_the_queue_survives_an_outage) {
    wait_behind_holder();
    take_server_away(net);
    size_t tried = proxy_connections_ever(net);
    eventually(proxy_connections_ever(net) >= tried + 3);
    proxy_refuse(net, false);
    assert_true(proxy_wait_connections(net, PROXY_ALL, 2, LONG_MS));
    assert_false(atomic_load(&waiting.over));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    expect_kept();
}

TEST_WITH(network, grant_during_an_outage_is_learnt_after_it) {
    wait_behind_holder();
    take_server_away(net);
    assert_ok(lk_wrunlock(holder));
    proxy_refuse(net, false);
    assert_call(&waiting, LK_OK);
    expect_kept();
}

TEST_WITH(hasty_network, wait_on_a_server_that_is_away_for_long_is_given_up_and_taken_back) {
    wait_behind_holder();
    take_server_away(net);
    assert_call(&waiting, LK_UNAVAILABLE);
    assert_int_equal(look_at(other, "a").waiters, 1);
    proxy_refuse(net, false);
    expect_no_waiter();
    eventually(lk_trywrlock(lock) == LK_OK);
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(network, cancel_needs_no_server) {
    wait_behind_holder();
    take_server_away(net);
    assert_ok(lk_cancel(lock));
    assert_call(&waiting, LK_CANCELED);
    proxy_refuse(net, false);
    expect_no_waiter();
}

TEST_WITH(hasty_network, cancel_on_a_silent_server_ends_the_wait) {
    wait_behind_holder();
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    assert_ok(lk_cancel(lock));
    lk_status status = end_call(&waiting);
    assert_true(status == LK_CANCELED || status == LK_UNAVAILABLE);
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    expect_no_waiter();
}

TEST_WITH(network, close_ends_waits_on_a_silent_server) {
    lk_client *closed = open_client_at(proxy_socket(net), HASTY_MS);
    lk_lock *waiter = new_lock(closed, "a");
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    proxy_pause(net, PROXY_ALL, PROXY_BOTH);
    close_client(closed);
    assert_call(&waiting, LK_CANCELED);
    assert_status(lk_wrlock(waiter), LK_INVALID);
    free_lock(waiter);
    proxy_resume(net, PROXY_ALL, PROXY_BOTH);
    assert_ok(lk_wrunlock(holder));
}

/* ------------------------------------------------------------------------------ upgrades */

TEST_WITH(network, upgrade_that_is_cut_before_its_answer_is_done_once) {
    assert_ok(lk_rdlock(lock));
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_ok(lk_wrlock(lock));
    assert_int_equal(proxy_cuts(net), 1);
    glance seen = look_at(other, "a");
    assert_int_equal(seen.reads, 1);
    assert_int_equal(seen.writes, 1);
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_rdunlock(lock));
    assert_nothing_left();
}

TEST_WITH(network, upgrade_granted_while_nobody_listened_is_learnt) {
    assert_ok(lk_rdlock(holder));
    assert_ok(lk_rdlock(lock));
    begin_wait(&waiting, lock, LK_WRITE, other, "a", 1);
    take_server_away(net);
    assert_ok(lk_rdunlock(holder));
    proxy_refuse(net, false);
    assert_call(&waiting, LK_OK);
    assert_int_equal(look_at(other, "a").writes, 1);
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_rdunlock(lock));
    assert_nothing_left();
}

TEST_WITH(hasty_network, upgrade_given_up_leaves_the_reads) {
    assert_ok(lk_rdlock(holder));
    assert_ok(lk_rdlock(lock));
    begin_wait(&waiting, lock, LK_WRITE, other, "a", 1);
    take_server_away(net);
    assert_call(&waiting, LK_UNAVAILABLE);
    assert_true(lk_valid(lock));
    proxy_refuse(net, false);
    eventually(look_at(other, "a").waiters == 0);
    assert_int_equal(look_at(other, "a").holders, 2);
    assert_ok(lk_rdunlock(holder));
    eventually(look_at(other, "a").writes == 0);
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_ok(lk_rdunlock(lock));
    eventually(is_empty());
}

/* ------------------------------------------------------------------------------ async */

TEST_WITH(network, async_calls_are_waited_out_and_told_once) {
    tally taken = {0}, given = {0};
    take_server_away(net);
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, tally_done, &taken));
    assert_ok(lk_release_async(lock, LK_WRITE, tally_done, &given));
    size_t tried = proxy_connections_ever(net);
    eventually(proxy_connections_ever(net) >= tried + 2);
    assert_int_equal(atomic_load(&taken.count), 0);
    proxy_refuse(net, false);
    eventually(atomic_load(&given.count) == 1);
    assert_int_equal(atomic_load(&taken.count), 1);
    assert_int_equal(atomic_load(&taken.status), LK_OK);
    assert_int_equal(atomic_load(&given.status), LK_OK);
    assert_nothing_left();
}

TEST_WITH(hasty_network, async_calls_on_a_server_that_is_away_for_long_are_told_once) {
    tally taken = {0}, given = {0};
    lk_lock *held = new_lock(client, "b");
    assert_ok(lk_wrlock(held));
    take_server_away(net);
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, tally_done, &taken));
    assert_ok(lk_release_async(held, LK_WRITE, tally_done, &given));
    eventually(atomic_load(&taken.count) == 1 && atomic_load(&given.count) == 1);
    assert_int_equal(atomic_load(&taken.status), LK_UNAVAILABLE);
    assert_int_equal(atomic_load(&given.status), LK_UNAVAILABLE);
    assert_false(lk_valid(held));
    proxy_refuse(net, false);
    eventually(is_empty());
    free_lock(held);
    eventually(lk_trywrlock(lock) == LK_OK);
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(atomic_load(&taken.count), 1);
    assert_int_equal(atomic_load(&given.count), 1);
}

TEST_WITH(network, free_during_an_async_call_without_an_answer_tells_it_and_takes_it_back) {
    tally taken = {0};
    lk_lock *freed = new_lock(client, "b");
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    assert_ok(lk_acquire_async(freed, LK_WRITE, -1, tally_done, &taken));
    eventually(!is_empty());
    free_lock(freed);
    assert_int_equal(atomic_load(&taken.count), 1);
    assert_int_equal(atomic_load(&taken.status), LK_CANCELED);
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    eventually(is_empty());
}

int main(void) {
    return world_run(begin_world);
}
