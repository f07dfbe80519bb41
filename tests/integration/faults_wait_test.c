/* Waits, claims, upgrades and async calls, while connections are cut, silent or away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faults_proxied.h"

/* `lock` is given, for good, and nothing is left when it is unlocked. */
static void expect_kept(void) {
    enum { CLAIM_MS = 1000 };
    eventually(lk_remaining_ms(lock) > 2 * CLAIM_MS);
    glance seen = look_at(other, "a");
    assert_int_equal(seen.holders, 1);
    assert_int_equal(seen.writes, 1);
    assert_true(seen.left_ms > 2 * CLAIM_MS);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

/* ------------------------------------------------------------------------------ claims */

static void claim_while_cut(void (*cut_request)(proxy *, proxy_kinds, size_t)) {
    wait_behind_holder();
    cut_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    eventually(proxy_cuts(net) == 1);
    expect_kept();
}

static void claim_that_is_cut_before_its_answer_is_made_again(void **state) {
    (void)state;
    claim_while_cut(proxy_cut_after_request);
}

static void claim_that_does_not_reach_the_server_is_made_again(void **state) {
    (void)state;
    claim_while_cut(proxy_cut_before_request);
}

static void subscription_that_says_nothing_any_more_only_delays_a_grant(void **state) {
    (void)state;
    enum { LEASE_MS = 1500 }; /* the wait is refreshed every third of it */
    lk_lock *brief = new_lock(client, "a", LEASE_MS);
    assert_status(lk_wrlock(holder), LK_OK);
    begin_wait(&waiting, brief, other, "a");
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT);
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    assert_true(lk_valid(brief));
    assert_status(lk_wrunlock(brief), LK_OK);
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT); /* old news is no news */
    assert_status(lk_wrlock(brief), LK_OK);
    assert_status(lk_wrunlock(brief), LK_OK);
    eventually(is_empty(eye));
    lk_lock_free(brief);
}

static void message_that_comes_after_its_wait_was_over_changes_nothing(void **state) {
    (void)state;
    wait_behind_holder();
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT);
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_status(lk_cancel(lock), LK_OK);
    lk_status status = end_call(&waiting);
    assert_true(status == LK_OK || status == LK_CANCELED);
    if (status == LK_OK)
        assert_status(lk_wrunlock(lock), LK_OK);
    eventually(is_empty(eye));
    assert_status(lk_wrlock(lock), LK_OK);
    uint64_t fence = lk_fence(lock);
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT);
    eventually(proxy_bytes_taken(net, PROXY_TO_CLIENT) == proxy_bytes_passed(net, PROXY_TO_CLIENT));
    assert_status(lk_renew(lock, 0), LK_OK);
    assert_true(lk_valid(lock));
    assert_int_equal(lk_fence(lock), fence);
    assert_int_equal(look_at(other, "a").writes, 1);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

/* ------------------------------------------------------------------------------ waits */

static void wait_in_the_queue_survives_an_outage(void **state) {
    (void)state;
    wait_behind_holder();
    take_server_away(net);
    size_t tried = proxy_connections_ever(net);
    eventually(proxy_connections_ever(net) >= tried + 3);
    proxy_refuse(net, false);
    assert_true(proxy_wait_connections(net, PROXY_ALL, 2, LONG_MS));
    assert_false(atomic_load(&waiting.over));
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    expect_kept();
}

static void grant_during_an_outage_is_learnt_after_it(void **state) {
    (void)state;
    wait_behind_holder();
    take_server_away(net);
    assert_status(lk_wrunlock(holder), LK_OK);
    proxy_refuse(net, false);
    assert_call(&waiting, LK_OK);
    expect_kept();
}

