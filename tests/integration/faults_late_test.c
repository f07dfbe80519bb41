/* Answers and messages that come late, or in another order than they were sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faults_proxied.h"

enum { LATE_MS = 150, LEASE_MS = 30000 };

/* All that the client has been sent until now has come. */
static void hear_all(void) {
    lk_lock *ours = new_lock(client, "b", 0), *theirs = new_lock(other, "b", 0);
    assert_status(lk_wrlock(theirs), LK_OK);
    begin_wait(&waiting, ours, other, "b");
    assert_status(lk_wrunlock(theirs), LK_OK);
    assert_call(&waiting, LK_OK);
    lk_lock_free(ours);
    lk_lock_free(theirs);
}

/* ------------------------------------------------------------------------------ grants */

static void an_answer_that_comes_after_the_lease_is_no_hold(void **state) {
    (void)state;
    lk_lock *late = new_lock(client, "a", 300);
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    begin_call(&waiting, lk_wrlock, late);
    eventually(look_at(other, "a").holders == 1);
    assert_status(lk_wrlock(holder), LK_OK); /* the lease is over */
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    assert_call(&waiting, LK_UNAVAILABLE);
    assert_false(lk_valid(late));
    assert_true(lk_valid(holder));
    assert_status(lk_wrunlock(late), LK_NOT_HELD);
    lk_lock_free(late);
}

/* The request is asked again after a cut; the lock is handed to it before that is answered. */
static void a_grant_that_comes_before_the_answer_queued_is_kept(void **state) {
    (void)state;
    enum { GREETING_AND_ACQUIRE = 7 };
    assert_status(lk_wrlock(holder), LK_OK);
    size_t cuts = proxy_cuts(net);
    proxy_refuse(net, true);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    begin_call(&waiting, lk_wrlock, lock);
    eventually(proxy_cuts(net) > cuts);
    nap_ms(1200); /* so long ago was it asked first that nobody knows what is left of a grant */
    proxy_delay(net, PROXY_COMMANDS, PROXY_TO_CLIENT, LATE_MS);
    size_t before = proxy_requests(net, PROXY_COMMANDS);
    proxy_refuse(net, false);
    assert_true(proxy_wait_requests(net, PROXY_COMMANDS, before + GREETING_AND_ACQUIRE, LONG_MS));
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    assert_false(lk_abandoned(lock));
    assert_status(lk_wrunlock(lock), LK_OK);
}

/* How long one waits behind an heir that is as good as dead; its answers come so late. */
static int64_t wait_behind_the_dead_ms(int late_ms) {
    proxy *dead_net = start_proxy();
    lk_client *dead_client = open_client(proxy_socket(dead_net), PATIENT_MS);
    lk_lock *dead = new_lock(dead_client, "a", LEASE_MS);
    call dead_wait;
    assert_status(lk_wrlock(holder), LK_OK);
    begin_wait(&dead_wait, dead, other, "a");
    proxy_pause(dead_net, PROXY_ALL, PROXY_BOTH);
    proxy_delay(net, PROXY_COMMANDS, PROXY_TO_CLIENT, late_ms);
    begin_call(&waiting, lk_wrlock, lock);
    eventually(look_at(other, "a").waiters == 2);
    if (!late_ms)
        nap_ms(50); /* the answer is there */
    int64_t began_ms = clock_ms();
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    int64_t ms = clock_ms() - began_ms;
    proxy_delay(net, PROXY_COMMANDS, PROXY_TO_CLIENT, 0);
    assert_status(lk_wrunlock(lock), LK_OK);
    proxy_resume(dead_net, PROXY_ALL, PROXY_BOTH);
    assert_call(&dead_wait, LK_OK);
    lk_lock_free(dead);
    lk_close(dead_client);
    proxy_stop(dead_net);
    return ms;
}

static void a_watch_that_comes_before_the_answer_queued_is_kept(void **state) {
    (void)state;
    int64_t usual_ms = wait_behind_the_dead_ms(0);
    assert_true(wait_behind_the_dead_ms(LATE_MS) < 2 * usual_ms);
}

/* A hand-over lasts for a second, and its message comes when that is nearly over. */
static void a_grant_whose_message_comes_late_is_claimed_in_time(void **state) {
    (void)state;
    enum { NEARLY_A_CLAIM_MS = 900 };
    atomic_int losses = 0;
    lk_lock *late = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_status(lk_wrlock(holder), LK_OK);
    begin_wait(&waiting, late, other, "a");
    proxy_delay(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT, NEARLY_A_CLAIM_MS);
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    proxy_delay(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT, 0);
    eventually(!lk_valid(late) || lk_remaining_ms(late) > 1000);
    assert_true(lk_valid(late));
    assert_int_equal(atomic_load(&losses), 0);
    assert_status(lk_wrunlock(late), LK_OK);
    lk_lock_free(late);
}

/* ------------------------------------------------------------------------------ losses */

/* Reads share a fence: the message of an earlier loss fits a later hold. */
static void a_loss_that_is_told_late_is_not_that_of_the_next_hold(void **state) {
    (void)state;
    atomic_int losses = 0;
    lk_lock *again = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_status(lk_rdlock(holder), LK_OK);
    assert_status(lk_rdlock(again), LK_OK);
    uint64_t fence = lk_fence(again);
    proxy_delay(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT, LATE_MS);
    assert_status(lk_force_release(other, "a", lk_owner(again)), LK_OK);
    assert_status(lk_rdunlock(again), LK_LOST);
    assert_status(lk_rdlock(again), LK_OK);
    assert_true(lk_fence(again) == fence);
    hear_all();
    assert_true(lk_valid(again));
    assert_int_equal(atomic_load(&losses), 1);
    assert_status(lk_rdunlock(again), LK_OK);
    assert_int_equal(look_at(other, "a").holders, 1);
    lk_lock_free(again);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_answer_that_comes_after_the_lease_is_no_hold),
        TEST(a_grant_that_comes_before_the_answer_queued_is_kept),
        TEST(a_watch_that_comes_before_the_answer_queued_is_kept),
        TEST(a_grant_whose_message_comes_late_is_claimed_in_time),
        TEST(a_loss_that_is_told_late_is_not_that_of_the_next_hold),
    };
    return cmocka_run_group_tests_name("faults: late", tests, begin_world, end_world);
}
