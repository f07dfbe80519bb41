/* Each reason for failure has a status of its own, and a sentence that names the lock. */
#include "old_world.h"

#define assert_reason(call, status, name)   \
    do {                                    \
        assert_status(call, status);        \
        assert_says(lk_last_error(), name); \
    } while (0)

static void others_hold_it(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "why:busy"), handle_of(client, "why:busy")};
    assert_ok(lk_wrlock(locks[0]));
    assert_reason(lk_tryrdlock(locks[1]), LK_BUSY, "why:busy");
    assert_reason(lk_trywrlock(locks[1]), LK_BUSY, "why:busy");
    assert_reason(lk_timedwrlock(locks[1], 0), LK_BUSY, "why:busy");
    free_handles(locks, 2);
    lk_close(client);
}

static void the_wait_was_over(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "why:timeout"), handle_of(client, "why:timeout")};
    assert_ok(lk_wrlock(locks[0]));
    assert_reason(lk_timedrdlock(locks[1], 20), LK_TIMEOUT, "why:timeout");
    assert_reason(lk_timedwrlock(locks[1], 20), LK_TIMEOUT, "why:timeout");
    free_handles(locks, 2);
    lk_close(client);
}

static void nothing_is_held(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "why:unheld");
    assert_reason(lk_rdunlock(lock), LK_NOT_HELD, "why:unheld");
    assert_reason(lk_wrunlock(lock), LK_NOT_HELD, "why:unheld");
    assert_reason(lk_downgrade(lock), LK_NOT_HELD, "why:unheld");
    assert_reason(lk_renew(lock, 0), LK_NOT_HELD, "why:unheld");
    assert_reason(lk_force_release(client, "why:unheld", NULL), LK_NOT_HELD, "why:unheld");
    lk_lock_free(lock);
    lk_close(client);
}

static void the_hold_was_lost(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_leased(client, "why:lost", 300);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_force_release(client, "why:lost", NULL));
    assert_eventually(!lk_valid(lock));
    assert_reason(lk_trywrlock(lock), LK_LOST, "why:lost");
    assert_reason(lk_rdlock(lock), LK_LOST, "why:lost");
    assert_reason(lk_renew(lock, 0), LK_LOST, "why:lost");
    assert_reason(lk_downgrade(lock), LK_LOST, "why:lost");
    assert_reason(lk_wrunlock(lock), LK_LOST, "why:lost");
    lk_lock_free(lock);
    lk_close(client);
}

static void an_unlock_after_a_loss_that_nobody_noticed_yet_is_lost_too(void **state) {
    (void)state;
    lk_client *client = open_client();
    tally lost = {0};
    lk_lock_options options = {.on_lost = tally_lost, .on_lost_arg = &lost};
    lk_lock *lock = handle_with(client, "why:lost-now", &options);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_force_release(client, "why:lost-now", NULL));
    assert_reason(lk_wrunlock(lock), LK_LOST, "why:lost-now");
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_ok(lk_trywrlock(lock));
    assert_eventually(atomic_load(&lost.losses) == 1);
    lk_lock_free(lock);
    lk_close(client);
}

static void two_upgrades_would_wait_for_each_other(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "why:deadlock"), handle_of(client, "why:deadlock")};
    taker first;
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    taker_queue(&first, locks[0], LK_WRITE, client, "why:deadlock", 1);
    assert_reason(lk_wrlock(locks[1]), LK_DEADLOCK, "why:deadlock");
    assert_ok(lk_rdunlock(locks[1]));
    assert_ok(taker_join(&first));
    free_handles(locks, 2);
    lk_close(client);
}

static void the_call_was_canceled(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "why:cancel"), handle_of(client, "why:cancel")};
    taker waiter;
    assert_ok(lk_wrlock(locks[0]));
    taker_queue(&waiter, locks[1], LK_WRITE, client, "why:cancel", 1);
    assert_ok(lk_cancel(locks[1]));
    assert_status(taker_join(&waiter), LK_CANCELED);
    assert_says(waiter.error, "why:cancel");
    free_handles(locks, 2);
    lk_close(client);
}

static void an_argument_is_not_valid(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "why:invalid");
    assert_reason(lk_timedrdlock(lock, -2), LK_INVALID, "wait_ms");
    assert_says(lk_last_error(), "why:invalid");
    assert_reason(lk_timedwrlock(lock, INT64_MIN), LK_INVALID, "wait_ms");
    assert_says(lk_last_error(), "why:invalid");
    assert_reason(lk_renew(lock, 99), LK_INVALID, "lease_ms");
    assert_says(lk_last_error(), "why:invalid");
    assert_reason(lk_acquire_async(lock, (lk_mode)7, 0, NULL, NULL), LK_INVALID, "mode");
    assert_says(lk_last_error(), "why:invalid");
    lk_lock_free(lock);
    lk_close(client);
}

static void the_name_is_that_of_something_else(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "why:taken");
    lk_info *info = NULL;
    world_do("SET lk:{why:taken} somebody");
    assert_reason(lk_wrlock(lock), LK_INVALID, "why:taken");
    assert_reason(lk_tryrdlock(lock), LK_INVALID, "why:taken");
    assert_reason(lk_timedrdlock(lock, 50), LK_INVALID, "why:taken");
    assert_reason(lk_inspect(client, "why:taken", &info), LK_INVALID, "why:taken");
    assert_null(info);
    redisReply *reply = world_ask("GET lk:{why:taken}");
    assert_string_equal(reply->str, "somebody");
    freeReplyObject(reply);
    lk_lock_free(lock);
    lk_close(client);
}

static void a_sentence_names_the_server(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "why:where"), handle_of(client, "why:where")};
    assert_ok(lk_wrlock(locks[0]));
    assert_reason(lk_trywrlock(locks[1]), LK_BUSY, test_server_socket(world_server));
    free_handles(locks, 2);
    lk_close(client);
}

static void each_thread_has_a_sentence_of_its_own(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "why:mine"), handle_of(client, "why:yours")};
    taker other;
    assert_status(lk_wrunlock(locks[0]), LK_NOT_HELD);
    assert_ok(lk_wrlock(locks[1]));
    taker_start(&other, handle_of(client, "why:yours"), LK_WRITE, 0);
    assert_status(taker_join(&other), LK_BUSY);
    assert_says(other.error, "why:yours");
    assert_says(lk_last_error(), "why:mine");
    lk_lock_free(other.lock);
    free_handles(locks, 2);
    lk_close(client);
}

static void there_is_no_sentence_before_the_first_failure(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "why:none");
    taker other;
    taker_start(&other, lock, LK_WRITE, 0);
    assert_ok(taker_join(&other));
    assert_string_equal(other.error, "");
    lk_lock_free(lock);
    lk_close(client);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(others_hold_it),
        world_test(the_wait_was_over),
        world_test(nothing_is_held),
        world_test(the_hold_was_lost),
        world_test(an_unlock_after_a_loss_that_nobody_noticed_yet_is_lost_too),
        world_test(two_upgrades_would_wait_for_each_other),
        world_test(the_call_was_canceled),
        world_test(an_argument_is_not_valid),
        world_test(the_name_is_that_of_something_else),
        world_test(a_sentence_names_the_server),
        world_test(each_thread_has_a_sentence_of_its_own),
        world_test(there_is_no_sentence_before_the_first_failure),
    };
    return world_main(argc, argv, tests);
}