static void wait_on_a_server_that_is_away_for_long_is_given_up_and_taken_back(void **state) {
    (void)state;
    wait_behind_holder();
    take_server_away(net);
    assert_call(&waiting, LK_UNAVAILABLE);
    assert_int_equal(look_at(other, "a").waiters, 1);
    proxy_refuse(net, false);
    expect_no_waiter();
    eventually(lk_trywrlock(lock) == LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
}

static void cancel_needs_no_server(void **state) {
    (void)state;
    wait_behind_holder();
    take_server_away(net);
    assert_status(lk_cancel(lock), LK_OK);
    assert_call(&waiting, LK_CANCELED);
    proxy_refuse(net, false);
    expect_no_waiter();
}

static void cancel_on_a_silent_server_ends_the_wait(void **state) {
    (void)state;
    wait_behind_holder();
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    assert_status(lk_cancel(lock), LK_OK);
    lk_status status = end_call(&waiting);
    assert_true(status == LK_CANCELED || status == LK_UNAVAILABLE);
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    expect_no_waiter();
}

static void close_ends_waits_on_a_silent_server(void **state) {
    (void)state;
    lk_client *closed = open_client(proxy_socket(net), HASTY_MS);
    lk_lock *waiter = new_lock(closed, "a", 0);
    assert_status(lk_wrlock(holder), LK_OK);
    begin_wait(&waiting, waiter, other, "a");
    proxy_pause(net, PROXY_ALL, PROXY_BOTH);
    lk_close(closed);
    assert_call(&waiting, LK_CANCELED);
    assert_status(lk_wrlock(waiter), LK_INVALID);
    lk_lock_free(waiter);
    proxy_resume(net, PROXY_ALL, PROXY_BOTH);
    assert_status(lk_wrunlock(holder), LK_OK);
}

/* ------------------------------------------------------------------------------ upgrades */

static void upgrade_that_is_cut_before_its_answer_is_done_once(void **state) {
    (void)state;
    assert_status(lk_rdlock(lock), LK_OK);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_wrlock(lock), LK_OK);
    assert_int_equal(proxy_cuts(net), 1);
    glance seen = look_at(other, "a");
    assert_int_equal(seen.reads, 1);
    assert_int_equal(seen.writes, 1);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_status(lk_rdunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

static void upgrade_granted_while_nobody_listened_is_learnt(void **state) {
    (void)state;
    assert_status(lk_rdlock(holder), LK_OK);
    assert_status(lk_rdlock(lock), LK_OK);
    begin_wait(&waiting, lock, other, "a");
    take_server_away(net);
    assert_status(lk_rdunlock(holder), LK_OK);
    proxy_refuse(net, false);
    assert_call(&waiting, LK_OK);
    assert_int_equal(look_at(other, "a").writes, 1);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_status(lk_rdunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

static void upgrade_given_up_leaves_the_reads(void **state) {
    (void)state;
    assert_status(lk_rdlock(holder), LK_OK);
    assert_status(lk_rdlock(lock), LK_OK);
    begin_wait(&waiting, lock, other, "a");
    take_server_away(net);
    assert_call(&waiting, LK_UNAVAILABLE);
    assert_true(lk_valid(lock));
    proxy_refuse(net, false);
    eventually(look_at(other, "a").waiters == 0);
    assert_int_equal(look_at(other, "a").holders, 2);
    assert_status(lk_rdunlock(holder), LK_OK);
    eventually(look_at(other, "a").writes == 0);
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_status(lk_rdunlock(lock), LK_OK);
    eventually(is_empty(eye));
}

/* ------------------------------------------------------------------------------ async */

static void async_calls_are_waited_out_and_told_once(void **state) {
    (void)state;
    outcome taken = {0}, given = {0};
    take_server_away(net);
    assert_status(lk_acquire_async(lock, LK_WRITE, -1, note_outcome, &taken), LK_OK);
    assert_status(lk_release_async(lock, LK_WRITE, note_outcome, &given), LK_OK);
    size_t tried = proxy_connections_ever(net);
    eventually(proxy_connections_ever(net) >= tried + 2);
    assert_int_equal(atomic_load(&taken.calls), 0);
    proxy_refuse(net, false);
    eventually(atomic_load(&given.calls) == 1);
    assert_int_equal(atomic_load(&taken.calls), 1);
    assert_int_equal(atomic_load(&taken.status), LK_OK);
    assert_int_equal(atomic_load(&given.status), LK_OK);
    assert_true(is_empty(eye));
}

static void async_calls_on_a_server_that_is_away_for_long_are_told_once(void **state) {
    (void)state;
    outcome taken = {0}, given = {0};
    lk_lock *held = new_lock(client, "b", 0);
    assert_status(lk_wrlock(held), LK_OK);
    take_server_away(net);
    assert_status(lk_acquire_async(lock, LK_WRITE, -1, note_outcome, &taken), LK_OK);
    assert_status(lk_release_async(held, LK_WRITE, note_outcome, &given), LK_OK);
    eventually(atomic_load(&taken.calls) == 1 && atomic_load(&given.calls) == 1);
    assert_int_equal(atomic_load(&taken.status), LK_UNAVAILABLE);
    assert_int_equal(atomic_load(&given.status), LK_UNAVAILABLE);
    assert_false(lk_valid(held));
    proxy_refuse(net, false);
    eventually(is_empty(eye));
    lk_lock_free(held);
    eventually(lk_trywrlock(lock) == LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_int_equal(atomic_load(&taken.calls), 1);
    assert_int_equal(atomic_load(&given.calls), 1);
}

static void free_during_an_async_call_without_an_answer_tells_it_and_takes_it_back(void **state) {
    (void)state;
    outcome taken = {0};
    lk_lock *freed = new_lock(client, "b", 0);
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    assert_status(lk_acquire_async(freed, LK_WRITE, -1, note_outcome, &taken), LK_OK);
    eventually(!is_empty(eye));
    lk_lock_free(freed);
    assert_int_equal(atomic_load(&taken.calls), 1);
    assert_int_equal(atomic_load(&taken.status), LK_CANCELED);
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    eventually(is_empty(eye));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define HASTY_TEST(name) cmocka_unit_test_setup_teardown(name, setup_hasty, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(claim_that_is_cut_before_its_answer_is_made_again),
        TEST(claim_that_does_not_reach_the_server_is_made_again),
        TEST(subscription_that_says_nothing_any_more_only_delays_a_grant),
        TEST(message_that_comes_after_its_wait_was_over_changes_nothing),
        TEST(wait_in_the_queue_survives_an_outage),
        TEST(grant_during_an_outage_is_learnt_after_it),
        HASTY_TEST(wait_on_a_server_that_is_away_for_long_is_given_up_and_taken_back),
        TEST(cancel_needs_no_server),
        HASTY_TEST(cancel_on_a_silent_server_ends_the_wait),
        TEST(close_ends_waits_on_a_silent_server),
        TEST(upgrade_that_is_cut_before_its_answer_is_done_once),
        TEST(upgrade_granted_while_nobody_listened_is_learnt),
        HASTY_TEST(upgrade_given_up_leaves_the_reads),
        TEST(async_calls_are_waited_out_and_told_once),
        HASTY_TEST(async_calls_on_a_server_that_is_away_for_long_are_told_once),
        TEST(free_during_an_async_call_without_an_answer_tells_it_and_takes_it_back),
    };
    return cmocka_run_group_tests_name("faults: waits", tests, begin_world, end_world);
}
