/* Connections that are cut: what was in doubt is settled, and what was held or waited for stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faults_proxied.h"

/* ------------------------------------------------------------------------------ one call, cut */

static void acquire_cut_before_its_answer_holds_once(void **state) {
    (void)state;
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_wrlock(lock), LK_OK);
    assert_int_equal(proxy_cuts(net), 1);
    glance seen = look_at(other, "a");
    assert_int_equal(seen.holders, 1);
    assert_int_equal(seen.writes, 1);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

static void acquire_cut_before_it_reached_the_server_holds_once(void **state) {
    (void)state;
    proxy_cut_before_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_rdlock(lock), LK_OK);
    assert_int_equal(proxy_cuts(net), 1);
    assert_int_equal(look_at(other, "a").reads, 1);
    assert_status(lk_rdunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

static void reentry_cut_before_its_answer_is_counted_once(void **state) {
    (void)state;
    assert_status(lk_wrlock(lock), LK_OK);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_wrlock(lock), LK_OK);
    assert_int_equal(proxy_cuts(net), 1);
    assert_int_equal(look_at(other, "a").writes, 2);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

static void try_cut_before_its_answer_is_busy_and_leaves_nothing(void **state) {
    (void)state;
    assert_status(lk_wrlock(holder), LK_OK);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_trywrlock(lock), LK_BUSY);
    assert_int_equal(proxy_cuts(net), 1);
    assert_int_equal(look_at(other, "a").waiters, 0);
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_true(is_empty(eye));
}

static void release_cut_before_its_answer_is_done(void **state) {
    (void)state;
    assert_status(lk_wrlock(lock), LK_OK);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_int_equal(proxy_cuts(net), 1);
    assert_true(is_empty(eye));
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
}

static void release_cut_before_it_reached_the_server_is_done(void **state) {
    (void)state;
    assert_status(lk_wrlock(lock), LK_OK);
    proxy_cut_before_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_int_equal(proxy_cuts(net), 1);
    assert_true(is_empty(eye));
}

static void nested_release_cut_before_its_answer_is_counted_once(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_status(lk_rdlock(lock), LK_OK);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_rdunlock(lock), LK_OK);
    assert_int_equal(proxy_cuts(net), 1);
    assert_int_equal(look_at(other, "a").reads, 2);
    assert_status(lk_rdunlock(lock), LK_OK);
    assert_status(lk_rdunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

static void downgrade_cut_before_its_answer_is_done_once(void **state) {
    (void)state;
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrlock(lock), LK_OK);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_downgrade(lock), LK_OK);
    assert_int_equal(proxy_cuts(net), 1);
    glance seen = look_at(other, "a");
    assert_int_equal(seen.reads, 1);
    assert_int_equal(seen.writes, 1);
    assert_status(lk_rdunlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

static void renewal_by_hand_cut_before_its_answer_is_done(void **state) {
    (void)state;
    lk_lock *leased = new_lock(client, "a", 20000);
    assert_status(lk_wrlock(leased), LK_OK);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_renew(leased, 3600000), LK_OK);
    assert_int_equal(proxy_cuts(net), 1);
    assert_true(lk_remaining_ms(leased) > 20000);
    assert_true(look_at(other, "a").left_ms > 20000);
    assert_status(lk_wrunlock(leased), LK_OK);
    lk_lock_free(leased);
}

static void automatic_renewals_that_are_cut_again_and_again_keep_the_hold(void **state) {
    (void)state;
    enum { LEASE_MS = 3000 };
    atomic_int losses = 0;
    lk_lock *watched = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_status(lk_wrlock(watched), LK_OK);
    uint64_t fence = lk_fence(watched);
    for (size_t i = 1; i <= 3; i++) {
        proxy_cut_after_request(net, PROXY_COMMANDS, 1);
        eventually(proxy_cuts(net) == i);
    }
    eventually(lk_remaining_ms(watched) > LEASE_MS / 2);
    assert_true(lk_valid(watched));
    assert_int_equal(lk_fence(watched), fence);
    assert_int_equal(atomic_load(&losses), 0);
    assert_status(lk_wrunlock(watched), LK_OK);
    assert_true(is_empty(eye));
    lk_lock_free(watched);
}

static void inspect_cut_before_its_answer_is_asked_again(void **state) {
    (void)state;
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_int_equal(look_at(client, "a").holders, 0);
    assert_int_equal(proxy_cuts(net), 1);
}

