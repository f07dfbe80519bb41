/* Connections that are cut: calls find out their result, and holds and waits go on. */
#include "network.h"

/* ------------------------------------------------------------------------------ one call, cut */

TEST_WITH(network, acquire_cut_before_its_answer_holds_once) {
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_ok(lk_wrlock(lock));
    assert_int_equal(proxy_cuts(net), 1);
    glance seen = look_at(other, "a");
    assert_int_equal(seen.holders, 1);
    assert_int_equal(seen.writes, 1);
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

TEST_WITH(network, acquire_cut_before_it_reached_the_server_holds_once) {
    proxy_cut_before_request(net, PROXY_COMMANDS, 1);
    assert_ok(lk_rdlock(lock));
    assert_int_equal(proxy_cuts(net), 1);
    assert_int_equal(look_at(other, "a").reads, 1);
    assert_ok(lk_rdunlock(lock));
    assert_nothing_left();
}

TEST_WITH(network, reentry_cut_before_its_answer_is_counted_once) {
    assert_ok(lk_wrlock(lock));
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_ok(lk_wrlock(lock));
    assert_int_equal(proxy_cuts(net), 1);
    assert_int_equal(look_at(other, "a").writes, 2);
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

TEST_WITH(network, try_cut_before_its_answer_is_busy_and_leaves_nothing) {
    assert_ok(lk_wrlock(holder));
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_trywrlock(lock), LK_BUSY);
    assert_int_equal(proxy_cuts(net), 1);
    assert_int_equal(look_at(other, "a").waiters, 0);
    assert_ok(lk_wrunlock(holder));
    assert_nothing_left();
}

TEST_WITH(network, release_cut_before_its_answer_is_done) {
    assert_ok(lk_wrlock(lock));
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(proxy_cuts(net), 1);
    assert_nothing_left();
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
}

TEST_WITH(network, release_cut_before_it_reached_the_server_is_done) {
    assert_ok(lk_wrlock(lock));
    proxy_cut_before_request(net, PROXY_COMMANDS, 1);
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(proxy_cuts(net), 1);
    assert_nothing_left();
}

TEST_WITH(network, nested_release_cut_before_its_answer_is_counted_once) {
    for (int i = 0; i < 3; i++)
        assert_ok(lk_rdlock(lock));
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_ok(lk_rdunlock(lock));
    assert_int_equal(proxy_cuts(net), 1);
    assert_int_equal(look_at(other, "a").reads, 2);
    assert_ok(lk_rdunlock(lock));
    assert_ok(lk_rdunlock(lock));
    assert_nothing_left();
}

TEST_WITH(network, downgrade_cut_before_its_answer_is_done_once) {
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrlock(lock));
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_ok(lk_downgrade(lock));
    assert_int_equal(proxy_cuts(net), 1);
    glance seen = look_at(other, "a");
    assert_int_equal(seen.reads, 1);
    assert_int_equal(seen.writes, 1);
    assert_ok(lk_rdunlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

TEST_WITH(network, renewal_by_hand_cut_before_its_answer_is_done) {
    lk_lock *leased = new_leased_lock(client, "a", 20000);
    assert_ok(lk_wrlock(leased));
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_ok(lk_renew(leased, 3600000));
    assert_int_equal(proxy_cuts(net), 1);
    assert_true(lk_remaining_ms(leased) > 20000);
    assert_true(look_at(other, "a").left_ms > 20000);
    assert_ok(lk_wrunlock(leased));
}

TEST_WITH(network, automatic_renewals_that_are_cut_again_and_again_keep_the_hold) {
    enum { LEASE_MS = 3000 };
    atomic_int losses = 0;
    lk_lock *watched = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_ok(lk_wrlock(watched));
    uint64_t fence = lk_fence(watched);
    for (size_t i = 1; i <= 3; i++) {
        proxy_cut_after_request(net, PROXY_COMMANDS, 1);
        eventually(proxy_cuts(net) == i);
    }
    eventually(lk_remaining_ms(watched) > LEASE_MS / 2);
    assert_true(lk_valid(watched));
    assert_int_equal(lk_fence(watched), fence);
    assert_int_equal(atomic_load(&losses), 0);
    assert_ok(lk_wrunlock(watched));
    assert_nothing_left();
}

TEST_WITH(network, inspect_cut_before_its_answer_is_asked_again) {
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_int_equal(look_at(client, "a").holders, 0);
    assert_int_equal(proxy_cuts(net), 1);
}

TEST_WITH(network, force_cut_before_its_answer_is_not_done_twice) {
    assert_ok(lk_rdlock(holder));
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_force_release(client, "a", NULL), LK_UNAVAILABLE);
    assert_said("may have taken effect");
    assert_int_equal(proxy_cuts(net), 1);
    assert_nothing_left();
}

/* ------------------------------------------------------------------------ ends of waits, cut */

/* The first request of a wait is its acquire, the second its cancel. */
static void time_out_while_cut(void (*cut_request)(proxy *, proxy_kinds, size_t)) {
    assert_ok(lk_wrlock(holder));
    cut_request(net, PROXY_COMMANDS, 2);
    lk_status status = lk_timedwrlock(lock, 100);
    assert_true(status == LK_TIMEOUT || status == LK_UNAVAILABLE);
    assert_int_equal(proxy_cuts(net), 1);
    expect_no_waiter();
}

TEST_WITH(network, timeout_whose_cancel_is_cut_leaves_nothing) {
    time_out_while_cut(proxy_cut_after_request);
    assert_ok(lk_wrlock(lock)); /* the handle is as good as new */
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(network, timeout_whose_cancel_does_not_reach_the_server_leaves_nothing) {
    time_out_while_cut(proxy_cut_before_request);
}

TEST_WITH(network, cancel_that_is_cut_leaves_nothing) {
    wait_behind_holder();
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_ok(lk_cancel(lock));
    assert_call(&waiting, LK_CANCELED);
    assert_int_equal(proxy_cuts(net), 1);
    expect_no_waiter();
}

TEST_WITH(network, waiting_acquire_cut_before_its_answer_waits_once) {
    assert_ok(lk_wrlock(holder));
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    begin_call(&waiting, lk_wrlock, lock);
    eventually(proxy_cuts(net) == 1);
    eventually(look_at(other, "a").waiters == 1);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_int_equal(look_at(other, "a").writes, 1);
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ all cut */

static void kill_all(void) {
    ask("CLIENT KILL TYPE normal SKIPME yes");
    ask("CLIENT KILL TYPE pubsub");
}

TEST_WITH(network, client_whose_connections_were_killed_while_idle_works) {
    kill_all();
    assert_ok(lk_wrlock(lock));
    kill_all();
    assert_int_equal(look_at(client, "a").writes, 1);
    kill_all();
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

TEST_WITH(network, hold_stays_and_is_renewed_as_soon_as_the_server_is_reached_again) {
    enum { LEASE_MS = 3600000 }; /* the next renewal is twenty minutes away */
    atomic_int losses = 0;
    fake = start_fake();
    lk_client *through = open_client_at(fake_server_socket(fake), PATIENT_MS);
    lk_lock *watched = new_watched_lock(through, "a", LEASE_MS, &losses);
    assert_ok(lk_wrlock(watched));
    size_t count = fake_server_count(fake, "EVALSHA * 1 lk:{a}");
    kill_all();
    assert_true(lk_valid(watched));
    assert_int_equal(look_at(through, "b").holders, 0); /* makes the client connect again */
    assert_true(fake_server_wait_for(fake, "EVALSHA * 1 lk:{a}", count + 1, LONG_MS));
    assert_true(lk_valid(watched));
    assert_int_equal(look_at(other, "a").writes, 1);
    assert_int_equal(atomic_load(&losses), 0);
    assert_ok(lk_wrunlock(watched));
}

TEST_WITH(network, waiter_keeps_its_place_while_its_connections_are_cut) {
    lk_lock *second = new_lock(other, "a");
    call second_waits;
    wait_behind_holder();
    begin_call(&second_waits, lk_wrlock, second);
    eventually(look_at(other, "a").waiters == 2);
    for (int i = 0; i < 3; i++) {
        proxy_cut_all(net, PROXY_ALL);
        assert_true(proxy_wait_connections(net, PROXY_ALL, 2, LONG_MS));
        eventually(look_at(other, "a").waiters == 2);
    }
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_false(atomic_load(&second_waits.over));
    assert_ok(lk_wrunlock(lock));
    assert_call(&second_waits, LK_OK);
    assert_ok(lk_wrunlock(second));
    assert_nothing_left();
}

/* How long it takes to learn of a grant that was published while the client did not listen. */
static int64_t ms_until_a_missed_grant_is_known(void) {
    assert_ok(lk_rdlock(holder));
    begin_wait(&waiting, lock, LK_WRITE, other, "a", 1);
    proxy_refuse(net, true);
    proxy_cut_all(net, PROXY_SUBSCRIPTIONS);
    eventually(ask("PUBSUB NUMPAT") == 0 && proxy_connections_now(net, PROXY_ALL) == 1);
    assert_ok(lk_rdunlock(holder));
    proxy_refuse(net, false);
    int64_t begun_ms = now_ms();
    assert_call(&waiting, LK_OK);
    int64_t took_ms = now_ms() - begun_ms;
    assert_ok(lk_wrunlock(lock));
    return took_ms;
}

/* The client asks again after it has subscribed. The next refresh would be 3 s later. */
TEST_WITH(network, grant_that_nobody_heard_is_known_when_the_subscription_is_back) {
    enum { TRIES = 5, SOON_MS = 1500 };
    int64_t least_ms = LONG_MS;
    for (int i = 0; i < TRIES && least_ms > SOON_MS; i++) {
        int64_t took_ms = ms_until_a_missed_grant_is_known();
        least_ms = took_ms < least_ms ? took_ms : least_ms;
    }
    assert_true(least_ms <= SOON_MS);
}

/* Both calls time out. The downgrade still reaches the server before the release. */
TEST_WITH(hasty_network, what_is_given_up_keeps_its_order) {
    tally read = {0};
    assert_ok(lk_wrlock(lock));
    proxy_pause(net, PROXY_ALL, PROXY_BOTH);
    assert_ok(lk_acquire_async(lock, LK_READ, 0, tally_done, &read));
    assert_status(lk_downgrade(lock), LK_UNAVAILABLE);
    assert_status(lk_rdunlock(lock), LK_UNAVAILABLE);
    proxy_resume(net, PROXY_ALL, PROXY_BOTH);
    eventually(atomic_load(&read.count) == 1);
    if (atomic_load(&read.status) == LK_OK)
        assert_ok(lk_rdunlock(lock));
    eventually(is_empty());
}

int main(void) {
    return world_run(begin_world);
}
