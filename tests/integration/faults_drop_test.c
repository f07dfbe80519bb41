/*
 * What the server may still have of a hold that is lost by our clock is dropped there: that hold
 * alone, and before anything else that the handle asks for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faults_proxied.h"

enum { LEASE_MS = 30000, FOR_LONG_MS = 600000 };

static lk_lock *new_lock_renewed_by_hand(const char *owner, int64_t lease_ms) {
    lk_lock *made = NULL;
    lk_lock_options options = {.lease_ms = lease_ms, .owner = owner, .manual_renew = true};
    assert_status(lk_lock_new(client, "a", &options, &made), LK_OK);
    return made;
}

static lk_status renew_for_long(lk_lock *of) {
    return lk_renew(of, FOR_LONG_MS);
}

/* The server has renewed it for long, which nobody was told: by our clock it runs out. */
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

/* Others need not wait for a lease that nobody uses, and learn that it was lost. */
static void expect_free_and_abandoned(void) {
    begin_call(&waiting, lk_wrlock, holder);
    assert_call(&waiting, LK_OK);
    assert_true(lk_abandoned(holder));
    assert_status(lk_wrunlock(holder), LK_OK);
    eventually(is_empty(eye));
}

static void what_the_server_has_of_a_lost_hold_is_dropped_whoever_owns_it(void **state) {
    (void)state;
    const char *owners[] = {NULL, "somebody"};
    for (int i = 0; i < 2; i++) {
        lk_lock *lost = new_lock_renewed_by_hand(owners[i], 900);
        assert_status(lk_wrlock(lost), LK_OK);
        lose_while_the_server_has_it(lost);
        expect_free_and_abandoned();
        lk_lock_free(lost);
    }
}

static void a_hold_whose_renewal_is_answered_too_late_is_dropped(void **state) {
    (void)state;
    enum { ROUNDS = 4 }; /* the caller's patience and the connection's end at the same time */
    for (int i = 0; i < ROUNDS; i++) {
        lk_lock *lost = new_lock_renewed_by_hand(NULL, 900);
        assert_status(lk_wrlock(lost), LK_OK);
        proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
        begin_call(&waiting, renew_for_long, lost);
        assert_call(&waiting, LK_UNAVAILABLE);
        proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
        eventually(!lk_valid(lost));
        expect_free_and_abandoned();
        lk_lock_free(lost);
    }
}

static void others_of_the_same_owner_keep_the_lock_when_one_has_lost_it(void **state) {
    (void)state;
    lk_lock *lost = new_lock_renewed_by_hand(NULL, 900), *child = NULL;
    lk_lock_options options = {.lease_ms = LEASE_MS, .owner = lk_owner(lost)};
    assert_status(lk_wrlock(lost), LK_OK);
    assert_status(lk_lock_new(other, "a", &options, &child), LK_OK);
    assert_status(lk_wrlock(child), LK_OK);
    begin_wait(&waiting, holder, other, "a");
    lose_while_the_server_has_it(lost);
    eventually(look_at(other, "a").holders == 1);
    assert_int_equal(look_at(other, "a").waiters, 1);
    assert_true(lk_valid(child));
    assert_status(lk_wrunlock(child), LK_OK);
    assert_call(&waiting, LK_OK);
    assert_status(lk_wrunlock(holder), LK_OK);
    lk_lock_free(lost);
    lk_lock_free(child);
}

/* All of it is begun while the server is away, and the lease runs out before it is back. */
static void the_next_hold_of_the_handle_is_not_dropped_for_the_last(void **state) {
    (void)state;
    lk_lock *again = new_lock_renewed_by_hand(NULL, 2000);
    outcome more = {0}, given = {0}, next = {0};
    assert_status(lk_wrlock(again), LK_OK);
    size_t tried = proxy_connections_ever(net);
    take_server_away(net);
    eventually(proxy_connections_ever(net) > tried); /* it knows that */
    assert_status(lk_acquire_async(again, LK_READ, -1, note_outcome, &more), LK_OK);
    assert_status(lk_release_async(again, LK_WRITE, note_outcome, &given), LK_OK);
    assert_status(lk_acquire_async(again, LK_WRITE, -1, note_outcome, &next), LK_OK);
    eventually(atomic_load(&given.calls) == 1);
    assert_int_equal(atomic_load(&more.status), LK_LOST);
    assert_int_equal(atomic_load(&given.status), LK_LOST);
    proxy_refuse(net, false);
    eventually(atomic_load(&next.calls) == 1);
    assert_int_equal(atomic_load(&next.status), LK_OK);
    assert_status(lk_renew(again, LEASE_MS), LK_OK); /* whatever else was sent is done */
    assert_status(lk_trywrlock(holder), LK_BUSY);
    assert_true(lk_valid(again));
    assert_status(lk_wrunlock(again), LK_OK);
    lk_lock_free(again);
}

