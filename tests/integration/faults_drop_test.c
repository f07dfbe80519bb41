/*
 * A hold that is lost by the client's clock may still exist in the server. The client drops it
 * there: only that hold, and before any other request of the lock.
 */
#include "network.h"

enum { LEASE_MS = 30000, FOR_LONG_MS = 600000 };

static lk_lock *new_lock_renewed_by_hand(const char *owner, int64_t lease_ms) {
    lk_lock *made = NULL;
    lk_lock_options options = {.lease_ms = lease_ms, .owner = owner, .manual_renew = true};
    made = new_lock_with(client, "a", &options);
    return made;
}

static lk_status renew_for_long(lk_lock *of) {
    return lk_renew(of, FOR_LONG_MS);
}

/* The server renews the hold for long, and its answer is lost: the hold expires by our clock. */
static void lose_while_the_server_has_it(lk_lock *lost) {
    call renewal;
    size_t cuts = proxy_cuts(net);
    proxy_refuse(net, true);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    begin_call(&renewal, renew_for_long, lost);
    eventually(proxy_cuts(net) > cuts);
    assert_call(&renewal, LK_UNAVAILABLE);
    eventually(!lk_valid(lost));
    proxy_refuse(net, false);
}

/* The next holder need not wait for the lease to end, and learns that a writer was lost. */
static void expect_free_and_abandoned(void) {
    begin_call(&waiting, lk_wrlock, holder);
    assert_call(&waiting, LK_OK);
    assert_true(lk_abandoned(holder));
    assert_ok(lk_wrunlock(holder));
    eventually(is_empty());
}

TEST_WITH(hasty_network, what_the_server_has_of_a_lost_hold_is_dropped_whoever_owns_it) {
    const char *owners[] = {NULL, "somebody"};
    for (int i = 0; i < 2; i++) {
        lk_lock *lost = new_lock_renewed_by_hand(owners[i], 900);
        assert_ok(lk_wrlock(lost));
        lose_while_the_server_has_it(lost);
        expect_free_and_abandoned();
        free_lock(lost);
    }
}

TEST_WITH(hasty_network, a_hold_whose_renewal_is_answered_too_late_is_dropped) {
    enum { ROUNDS = 4 }; /* the caller's patience and the connection's end at the same time */
    for (int i = 0; i < ROUNDS; i++) {
        lk_lock *lost = new_lock_renewed_by_hand(NULL, 900);
        assert_ok(lk_wrlock(lost));
        proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
        begin_call(&waiting, renew_for_long, lost);
        assert_call(&waiting, LK_UNAVAILABLE);
        proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
        eventually(!lk_valid(lost));
        expect_free_and_abandoned();
        free_lock(lost);
    }
}

TEST_WITH(hasty_network, others_of_the_same_owner_keep_the_lock_when_one_has_lost_it) {
    lk_lock *lost = new_lock_renewed_by_hand(NULL, 900), *child = NULL;
    lk_lock_options options = {.lease_ms = LEASE_MS, .owner = lk_owner(lost)};
    assert_ok(lk_wrlock(lost));
    child = new_lock_with(other, "a", &options);
    assert_ok(lk_wrlock(child));
    begin_wait(&waiting, holder, LK_WRITE, other, "a", 1);
    lose_while_the_server_has_it(lost);
    eventually(look_at(other, "a").holders == 1);
    assert_int_equal(look_at(other, "a").waiters, 1);
    assert_true(lk_valid(child));
    assert_ok(lk_wrunlock(child));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(holder));
}

/* The calls begin while the server is away, and the lease expires before it is back. */
TEST_WITH(network, the_next_hold_of_the_handle_is_not_dropped_for_the_last) {
    lk_lock *again = new_lock_renewed_by_hand(NULL, 2000);
    tally more = {0}, given = {0}, next = {0};
    assert_ok(lk_wrlock(again));
    size_t tried = proxy_connections_ever(net);
    take_server_away(net);
    eventually(proxy_connections_ever(net) > tried); /* the client has noticed */
    assert_ok(lk_acquire_async(again, LK_READ, -1, tally_done, &more));
    assert_ok(lk_release_async(again, LK_WRITE, tally_done, &given));
    assert_ok(lk_acquire_async(again, LK_WRITE, -1, tally_done, &next));
    eventually(atomic_load(&given.count) == 1);
    assert_int_equal(atomic_load(&more.status), LK_LOST);
    assert_int_equal(atomic_load(&given.status), LK_LOST);
    proxy_refuse(net, false);
    eventually(atomic_load(&next.count) == 1);
    assert_int_equal(atomic_load(&next.status), LK_OK);
    assert_ok(lk_renew(again, LEASE_MS)); /* earlier requests are done */
    assert_status(lk_trywrlock(holder), LK_BUSY);
    assert_true(lk_valid(again));
    assert_ok(lk_wrunlock(again));
}

/* Dropping takes the lock for a moment. Its lease is short, in case the client dies then. */
TEST_WITH(hasty_network, what_drops_it_has_the_shortest_lease) {
    glance seen;
    lk_lock *lost = new_lock_renewed_by_hand(NULL, 900);
    assert_ok(lk_wrlock(lost));
    proxy_delay(net, PROXY_ALL, PROXY_TO_CLIENT, 30); /* it is there for at least so long */
    lose_while_the_server_has_it(lost);
    eventually((seen = look_at(other, "a")).left_ms < FOR_LONG_MS / 2);
    assert_true(seen.left_ms <= 100);
}

/* ------------------------------------------------------------------------------ on the way */

static void unlock(lk_lock *lost, void *arg) {
    atomic_fetch_add((atomic_int *)arg, lk_wrunlock(lost) == LK_LOST ? 1 : 100);
}

static lk_status renew(lk_lock *of) {
    return lk_renew(of, 0);
}

/* on_lost unlocks before the answer arrives: nothing is left to renew or to downgrade. */
TEST_WITH(network, what_was_on_the_way_when_a_hold_was_lost_and_unlocked_says_lost) {
    lk_status (*const calls[])(lk_lock *) = {renew, lk_downgrade};
    for (int i = 0; i < 2; i++) {
        atomic_int unlocked = 0;
        lk_lock *lost = NULL;
        lk_lock_options options = {
            .lease_ms = 2500, .manual_renew = true, .on_lost = unlock, .on_lost_arg = &unlocked};
        lost = new_lock_with(client, "a", &options);
        assert_ok(lk_wrlock(lost));
        proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
        begin_call(&waiting, calls[i], lost);
        eventually(atomic_load(&unlocked));
        proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
        assert_call(&waiting, LK_LOST);
        assert_status(lk_rdunlock(lost), LK_NOT_HELD);
        assert_int_equal(atomic_load(&unlocked), 1);
        free_lock(lost);
        ask("FLUSHALL");
    }
}

static void network_of_3_seconds(void) {
    network_with(3000);
}

/* The acquire times out while its answer is on the way. It is granted all the same. */
TEST_WITH(network_of_3_seconds, a_release_is_not_given_up_before_the_acquire_that_it_follows) {
    tally taken = {0}, given = {0};
    take_server_away(net);
    assert_ok(lk_acquire_async(lock, LK_WRITE, 2800, tally_done, &taken));
    assert_ok(lk_release_async(lock, LK_WRITE, tally_done, &given));
    sleep_ms(500);
    ask("CLIENT PAUSE 2900 WRITE");
    proxy_refuse(net, false);
    eventually(atomic_load(&taken.count) == 1 && atomic_load(&given.count) == 1);
    assert_false(lk_valid(lock));
    eventually(is_empty());
}

int main(void) {
    return world_run(begin_world);
}