static void force_cut_before_its_answer_is_not_done_twice(void **state) {
    (void)state;
    assert_status(lk_rdlock(holder), LK_OK);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_force_release(client, "a", NULL), LK_UNAVAILABLE);
    assert_said("may have taken effect");
    assert_int_equal(proxy_cuts(net), 1);
    assert_true(is_empty(eye));
}

/* ------------------------------------------------------------------------ ends of waits, cut */

/* The first request of a wait is its acquire, the second its cancel. */
static void time_out_while_cut(void (*cut_request)(proxy *, proxy_kinds, size_t)) {
    assert_status(lk_wrlock(holder), LK_OK);
    cut_request(net, PROXY_COMMANDS, 2);
    lk_status status = lk_timedwrlock(lock, 100);
    assert_true(status == LK_TIMEOUT || status == LK_UNAVAILABLE);
    assert_int_equal(proxy_cuts(net), 1);
    expect_no_waiter();
}

static void timeout_whose_cancel_is_cut_leaves_nothing(void **state) {
    (void)state;
    time_out_while_cut(proxy_cut_after_request);
    assert_status(lk_wrlock(lock), LK_OK); /* the handle is as good as new */
    assert_status(lk_wrunlock(lock), LK_OK);
}

static void timeout_whose_cancel_does_not_reach_the_server_leaves_nothing(void **state) {
    (void)state;
    time_out_while_cut(proxy_cut_before_request);
}

static void cancel_that_is_cut_leaves_nothing(void **state) {
    (void)state;
    wait_behind_holder();
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    assert_status(lk_cancel(lock), LK_OK);
    assert_call(&waiting, LK_CANCELED);
    assert_int_equal(proxy_cuts(net), 1);
    expect_no_waiter();
}

