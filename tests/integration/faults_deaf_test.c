/*
 * A waiter whose connection for messages brings nothing, or too late: it takes its turn all the
 * same, nobody is told of a writer that died, and it never believes in a hold for too long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faults_proxied.h"

enum { CLAIM_MS = 1000 }; /* how long a hand-over lasts unclaimed (SPEC 5.3) */

/* ------------------------------------------------------------------------------ turns */

/* `holder` holds, `lock` waits, and `next` behind it. */
static lk_lock *next;
static call next_waiting;

static void wait_in_line(void) {
    wait_behind_holder();
    next = new_lock(other, "a", 0);
    begin_call(&next_waiting, lk_wrlock, next);
    eventually(look_at(other, "a").waiters == 2);
}

/* `lock` had its turn, before `next`, and left no mark. */
static void expect_turns_in_order(void) {
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    assert_false(atomic_load(&next_waiting.over));
    assert_false(lk_abandoned(lock));
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_call(&next_waiting, LK_OK);
    assert_false(lk_abandoned(next));
    assert_status(lk_wrunlock(next), LK_OK);
    lk_lock_free(next);
    eventually(is_empty(eye));
}

static void a_waiter_whose_messages_are_cut_off_takes_its_turn(void **state) {
    (void)state;
    wait_in_line();
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
    expect_turns_in_order();
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
}

static void a_waiter_whose_messages_do_not_come_takes_its_turn(void **state) {
    (void)state;
    wait_in_line();
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT);
    expect_turns_in_order();
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT);
}

/* The connection for messages cannot be had again for a long time. */
static void a_waiter_without_a_connection_for_messages_takes_its_turn(void **state) {
    (void)state;
    wait_in_line();
    proxy_refuse(net, true);
    proxy_cut_all(net, PROXY_SUBSCRIPTIONS);
    nap_ms(CLAIM_MS / 2);
    expect_turns_in_order();
    proxy_refuse(net, false);
}

/*
 * Messages are late, and so are the answers to heartbeats: what comes behind such an answer may have
 * been published at any time since the heartbeat was sent. The hold cannot be claimed, and is never
 * believed in when the next one has it.
 */
static void a_late_message_is_not_believed_too_long(void **state) {
    (void)state;
    enum { LATE_MS = 190, ROUNDS = 5 };
    proxy_delay(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT, LATE_MS);
    for (int round = 0; round < ROUNDS; round++) {
        wait_in_line();
        nap_ms(CLAIM_MS + round * LATE_MS / 2);
        proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER);
        assert_status(lk_wrunlock(holder), LK_OK);
        eventually(atomic_load(&next_waiting.over));
        assert_false(lk_valid(lock) && lk_valid(next));
        proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
        assert_call(&next_waiting, LK_OK);
        assert_status(lk_wrunlock(next), LK_OK);
        if (end_call(&waiting) == LK_OK)
            lk_wrunlock(lock);
        lk_lock_free(next);
    }
    proxy_delay(net, PROXY_SUBSCRIPTIONS, PROXY_TO_CLIENT, 0);
}

/* Long before command_timeout_ms: the server answers commands meanwhile. */
static void a_dead_connection_for_messages_is_replaced_while_somebody_waits(void **state) {
    (void)state;
    wait_behind_holder();
    size_t ever = proxy_connections_ever(net);
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
    eventually(proxy_connections_ever(net) > ever);
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
}

/* The heartbeat of a client that does not wait: only a forced loss would be heard there. */
static void a_dead_connection_for_messages_is_replaced_while_nobody_waits(void **state) {
    (void)state;
    size_t ever = proxy_connections_ever(net);
    proxy_pause(net, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
    eventually(proxy_connections_ever(net) > ever);
    proxy_resume(net, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
}

static int setup_long(void **state) {
    return setup_with(state, 10 * LONG_MS);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
#define TEST_HASTY(function) cmocka_unit_test_setup_teardown(function, setup_hasty, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_waiter_whose_messages_are_cut_off_takes_its_turn),
        TEST(a_waiter_whose_messages_do_not_come_takes_its_turn),
        TEST(a_waiter_without_a_connection_for_messages_takes_its_turn),
        TEST(a_late_message_is_not_believed_too_long),
        cmocka_unit_test_setup_teardown(
            a_dead_connection_for_messages_is_replaced_while_somebody_waits, setup_long, teardown),
        TEST_HASTY(a_dead_connection_for_messages_is_replaced_while_nobody_waits),
    };
    return cmocka_run_group_tests_name("faults: deaf", tests, begin_world, end_world);
}
