/*
 * The connection for messages of a waiter brings nothing, or brings it too late. The waiter is
 * granted the lock all the same, leaves no mark of a dead writer, and never believes in a hold for
 * too long.
 */
#include "network.h"

enum { CLAIM_MS = 1000 }; /* the time to claim a grant (SPEC 5.3) */

/* ------------------------------------------------------------------------------ turns */

/* `holder` holds, and `lock` and `next` wait, in this order. */
static lk_lock *next;
static call next_waiting;

static void wait_in_line(void) {
    wait_behind_holder();
    next = new_lock(other, "a");
    begin_call(&next_waiting, lk_wrlock, next);
    eventually(look_at(other, "a").waiters == 2);
}

/* `lock` was granted before `next`, and left no mark. */
static void expect_turns_in_order(void) {
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_false(atomic_load(&next_waiting.over));
    assert_false(lk_abandoned(lock));
    assert_ok(lk_wrunlock(lock));
    assert_call(&next_waiting, LK_OK);
    assert_false(lk_abandoned(next));
    assert_ok(lk_wrunlock(next));
    free_lock(next);
    eventually(is_empty());
}

TEST_WITH(network, a_waiter_whose_messages_are_cut_off_takes_its_turn) {
    wait_in_line();
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
    expect_turns_in_order();
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
}

TEST_WITH(network, a_waiter_whose_messages_do_not_come_takes_its_turn) {
    wait_in_line();
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT);
    expect_turns_in_order();
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT);
}

/* The client cannot connect for messages again for a long time. */
TEST_WITH(network, a_waiter_without_a_connection_for_messages_takes_its_turn) {
    wait_in_line();
    proxy_refuse(net, true);
    proxy_cut_all(net, PROXY_SUBSCRIPTIONS);
    sleep_ms(CLAIM_MS / 2);
    expect_turns_in_order();
    proxy_refuse(net, false);
}

/*
 * Messages and the answers to heartbeats are late. A message behind such an answer may have been
 * published at any time since the heartbeat was sent. The client cannot claim the hold, and must
 * not believe in it while the next client holds the lock.
 */
TEST_WITH(network, a_late_message_is_not_believed_too_long) {
    enum { LATE_MS = 190, ROUNDS = 5 };
    proxy_delay(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT, LATE_MS);
    for (int round = 0; round < ROUNDS; round++) {
        wait_in_line();
        sleep_ms(CLAIM_MS + round * LATE_MS / 2);
        proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER);
        assert_ok(lk_wrunlock(holder));
        eventually(atomic_load(&next_waiting.over));
        assert_false(lk_valid(lock) && lk_valid(next));
        proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
        assert_call(&next_waiting, LK_OK);
        assert_ok(lk_wrunlock(next));
        if (end_call(&waiting) == LK_OK)
            lk_wrunlock(lock);
        free_lock(next);
    }
    proxy_delay(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT, 0);
}

static void very_patient_network(void) {
    network_with(10 * LONG_MS);
}

/* Long before command_timeout_ms: the server answers commands meanwhile. */
TEST_WITH(very_patient_network, a_dead_connection_for_messages_is_replaced_while_somebody_waits) {
    wait_behind_holder();
    size_t ever = proxy_connections_ever(net);
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
    eventually(proxy_connections_ever(net) > ever);
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(lock));
}

/* The client does not wait: its heartbeat notices the dead connection. */
TEST_WITH(hasty_network, a_dead_connection_for_messages_is_replaced_while_nobody_waits) {
    size_t ever = proxy_connections_ever(net);
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
    eventually(proxy_connections_ever(net) > ever);
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
}

int main(void) {
    return world_run(begin_world);
}
