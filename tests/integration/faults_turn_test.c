/* Calls that wait for their turn: a handle has one request at a time (SPEC 9). */
#include "network.h"

enum { LEASE_MS = 600000 };

/* The timeout of a call begins with its turn: the server had no request of it before. */
TEST_WITH(hasty_network, a_call_that_stood_behind_a_long_wait_has_all_its_patience) {
    call second;
    tally async = {0};
    wait_behind_holder();
    begin_call(&second, lk_wrlock, lock);
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, tally_done, &async));
    sleep_ms(2 * HASTY_MS);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_call(&second, LK_OK);
    eventually(atomic_load(&async.count) == 1);
    assert_int_equal(atomic_load(&async.status), LK_OK);
    for (int i = 0; i < 3; i++)
        assert_ok(lk_wrunlock(lock));
}

TEST_WITH(hasty_network, a_release_behind_a_long_async_wait_has_all_its_patience) {
    tally taken = {0}, given = {0};
    assert_ok(lk_wrlock(holder));
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, tally_done, &taken));
    assert_ok(lk_release_async(lock, LK_WRITE, tally_done, &given));
    eventually(look_at(other, "a").waiters == 1);
    sleep_ms(2 * HASTY_MS);
    assert_ok(lk_wrunlock(holder));
    eventually(atomic_load(&given.count) == 1);
    assert_int_equal(atomic_load(&taken.status), LK_OK);
    assert_int_equal(atomic_load(&given.status), LK_OK);
    eventually(is_empty());
}

/* The client repeats a refused release for a lease. No other call of the lock waits for that. */
TEST_WITH(hasty_network,
          a_release_that_is_refused_keeps_no_other_call_for_longer_than_its_patience) {
    lk_lock *refused = new_leased_lock(client, "a", LEASE_MS);
    assert_ok(lk_wrlock(refused));
    ask("SET lk:{a} foreign");
    assert_status(lk_wrunlock(refused), LK_INVALID);
    begin_call(&waiting, lk_trywrlock, refused);
    assert_call(&waiting, LK_UNAVAILABLE);
    begin_call(&waiting, lk_wrlock, refused);
    assert_call(&waiting, LK_UNAVAILABLE);
    ask("DEL lk:{a}");
    eventually(lk_trywrlock(refused) == LK_OK);
    assert_ok(lk_wrunlock(refused));
}

TEST_WITH(hasty_network, a_try_behind_a_wait_that_was_given_up_is_not_told_busy) {
    wait_behind_holder();
    take_server_away(net);
    assert_call(&waiting, LK_UNAVAILABLE);
    assert_ok(lk_wrunlock(holder));
    assert_status(lk_trywrlock(lock), LK_UNAVAILABLE);
    proxy_refuse(net, false);
}

static lk_status renew(lk_lock *of) {
    return lk_renew(of, 0);
}

TEST_WITH(network, a_renewal_whose_hold_was_lost_and_unlocked_meanwhile_says_lost) {
    lk_lock *manual = NULL;
    lk_lock_options options = {.lease_ms = 500, .manual_renew = true};
    size_t cuts = proxy_cuts(net);
    manual = new_lock_with(client, "a", &options);
    assert_ok(lk_wrlock(manual));
    proxy_refuse(net, true);
    proxy_cut_before_request(net, PROXY_COMMANDS, 1);
    begin_call(&waiting, renew, manual);
    eventually(proxy_cuts(net) > cuts);
    eventually(!lk_valid(manual));
    eventually(lk_wrunlock(manual) == LK_LOST);
    proxy_refuse(net, false);
    assert_call(&waiting, LK_LOST);
}

TEST_WITH(network, a_call_that_waits_for_its_turn_learns_of_the_loss_while_the_server_is_away) {
    lk_lock *lost = new_leased_lock(client, "a", 900);
    call second;
    assert_ok(lk_rdlock(holder));
    assert_ok(lk_rdlock(lost));
    begin_wait(&waiting, lost, LK_WRITE, other, "a", 1); /* an upgrade */
    begin_call(&second, lk_wrlock, lost);
    sleep_ms(50);
    take_server_away(net);
    assert_call(&waiting, LK_LOST);
    assert_call(&second, LK_LOST);
    proxy_refuse(net, false);
    assert_status(lk_rdunlock(lost), LK_LOST);
}

int main(void) {
    return world_run(begin_world);
}