/* It takes the place of what it drops for a moment: not for a lease, should we go away in that. */
static void what_drops_it_has_the_shortest_lease(void **state) {
    (void)state;
    glance seen;
    lk_lock *lost = new_lock_renewed_by_hand(NULL, 900);
    assert_status(lk_wrlock(lost), LK_OK);
    proxy_delay(net, PROXY_ALL, PROXY_TO_CLIENT, 30); /* so long it is there at least */
    lose_while_the_server_has_it(lost);
    eventually((seen = look_at(other, "a")).left_ms < FOR_LONG_MS / 2);
    assert_true(seen.left_ms <= 100);
    lk_lock_free(lost);
}

/* ------------------------------------------------------------------------------ on the way */

static void unlock(lk_lock *lost, void *arg) {
    atomic_fetch_add((atomic_int *)arg, lk_wrunlock(lost) == LK_LOST ? 1 : 100);
}

static lk_status renew(lk_lock *of) {
    return lk_renew(of, 0);
}

/* on_lost has unlocked it before the answer comes: there is nothing left to renew or to turn. */
static void what_was_on_the_way_when_a_hold_was_lost_and_unlocked_says_lost(void **state) {
    (void)state;
    lk_status (*const calls[])(lk_lock *) = {renew, lk_downgrade};
    for (int i = 0; i < 2; i++) {
        atomic_int unlocked = 0;
        lk_lock *lost = NULL;
        lk_lock_options options = {
            .lease_ms = 600, .manual_renew = true, .on_lost = unlock, .on_lost_arg = &unlocked};
        assert_status(lk_lock_new(client, "a", &options, &lost), LK_OK);
        assert_status(lk_wrlock(lost), LK_OK);
        proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
        begin_call(&waiting, calls[i], lost);
        eventually(atomic_load(&unlocked));
        proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
        assert_call(&waiting, LK_LOST);
        assert_status(lk_rdunlock(lost), LK_NOT_HELD);
        assert_int_equal(atomic_load(&unlocked), 1);
        lk_lock_free(lost);
        ask(eye, "FLUSHALL");
    }
}

/* The acquire's time is up while its answer is on the way: it is granted all the same. */
static void a_release_is_not_given_up_before_the_acquire_that_it_follows(void **state) {
    (void)state;
    outcome taken = {0}, given = {0};
    take_server_away(net);
    assert_status(lk_acquire_async(lock, LK_WRITE, 2800, note_outcome, &taken), LK_OK);
    assert_status(lk_release_async(lock, LK_WRITE, note_outcome, &given), LK_OK);
    nap_ms(500);
    ask(eye, "CLIENT PAUSE 2900 WRITE");
    proxy_refuse(net, false);
    eventually(atomic_load(&taken.calls) == 1 && atomic_load(&given.calls) == 1);
    assert_false(lk_valid(lock));
    eventually(is_empty(eye));
}

static int setup_for_3_seconds(void **state) {
    return setup_with(state, 3000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define HASTY_TEST(name) cmocka_unit_test_setup_teardown(name, setup_hasty, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        HASTY_TEST(what_the_server_has_of_a_lost_hold_is_dropped_whoever_owns_it),
        HASTY_TEST(a_hold_whose_renewal_is_answered_too_late_is_dropped),
        HASTY_TEST(others_of_the_same_owner_keep_the_lock_when_one_has_lost_it),
        TEST(the_next_hold_of_the_handle_is_not_dropped_for_the_last),
        HASTY_TEST(what_drops_it_has_the_shortest_lease),
        TEST(what_was_on_the_way_when_a_hold_was_lost_and_unlocked_says_lost),
        cmocka_unit_test_setup_teardown(
            a_release_is_not_given_up_before_the_acquire_that_it_follows, setup_for_3_seconds,
            teardown),
    };
    return cmocka_run_group_tests_name("faults: drops", tests, begin_world, end_world);
}
