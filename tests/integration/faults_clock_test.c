/* Waiters and holders of a server whose clock is stepped. */
#include "network.h"

static int begin_clocked_world(void **state) {
    (void)state;
    return begin_world_of(test_server_start_with_clock(test_server_any(), NULL));
}

static void step_ms(int64_t ms) {
    test_server_step_clock(server, ms * 1000);
}

/*
 * The clock jumps forward while `lock` waits. Then the lock is granted, and the message is late by
 * a little more than the jump. A client that dated the grant by the server's clock would take it
 * for a new one, and believe in the hold for too long.
 */
TEST_WITH(network, a_grant_that_is_heard_late_after_a_jump_is_not_believed_too_long) {
    enum { JUMP_MS = 500, LATE_MS = 700 };
    lk_lock *next = new_lock(other, "a");
    call next_waiting;
    wait_behind_holder();
    begin_call(&next_waiting, lk_wrlock, next);
    eventually(look_at(other, "a").waiters == 2);
    step_ms(JUMP_MS);
    proxy_delay(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT, LATE_MS);
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER); /* `lock` cannot claim the hold */
    assert_ok(lk_wrunlock(holder));
    eventually(atomic_load(&next_waiting.over));
    assert_false(lk_valid(lock) && lk_valid(next));
    assert_call(&next_waiting, LK_OK);
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    proxy_delay(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT, 0);
    assert_ok(lk_wrunlock(next));
    if (end_call(&waiting) == LK_OK)
        lk_wrunlock(lock);
}

/* A step back makes leases longer, and no holder loses its lock. */
TEST_WITH(network, a_step_back_costs_nobody_a_hold) {
    enum { LEASE_MS = 600 };
    atomic_int losses = 0;
    lk_lock *held = new_watched_lock(client, "b", LEASE_MS, &losses);
    wait_behind_holder();
    assert_ok(lk_wrlock(held));
    uint64_t fence = lk_fence(held);
    step_ms(-3600000);
    sleep_ms(3 * LEASE_MS);
    assert_true(lk_valid(held));
    assert_int_equal(atomic_load(&losses), 0);
    assert_ok(lk_wrunlock(held));
    assert_ok(lk_wrlock(held));
    assert_true(lk_fence(held) > fence);
    assert_ok(lk_wrunlock(held));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(lock));
    step_ms(3600000);
}

int main(void) {
    return world_run(begin_clocked_world);
}
