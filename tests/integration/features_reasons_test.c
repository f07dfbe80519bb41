/* Each reason for failure has a status of its own, and a sentence that names the lock. */
#include "world.h"

#define assert_reason(call, status, name) \
    do {                                  \
        assert_status(call, status);      \
        assert_said(name);                \
    } while (0)

TEST(others_hold_it) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "why:busy"), new_lock(client, "why:busy")};
    assert_ok(lk_wrlock(locks[0]));
    assert_reason(lk_tryrdlock(locks[1]), LK_BUSY, "why:busy");
    assert_reason(lk_trywrlock(locks[1]), LK_BUSY, "why:busy");
    assert_reason(lk_timedwrlock(locks[1], 0), LK_BUSY, "why:busy");
}

TEST(the_wait_was_over) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "why:timeout"), new_lock(client, "why:timeout")};
    assert_ok(lk_wrlock(locks[0]));
    assert_reason(lk_timedrdlock(locks[1], 20), LK_TIMEOUT, "why:timeout");
    assert_reason(lk_timedwrlock(locks[1], 20), LK_TIMEOUT, "why:timeout");
}

TEST(nothing_is_held) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "why:unheld");
    assert_reason(lk_rdunlock(lock), LK_NOT_HELD, "why:unheld");
    assert_reason(lk_wrunlock(lock), LK_NOT_HELD, "why:unheld");
    assert_reason(lk_downgrade(lock), LK_NOT_HELD, "why:unheld");
    assert_reason(lk_renew(lock, 0), LK_NOT_HELD, "why:unheld");
    assert_reason(lk_force_release(client, "why:unheld", NULL), LK_NOT_HELD, "why:unheld");
}

TEST(the_hold_was_lost) {
    lk_client *client = open_client();
    lk_lock *lock = new_leased_lock(client, "why:lost", 300);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_force_release(client, "why:lost", NULL));
    eventually(!lk_valid(lock));
    assert_reason(lk_trywrlock(lock), LK_LOST, "why:lost");
    assert_reason(lk_rdlock(lock), LK_LOST, "why:lost");
    assert_reason(lk_renew(lock, 0), LK_LOST, "why:lost");
    assert_reason(lk_downgrade(lock), LK_LOST, "why:lost");
    assert_reason(lk_wrunlock(lock), LK_LOST, "why:lost");
}

TEST(an_unlock_after_a_loss_that_nobody_noticed_yet_is_lost_too) {
    lk_client *client = open_client();
    atomic_int lost = 0;
    lk_lock *lock = new_watched_lock(client, "why:lost-now", 0, &lost);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_force_release(client, "why:lost-now", NULL));
    assert_reason(lk_wrunlock(lock), LK_LOST, "why:lost-now");
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_ok(lk_trywrlock(lock));
    eventually(atomic_load(&lost) == 1);
}

TEST(two_upgrades_would_wait_for_each_other) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "why:deadlock"), new_lock(client, "why:deadlock")};
    call first;
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    begin_wait(&first, locks[0], LK_WRITE, client, "why:deadlock", 1);
    assert_reason(lk_wrlock(locks[1]), LK_DEADLOCK, "why:deadlock");
    assert_ok(lk_rdunlock(locks[1]));
    assert_call(&first, LK_OK);
}

TEST(the_call_was_canceled) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "why:cancel"), new_lock(client, "why:cancel")};
    call waiter;
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&waiter, locks[1], LK_WRITE, client, "why:cancel", 1);
    assert_ok(lk_cancel(locks[1]));
    assert_call(&waiter, LK_CANCELED);
    assert_says(waiter.said, "why:cancel");
}

TEST(an_argument_is_not_valid) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "why:invalid");
    assert_reason(lk_timedrdlock(lock, -2), LK_INVALID, "wait_ms");
    assert_said("why:invalid");
    assert_reason(lk_timedwrlock(lock, INT64_MIN), LK_INVALID, "wait_ms");
    assert_said("why:invalid");
    assert_reason(lk_renew(lock, 99), LK_INVALID, "lease_ms");
    assert_said("why:invalid");
    assert_reason(lk_acquire_async(lock, (lk_mode)7, 0, NULL, NULL), LK_INVALID, "mode");
    assert_said("why:invalid");
}

TEST(the_name_is_that_of_something_else) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "why:taken");
    lk_info *info = NULL;
    ask("SET lk:{why:taken} somebody");
    assert_reason(lk_wrlock(lock), LK_INVALID, "why:taken");
    assert_reason(lk_tryrdlock(lock), LK_INVALID, "why:taken");
    assert_reason(lk_timedrdlock(lock, 50), LK_INVALID, "why:taken");
    assert_reason(lk_inspect(client, "why:taken", &info), LK_INVALID, "why:taken");
    assert_null(info);
    redisReply *reply = ask_reply("GET lk:{why:taken}");
    assert_string_equal(reply->str, "somebody");
}

TEST(a_sentence_names_the_server) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "why:where"), new_lock(client, "why:where")};
    assert_ok(lk_wrlock(locks[0]));
    assert_reason(lk_trywrlock(locks[1]), LK_BUSY, test_server_socket(server));
}

TEST(each_thread_has_a_sentence_of_its_own) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "why:mine"), new_lock(client, "why:yours")};
    call other;
    assert_status(lk_wrunlock(locks[0]), LK_NOT_HELD);
    assert_ok(lk_wrlock(locks[1]));
    begin_lock(&other, new_lock(client, "why:yours"), LK_WRITE, 0);
    assert_call(&other, LK_BUSY);
    assert_says(other.said, "why:yours");
    assert_said("why:mine");
}

TEST(there_is_no_sentence_before_the_first_failure) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "why:none");
    call other;
    begin_lock(&other, lock, LK_WRITE, 0);
    assert_call(&other, LK_OK);
    assert_string_equal(other.said, "");
}

int main(void) {
    return world_run(begin_world);
}
