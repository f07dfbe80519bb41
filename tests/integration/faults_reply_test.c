/* Error replies of the server: those that the client waits out, and the texts of the others. */
#include "network.h"

#define NOSCRIPT "-NOSCRIPT No matching script. Please use EVAL.\r\n"
#define LOADING "-LOADING Redis is loading the dataset in memory\r\n"
#define BUSY                                                                           \
    "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN " \
    "NOSAVE.\r\n"

static void fake_without_scripts(void) {
    ask("SCRIPT FLUSH");
    fake_network();
}

/* ------------------------------------------------------------------------------ NOSCRIPT */

TEST_WITH(fake_without_scripts, script_that_the_server_lacks_is_sent_as_text) {
    open_here(PATIENT_MS);
    fake_server_on(fake, "EVALSHA", 1, NOSCRIPT);
    assert_ok(lk_wrlock(lock));
    assert_int_equal(fake_server_count(fake, "EVAL"), 1);
    assert_int_equal(look_at(client, "a").writes, 1);
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

TEST_WITH(fake_without_scripts, server_that_forgets_scripts_all_the_time_serves_every_operation) {
    open_here(PATIENT_MS);
    lk_lock *waiter = new_lock(client, "a");
    make_it_listen(client);
    ask("SCRIPT FLUSH");
    assert_ok(lk_wrlock(lock));
    ask("SCRIPT FLUSH");
    assert_ok(lk_renew(lock, 0));
    ask("SCRIPT FLUSH");
    assert_status(lk_timedwrlock(waiter, 50), LK_TIMEOUT);
    ask("SCRIPT FLUSH");
    glance seen = look_at(client, "a");
    assert_int_equal(seen.writes, 1);
    assert_int_equal(seen.waiters, 0);
    ask("SCRIPT FLUSH");
    assert_ok(lk_downgrade(lock));
    ask("SCRIPT FLUSH");
    assert_ok(lk_rdunlock(lock));
    assert_nothing_left();
    assert_ok(lk_rdlock(lock));
    ask("SCRIPT FLUSH");
    assert_ok(lk_force_release(client, "a", lk_owner(lock)));
    assert_nothing_left();
}

TEST_WITH(fake_without_scripts, scripts_forgotten_while_a_call_waits_are_sent_again_to_cancel_it) {
    open_here(PATIENT_MS);
    lk_lock *waiter = new_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    begin_wait(&waiting, waiter, LK_WRITE, client, "a", 1);
    ask("SCRIPT FLUSH");
    assert_ok(lk_cancel(waiter));
    assert_call(&waiting, LK_CANCELED);
    assert_int_equal(look_at(client, "a").waiters, 0);
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(fake_without_scripts, automatic_renewal_goes_on_when_its_script_is_forgotten) {
    enum { LEASE_MS = 3000 };
    atomic_int losses = 0;
    open_here(PATIENT_MS);
    lk_lock *watched = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_ok(lk_wrlock(watched));
    for (int i = 0; i < 3; i++) {
        size_t texts = fake_server_count(fake, "EVAL");
        ask("SCRIPT FLUSH");
        assert_true(fake_server_wait_for(fake, "EVAL", texts + 1, LONG_MS));
        size_t hashes = fake_server_count(fake, "EVALSHA"); /* the script has been run by then */
        assert_true(fake_server_wait_for(fake, "EVALSHA", hashes + 1, LONG_MS));
    }
    assert_true(lk_valid(watched));
    assert_int_equal(atomic_load(&losses), 0);
    assert_ok(lk_wrunlock(watched));
}

TEST_WITH(fake_without_scripts, server_that_knows_no_script_even_by_its_text_is_given_up) {
    open_here(HASTY_MS);
    lk_info *info = NULL;
    fake_server_on(fake, "EVALSHA", FAKE_FOREVER, NOSCRIPT);
    fake_server_on(fake, "EVAL", FAKE_FOREVER, NOSCRIPT);
    lk_status status = lk_wrlock(lock);
    assert_true(status == LK_UNAVAILABLE || status == LK_INTERNAL);
    status = lk_inspect(client, "a", &info);
    assert_true(status == LK_UNAVAILABLE || status == LK_INTERNAL);
    assert_null(info);
    fake_server_forget(fake);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

/* ------------------------------------------------------------------------------ not now */

static void serves_after_a_while(const char *reply) {
    enum { TIMES = 3 };
    open_here(PATIENT_MS);
    fake_server_on(fake, "EVALSHA", TIMES, reply);
    assert_ok(lk_wrlock(lock));
    fake_server_on(fake, "EVALSHA", TIMES, reply);
    assert_int_equal(look_at(client, "a").writes, 1);
    fake_server_on(fake, "EVALSHA", TIMES, reply);
    assert_ok(lk_downgrade(lock));
    fake_server_on(fake, "EVALSHA", TIMES, reply);
    assert_ok(lk_renew(lock, 0));
    fake_server_on(fake, "EVALSHA", TIMES, reply);
    assert_ok(lk_rdunlock(lock));
    assert_nothing_left();
}

/*
 * The call gives up, and says the words of the server. On a busy machine no answer may come within
 * HASTY_MS, and nobody can quote one: then the next call is tried.
 */
#define assert_gives_up(call, words)                                \
    do {                                                            \
        size_t tried = 0;                                           \
        do                                                          \
            assert_status(call, LK_UNAVAILABLE);                    \
        while (!strstr(lk_last_error(), words) && ++tried < TRIES); \
        assert_said(words);                                         \
    } while (0)

/* Acquire, renew, inspect, force and unlock all fail, and the error of each has `words`. */
static void is_given_up(const char *reply, const char *words) {
    enum { TRIES = 20 };
    open_here(HASTY_MS);
    lk_lock *wanted = new_lock(client, "b"), *held[TRIES];
    lk_info *info = NULL;
    size_t next = 0;
    assert_ok(lk_wrlock(lock));
    for (size_t i = 0; i < TRIES; i++) {
        held[i] = new_lock(client, "c");
        assert_ok(lk_rdlock(held[i]));
    }
    fake_server_on(fake, "EVALSHA", FAKE_FOREVER, reply);
    fake_server_on(fake, "EVAL", FAKE_FOREVER, reply);
    assert_gives_up(lk_trywrlock(wanted), words);
    assert_gives_up(lk_wrlock(wanted), words);
    assert_gives_up(lk_renew(lock, 0), words);
    assert_gives_up(lk_inspect(client, "a", &info), words);
    assert_gives_up(lk_force_release(client, "a", NULL), words);
    assert_gives_up(lk_rdunlock(held[next++]), words);
    assert_status(lk_wrunlock(lock), LK_UNAVAILABLE);
    assert_false(lk_valid(lock));
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    for (size_t i = 0; i < TRIES; i++)
        free_lock(held[i]);

    fake_server_forget(fake);
    eventually(is_empty()); /* the unlock is done when it can be */
    assert_ok(lk_wrlock(wanted));
    assert_ok(lk_wrunlock(wanted));
    free_lock(wanted);
}

TEST_WITH(fake_without_scripts, loading_server_is_waited_for) {
    serves_after_a_while(LOADING);
}

TEST_WITH(fake_without_scripts,
          server_that_is_loading_for_too_long_is_unavailable_and_said_to_load) {
    is_given_up(LOADING, "loading");
}

TEST_WITH(fake_without_scripts, busy_server_is_waited_for) {
    serves_after_a_while(BUSY);
}

TEST_WITH(fake_without_scripts,
          server_that_is_busy_for_too_long_is_unavailable_and_said_to_be_busy) {
    is_given_up(BUSY, "busy running a script");
}

TEST_WITH(fake_without_scripts, server_that_is_loading_cannot_be_opened) {
    lk_client *opened = NULL;
    char *url = world_print("unix://%s", fake_server_socket(fake));
    fake_server_on(fake, "", FAKE_FOREVER, LOADING);
    assert_status(lk_open(url, NULL, &opened), LK_UNAVAILABLE);
    assert_said("loading");
    assert_null(opened);
}

TEST_WITH(fake_without_scripts, server_that_is_loading_when_connected_again_is_waited_for) {
    open_here(PATIENT_MS);
    assert_ok(lk_wrlock(lock));
    fake_server_on(fake, "PING", 3, LOADING);
    fake_server_drop_all(fake);
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ refusals */

static void refused_with(const char *reply, lk_status status, const char *words) {
    open_here(PATIENT_MS);
    lk_lock *held = new_lock(client, "b");
    lk_info *info = NULL;
    assert_ok(lk_wrlock(held));
    fake_server_on(fake, "EVALSHA", FAKE_FOREVER, reply);
    fake_server_on(fake, "EVAL", FAKE_FOREVER, reply);
    assert_status(lk_wrlock(lock), status);
    assert_said(words);
    assert_said("\"a\"");
    assert_status(lk_tryrdlock(lock), status);
    assert_said(words);
    assert_status(lk_renew(held, 0), status);
    assert_said(words);
    assert_true(lk_valid(held)); /* it was not renewed, and has not run out */
    assert_status(lk_inspect(client, "a", &info), status);
    assert_said(words);
    assert_status(lk_force_release(client, "a", NULL), status);
    assert_said(words);
    assert_null(info);
    fake_server_forget(fake);
    assert_ok(lk_wrunlock(held));
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
    free_lock(held);
}

TEST_WITH(fake_without_scripts, replica_is_unavailable_and_said_to_be_one) {
    refused_with("-READONLY You can't write against a read only replica.\r\n", LK_UNAVAILABLE,
                 "replica");
}

TEST_WITH(fake_without_scripts, server_that_cannot_save_is_unavailable_and_the_disk_is_named) {
    refused_with("-MISCONF Redis is configured to save RDB snapshots, but it's currently unable "
                 "to persist to disk.\r\n",
                 LK_UNAVAILABLE, "disk");
}

TEST_WITH(fake_without_scripts, full_server_is_unavailable_and_said_to_be_full) {
    refused_with("-OOM command not allowed when used memory > 'maxmemory'.\r\n", LK_UNAVAILABLE,
                 "out of memory");
}

TEST_WITH(fake_without_scripts, command_that_is_not_permitted_is_denied_and_rights_are_named) {
    refused_with("-NOPERM this user has no permissions to run the 'evalsha' command\r\n", LK_DENIED,
                 "ACL");
}

TEST_WITH(fake_without_scripts, server_that_wants_a_password_meanwhile_denies) {
    refused_with("-NOAUTH Authentication required.\r\n", LK_DENIED, "password");
}

TEST_WITH(fake_without_scripts, key_of_another_type_is_invalid_and_said_to_be_somebody_elses) {
    refused_with("-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
                 LK_INVALID, "belongs to another program");
}

TEST_WITH(fake_without_scripts, error_that_nobody_knows_is_internal_and_quoted) {
    refused_with("-ODD the moon is full\r\n", LK_INTERNAL, "the moon is full");
}

TEST_WITH(fake_without_scripts, unlock_that_is_refused_for_now_is_done_later) {
    open_here(PATIENT_MS);
    assert_ok(lk_wrlock(lock));
    fake_server_on(fake, "EVALSHA", FAKE_FOREVER,
                   "-READONLY You can't write against a read only replica.\r\n");
    assert_status(lk_wrunlock(lock), LK_UNAVAILABLE);
    assert_false(lk_valid(lock));
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    fake_server_forget(fake);
    eventually(is_empty());
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

/* ------------------------------------------------------------------------------ a floor */

TEST_WITH(fake_without_scripts,
          server_whose_clock_was_set_back_by_days_is_unavailable_and_its_clock_named) {
    open_here(PATIENT_MS);
    lk_lock *seer = new_lock(client, "seen");
    long long later_us = ((long long)time(NULL) + 3 * 86400) * 1000000;
    char *granted = world_print("$49\r\ngranted %lld %lld 30000 0\r\n", later_us, later_us);
    char *released = world_print("$29\r\nreleased %lld 0 0\r\n", later_us);
    fake_server_on(fake, "EVALSHA", 1, granted);
    assert_ok(lk_wrlock(seer));
    fake_server_on(fake, "EVALSHA", 1, released);
    assert_ok(lk_wrunlock(seer));
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    assert_said("clock");
    assert_nothing_left();
}

int main(void) {
    return world_run(begin_world);
}
