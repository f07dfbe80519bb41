/* Answers and messages that come late, or in another order than they were sent. */
#include "network.h"

enum { LATE_MS = 150, LEASE_MS = 30000 };

/* Returns when everything has arrived that was sent to the client until now. */
static void hear_all(void) {
    lk_lock *ours = new_lock(client, "b"), *theirs = new_lock(other, "b");
    assert_ok(lk_wrlock(theirs));
    begin_wait(&waiting, ours, LK_WRITE, other, "b", 1);
    assert_ok(lk_wrunlock(theirs));
    assert_call(&waiting, LK_OK);
    free_lock(ours);
    free_lock(theirs);
}

/* ------------------------------------------------------------------------------ grants */

TEST_WITH(network, an_answer_that_comes_after_the_lease_is_no_hold) {
    lk_lock *late = new_leased_lock(client, "a", 300);
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    begin_call(&waiting, lk_wrlock, late);
    eventually(look_at(other, "a").holders == 1);
    assert_ok(lk_wrlock(holder)); /* the lease is over */
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    assert_call(&waiting, LK_UNAVAILABLE);
    assert_false(lk_valid(late));
    assert_true(lk_valid(holder));
    assert_status(lk_wrunlock(late), LK_NOT_HELD);
}

/* The client repeats its request after a cut, and is granted the lock before the answer arrives. */
TEST_WITH(network, a_grant_that_comes_before_the_answer_queued_is_kept) {
    enum { GREETING_AND_ACQUIRE = 7 };
    assert_ok(lk_wrlock(holder));
    size_t cuts = proxy_cuts(net);
    proxy_refuse(net, true);
    proxy_cut_after_request(net, PROXY_COMMANDS, 1);
    begin_call(&waiting, lk_wrlock, lock);
    eventually(proxy_cuts(net) > cuts);
    sleep_ms(1200); /* longer than a grant lasts unclaimed */
    proxy_delay(net, PROXY_COMMANDS, PROXY_TO_CLIENT, LATE_MS);
    size_t before = proxy_requests(net, PROXY_COMMANDS);
    proxy_refuse(net, false);
    assert_true(proxy_wait_requests(net, PROXY_COMMANDS, before + GREETING_AND_ACQUIRE, LONG_MS));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_false(lk_abandoned(lock));
    assert_ok(lk_wrunlock(lock));
}

/*
 * How long `lock` waits behind a waiter that is cut off, with answers that are late by `late_ms`.
 */
static int64_t wait_behind_the_dead_ms(int late_ms) {
    proxy *dead_net = start_proxy();
    lk_client *dead_client = open_client_at(proxy_socket(dead_net), PATIENT_MS);
    lk_lock *dead = new_leased_lock(dead_client, "a", LEASE_MS);
    call dead_wait;
    assert_ok(lk_wrlock(holder));
    begin_wait(&dead_wait, dead, LK_WRITE, other, "a", 1);
    proxy_pause(dead_net, PROXY_ALL, PROXY_BOTH);
    proxy_delay(net, PROXY_COMMANDS, PROXY_TO_CLIENT, late_ms);
    begin_call(&waiting, lk_wrlock, lock);
    eventually(look_at(other, "a").waiters == 2);
    if (!late_ms)
        sleep_ms(50); /* the answer is there */
    int64_t began_ms = now_ms();
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    int64_t ms = now_ms() - began_ms;
    proxy_delay(net, PROXY_COMMANDS, PROXY_TO_CLIENT, 0);
    assert_ok(lk_wrunlock(lock));
    proxy_resume(dead_net, PROXY_ALL, PROXY_BOTH);
    assert_call(&dead_wait, LK_OK);
    free_lock(dead);
    close_client(dead_client);
    return ms;
}

TEST_WITH(network, a_watch_that_comes_before_the_answer_queued_is_kept) {
    int64_t usual_ms = wait_behind_the_dead_ms(0);
    assert_true(wait_behind_the_dead_ms(LATE_MS) < 2 * usual_ms);
}

/* A grant must be claimed within a second. Its message arrives when that is nearly over. */
TEST_WITH(network, a_grant_whose_message_comes_late_is_claimed_in_time) {
    enum { NEARLY_A_CLAIM_MS = 900 };
    atomic_int losses = 0;
    lk_lock *late = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, late, LK_WRITE, other, "a", 1);
    proxy_delay(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT, NEARLY_A_CLAIM_MS);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    proxy_delay(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT, 0);
    eventually(!lk_valid(late) || lk_remaining_ms(late) > 1000);
    assert_true(lk_valid(late));
    assert_int_equal(atomic_load(&losses), 0);
    assert_ok(lk_wrunlock(late));
}

/* ------------------------------------------------------------------------------ losses */

/* Reads share a fence, so the message of an earlier loss also fits a later hold. */
TEST_WITH(network, a_loss_that_is_told_late_is_not_that_of_the_next_hold) {
    atomic_int losses = 0;
    lk_lock *again = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_ok(lk_rdlock(holder));
    assert_ok(lk_rdlock(again));
    uint64_t fence = lk_fence(again);
    proxy_delay(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT, LATE_MS);
    assert_ok(lk_force_release(other, "a", lk_owner(again)));
    assert_status(lk_rdunlock(again), LK_LOST);
    assert_ok(lk_rdlock(again));
    assert_true(lk_fence(again) == fence);
    hear_all();
    assert_true(lk_valid(again));
    assert_int_equal(atomic_load(&losses), 1);
    assert_ok(lk_rdunlock(again));
    assert_int_equal(look_at(other, "a").holders, 1);
}

int main(void) {
    return world_run(begin_world);
}
