/* Calls that wait for their turn: a handle has one request at a time (SPEC 9). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faults_proxied.h"

enum { LEASE_MS = 600000 };

/* The patience of a call begins when its turn comes: the server owed it nothing before. */
static void a_call_that_stood_behind_a_long_wait_has_all_its_patience(void **state) {
    (void)state;
    call second;
    outcome async = {0};
    wait_behind_holder();
    begin_call(&second, lk_wrlock, lock);
    assert_status(lk_acquire_async(lock, LK_WRITE, -1, note_outcome, &async), LK_OK);
    nap_ms(2 * HASTY_MS);
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    assert_call(&second, LK_OK);
    eventually(atomic_load(&async.calls) == 1);
    assert_int_equal(atomic_load(&async.status), LK_OK);
    for (int i = 0; i < 3; i++)
        assert_status(lk_wrunlock(lock), LK_OK);
}

static void a_release_behind_a_long_async_wait_has_all_its_patience(void **state) {
    (void)state;
    outcome taken = {0}, given = {0};
    assert_status(lk_wrlock(holder), LK_OK);
    assert_status(lk_acquire_async(lock, LK_WRITE, -1, note_outcome, &taken), LK_OK);
    assert_status(lk_release_async(lock, LK_WRITE, note_outcome, &given), LK_OK);
    eventually(look_at(other, "a").waiters == 1);
    nap_ms(2 * HASTY_MS);
    assert_status(lk_wrunlock(holder), LK_OK);
    eventually(atomic_load(&given.calls) == 1);
    assert_int_equal(atomic_load(&taken.status), LK_OK);
    assert_int_equal(atomic_load(&given.status), LK_OK);
    eventually(is_empty(eye));
}

/* What the server goes on refusing is tried for a lease: no call of the handle waits for that. */
static void
a_release_that_is_refused_keeps_no_other_call_for_longer_than_its_patience(void **state) {
    (void)state;
    lk_lock *refused = new_lock(client, "a", LEASE_MS);
    assert_status(lk_wrlock(refused), LK_OK);
    ask(eye, "SET lk:{a} foreign");
    assert_status(lk_wrunlock(refused), LK_INVALID);
    begin_call(&waiting, lk_trywrlock, refused);
    assert_call(&waiting, LK_UNAVAILABLE);
    begin_call(&waiting, lk_wrlock, refused);
    assert_call(&waiting, LK_UNAVAILABLE);
    ask(eye, "DEL lk:{a}");
    eventually(lk_trywrlock(refused) == LK_OK);
    assert_status(lk_wrunlock(refused), LK_OK);
    lk_lock_free(refused);
}

static void a_try_behind_a_wait_that_was_given_up_is_not_told_busy(void **state) {
    (void)state;
    wait_behind_holder();
    take_server_away(net);
    assert_call(&waiting, LK_UNAVAILABLE);
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_status(lk_trywrlock(lock), LK_UNAVAILABLE);
    proxy_refuse(net, false);
}

static lk_status renew(lk_lock *of) {
    return lk_renew(of, 0);
}

static void a_renewal_whose_hold_was_lost_and_unlocked_meanwhile_says_lost(void **state) {
    (void)state;
    lk_lock *manual = NULL;
    lk_lock_options options = {.lease_ms = 500, .manual_renew = true};
    size_t cuts = proxy_cuts(net);
    assert_status(lk_lock_new(client, "a", &options, &manual), LK_OK);
    assert_status(lk_wrlock(manual), LK_OK);
    proxy_refuse(net, true);
    proxy_cut_before_request(net, PROXY_COMMANDS, 1);
    begin_call(&waiting, renew, manual);
    eventually(proxy_cuts(net) > cuts);
    eventually(!lk_valid(manual));
    eventually(lk_wrunlock(manual) == LK_LOST);
    proxy_refuse(net, false);
    assert_call(&waiting, LK_LOST);
    lk_lock_free(manual);
}

static void
a_call_that_waits_for_its_turn_learns_of_the_loss_while_the_server_is_away(void **state) {
    (void)state;
    lk_lock *lost = new_lock(client, "a", 900);
    call second;
    assert_status(lk_rdlock(holder), LK_OK);
    assert_status(lk_rdlock(lost), LK_OK);
    begin_wait(&waiting, lost, other, "a"); /* an upgrade */
    begin_call(&second, lk_wrlock, lost);
    nap_ms(50);
    take_server_away(net);
    assert_call(&waiting, LK_LOST);
    assert_call(&second, LK_LOST);
    proxy_refuse(net, false);
    assert_status(lk_rdunlock(lost), LK_LOST);
    lk_lock_free(lost);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define HASTY_TEST(name) cmocka_unit_test_setup_teardown(name, setup_hasty, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        HASTY_TEST(a_call_that_stood_behind_a_long_wait_has_all_its_patience),
        HASTY_TEST(a_release_behind_a_long_async_wait_has_all_its_patience),
        HASTY_TEST(a_release_that_is_refused_keeps_no_other_call_for_longer_than_its_patience),
        HASTY_TEST(a_try_behind_a_wait_that_was_given_up_is_not_told_busy),
        TEST(a_renewal_whose_hold_was_lost_and_unlocked_meanwhile_says_lost),
        TEST(a_call_that_waits_for_its_turn_learns_of_the_loss_while_the_server_is_away),
    };
    return cmocka_run_group_tests_name("faults: turns", tests, begin_world, end_world);
}