static void waiting_acquire_cut_before_its_answer_waits_once(void **state) {
    (void)state;
    assert_status(lk_wrlock(holder), LK_OK);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    begin_call(&waiting, lk_wrlock, lock);
    eventually(proxy_cuts(net) == 1);
    eventually(look_at(other, "a").waiters == 1);
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    assert_int_equal(look_at(other, "a").writes, 1);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

/* ------------------------------------------------------------------------------ all cut */

static void kill_all(void) {
    ask(eye, "CLIENT KILL TYPE normal SKIPME yes");
    ask(eye, "CLIENT KILL TYPE pubsub");
}

static void client_whose_connections_were_killed_while_idle_works(void **state) {
    (void)state;
    kill_all();
    assert_status(lk_wrlock(lock), LK_OK);
    kill_all();
    assert_int_equal(look_at(client, "a").writes, 1);
    kill_all();
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

static void hold_stays_and_is_renewed_as_soon_as_the_server_is_reached_again(void **state) {
    (void)state;
    enum { LEASE_MS = 3600000 }; /* by itself it would be renewed in twenty minutes */
    atomic_int losses = 0;
    fake_server *fake = start_fake();
    lk_client *through = open_client(fake_server_socket(fake), PATIENT_MS);
    lk_lock *watched = new_watched_lock(through, "a", LEASE_MS, &losses);
    assert_status(lk_wrlock(watched), LK_OK);
    size_t count = fake_server_count(fake, "EVALSHA * 4 lk:{a}");
    kill_all();
    assert_true(lk_valid(watched));
    assert_int_equal(look_at(through, "b").holders, 0); /* somebody notices, and connects again */
    assert_true(fake_server_wait_for(fake, "EVALSHA * 4 lk:{a}", count + 1, LONG_MS));
    assert_true(lk_valid(watched));
    assert_int_equal(look_at(other, "a").writes, 1);
    assert_int_equal(atomic_load(&losses), 0);
    assert_status(lk_wrunlock(watched), LK_OK);
    lk_lock_free(watched);
    lk_close(through);
    fake_server_stop(fake);
}

static void waiter_keeps_its_place_while_its_connections_are_cut(void **state) {
    (void)state;
    lk_lock *second = new_lock(other, "a", 0);
    call second_waits;
    wait_behind_holder();
    begin_call(&second_waits, lk_wrlock, second);
    eventually(look_at(other, "a").waiters == 2);
    for (int i = 0; i < 3; i++) {
        proxy_cut_all(net, PROXY_ALL);
        assert_true(proxy_wait_connections(net, PROXY_ALL, 2, LONG_MS));
        eventually(look_at(other, "a").waiters == 2);
    }
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    assert_false(atomic_load(&second_waits.over));
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_call(&second_waits, LK_OK);
    assert_status(lk_wrunlock(second), LK_OK);
    assert_true(is_empty(eye));
    lk_lock_free(second);
}

/* The time in which a grant is learnt that was published while nobody listened. */
static int64_t ms_until_a_missed_grant_is_known(void) {
    assert_status(lk_rdlock(holder), LK_OK);
    begin_wait(&waiting, lock, other, "a");
    proxy_refuse(net, true);
    proxy_cut_all(net, PROXY_SUBSCRIPTIONS);
    eventually(ask(eye, "PUBSUB NUMPAT") == 0 && proxy_connections_now(net, PROXY_ALL) == 1);
    assert_status(lk_rdunlock(holder), LK_OK);
    proxy_refuse(net, false);
    int64_t begun_ms = clock_ms();
    assert_call(&waiting, LK_OK);
    int64_t took_ms = clock_ms() - begun_ms;
    assert_status(lk_wrunlock(lock), LK_OK);
    return took_ms;
}

/* Without asking again after the subscription it would be known at the next refresh, 3 s later. */
static void grant_that_nobody_heard_is_known_when_the_subscription_is_back(void **state) {
    (void)state;
    enum { TRIES = 5, SOON_MS = 1500 };
    int64_t least_ms = LONG_MS;
    for (int i = 0; i < TRIES && least_ms > SOON_MS; i++) {
        int64_t took_ms = ms_until_a_missed_grant_is_known();
        least_ms = took_ms < least_ms ? took_ms : least_ms;
    }
    assert_true(least_ms <= SOON_MS);
}

/* What is left of a downgrade is given back after it, though the callers have given both up. */
static void what_is_given_up_keeps_its_order(void **state) {
    (void)state;
    outcome read = {0};
    assert_status(lk_wrlock(lock), LK_OK);
    proxy_pause(net, PROXY_ALL, PROXY_BOTH);
    assert_status(lk_acquire_async(lock, LK_READ, 0, note_outcome, &read), LK_OK);
    assert_status(lk_downgrade(lock), LK_UNAVAILABLE);
    assert_status(lk_rdunlock(lock), LK_UNAVAILABLE);
    proxy_resume(net, PROXY_ALL, PROXY_BOTH);
    eventually(atomic_load(&read.calls) == 1);
    if (atomic_load(&read.status) == LK_OK)
        assert_status(lk_rdunlock(lock), LK_OK);
    eventually(is_empty(eye));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(acquire_cut_before_its_answer_holds_once),
        TEST(acquire_cut_before_it_reached_the_server_holds_once),
        TEST(reentry_cut_before_its_answer_is_counted_once),
        TEST(try_cut_before_its_answer_is_busy_and_leaves_nothing),
        TEST(release_cut_before_its_answer_is_done),
        TEST(release_cut_before_it_reached_the_server_is_done),
        TEST(nested_release_cut_before_its_answer_is_counted_once),
        TEST(downgrade_cut_before_its_answer_is_done_once),
        TEST(renewal_by_hand_cut_before_its_answer_is_done),
        TEST(automatic_renewals_that_are_cut_again_and_again_keep_the_hold),
        TEST(inspect_cut_before_its_answer_is_asked_again),
        TEST(force_cut_before_its_answer_is_not_done_twice),
        TEST(timeout_whose_cancel_is_cut_leaves_nothing),
        TEST(timeout_whose_cancel_does_not_reach_the_server_leaves_nothing),
        TEST(cancel_that_is_cut_leaves_nothing),
        TEST(waiting_acquire_cut_before_its_answer_waits_once),
        TEST(client_whose_connections_were_killed_while_idle_works),
        TEST(hold_stays_and_is_renewed_as_soon_as_the_server_is_reached_again),
        TEST(waiter_keeps_its_place_while_its_connections_are_cut),
        cmocka_unit_test_setup_teardown(what_is_given_up_keeps_its_order, setup_hasty, teardown),
        TEST(grant_that_nobody_heard_is_known_when_the_subscription_is_back),
    };
    return cmocka_run_group_tests_name("faults: connections", tests, begin_world, end_world);
}
