/* Error replies of the server: what is waited out, what is told, and in which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faults_faked.h"

#define NOSCRIPT "-NOSCRIPT No matching script. Please use EVAL.\r\n"
#define LOADING "-LOADING Redis is loading the dataset in memory\r\n"
#define BUSY                                                                           \
    "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN " \
    "NOSAVE.\r\n"

static int setup_without_scripts(void **state) {
    ask(eye, "SCRIPT FLUSH");
    return setup(state);
}

/* ------------------------------------------------------------------------------ NOSCRIPT */

static void script_that_the_server_lacks_is_sent_as_text(void **state) {
    (void)state;
    open_here(PATIENT_MS);
    fake_server_on(fake, "EVALSHA", 1, NOSCRIPT);
    assert_status(lk_wrlock(lock), LK_OK);
    assert_int_equal(fake_server_count(fake, "EVAL"), 1);
    assert_int_equal(look_at(client, "a").writes, 1);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

static void server_that_forgets_scripts_all_the_time_serves_every_operation(void **state) {
    (void)state;
    open_here(PATIENT_MS);
    lk_lock *other = new_lock(client, "a", 0);
    make_it_listen(client, eye);
    ask(eye, "SCRIPT FLUSH");
    assert_status(lk_wrlock(lock), LK_OK);
    ask(eye, "SCRIPT FLUSH");
    assert_status(lk_renew(lock, 0), LK_OK);
    ask(eye, "SCRIPT FLUSH");
    assert_status(lk_timedwrlock(other, 50), LK_TIMEOUT);
    ask(eye, "SCRIPT FLUSH");
    glance seen = look_at(client, "a");
    assert_int_equal(seen.writes, 1);
    assert_int_equal(seen.waiters, 0);
    ask(eye, "SCRIPT FLUSH");
    assert_status(lk_downgrade(lock), LK_OK);
    ask(eye, "SCRIPT FLUSH");
    assert_status(lk_rdunlock(lock), LK_OK);
    assert_true(is_empty(eye));
    assert_status(lk_rdlock(lock), LK_OK);
    ask(eye, "SCRIPT FLUSH");
    assert_status(lk_force_release(client, "a", lk_owner(lock)), LK_OK);
    assert_true(is_empty(eye));
    lk_lock_free(other);
}

static void scripts_forgotten_while_a_call_waits_are_sent_again_to_cancel_it(void **state) {
    (void)state;
    open_here(PATIENT_MS);
    lk_lock *waiter = new_lock(client, "a", 0);
    assert_status(lk_wrlock(lock), LK_OK);
    begin_wait(&waiting, waiter, client, "a");
    ask(eye, "SCRIPT FLUSH");
    assert_status(lk_cancel(waiter), LK_OK);
    assert_call(&waiting, LK_CANCELED);
    assert_int_equal(look_at(client, "a").waiters, 0);
    assert_status(lk_wrunlock(lock), LK_OK);
    lk_lock_free(waiter);
}

static void automatic_renewal_goes_on_when_its_script_is_forgotten(void **state) {
    (void)state;
    enum { LEASE_MS = 3000 };
    atomic_int losses = 0;
    open_here(PATIENT_MS);
    lk_lock *watched = new_watched_lock(client, "a", LEASE_MS, &losses);
    assert_status(lk_wrlock(watched), LK_OK);
    for (int i = 0; i < 3; i++) {
        size_t texts = fake_server_count(fake, "EVAL");
        ask(eye, "SCRIPT FLUSH");
        assert_true(fake_server_wait_for(fake, "EVAL", texts + 1, LONG_MS));
        size_t hashes = fake_server_count(fake, "EVALSHA"); /* after that, the text has been run */
        assert_true(fake_server_wait_for(fake, "EVALSHA", hashes + 1, LONG_MS));
    }
    assert_true(lk_valid(watched));
    assert_int_equal(atomic_load(&losses), 0);
    assert_status(lk_wrunlock(watched), LK_OK);
    lk_lock_free(watched);
}

static void server_that_knows_no_script_even_by_its_text_is_given_up(void **state) {
    (void)state;
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
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
}

/* ------------------------------------------------------------------------------ not now */

static void serves_after_a_while(const char *reply) {
    enum { TIMES = 3 };
    open_here(PATIENT_MS);
    fake_server_on(fake, "EVALSHA", TIMES, reply);
    assert_status(lk_wrlock(lock), LK_OK);
    fake_server_on(fake, "EVALSHA", TIMES, reply);
    assert_int_equal(look_at(client, "a").writes, 1);
    fake_server_on(fake, "EVALSHA", TIMES, reply);
    assert_status(lk_downgrade(lock), LK_OK);
    fake_server_on(fake, "EVALSHA", TIMES, reply);
    assert_status(lk_renew(lock, 0), LK_OK);
    fake_server_on(fake, "EVALSHA", TIMES, reply);
    assert_status(lk_rdunlock(lock), LK_OK);
    assert_true(is_empty(eye));
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

/* Acquire, renew, inspect, force and unlock all give up; `words` are said by each. */
static void is_given_up(const char *reply, const char *words) {
    enum { TRIES = 20 };
    open_here(HASTY_MS);
    lk_lock *wanted = new_lock(client, "b", 0), *held[TRIES];
    lk_info *info = NULL;
    size_t next = 0;
    assert_status(lk_wrlock(lock), LK_OK);
    for (size_t i = 0; i < TRIES; i++) {
        held[i] = new_lock(client, "c", 0);
        assert_status(lk_rdlock(held[i]), LK_OK);
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
        lk_lock_free(held[i]);

    fake_server_forget(fake);
    eventually(is_empty(eye)); /* the unlock is done when it can be */
    assert_status(lk_wrlock(wanted), LK_OK);
    assert_status(lk_wrunlock(wanted), LK_OK);
    lk_lock_free(wanted);
}

static void loading_server_is_waited_for(void **state) {
    (void)state;
    serves_after_a_while(LOADING);
}

static void server_that_is_loading_for_too_long_is_unavailable_and_said_to_load(void **state) {
    (void)state;
    is_given_up(LOADING, "loading");
}

static void busy_server_is_waited_for(void **state) {
    (void)state;
    serves_after_a_while(BUSY);
}

static void server_that_is_busy_for_too_long_is_unavailable_and_said_to_be_busy(void **state) {
    (void)state;
    is_given_up(BUSY, "busy running a script");
}

static void server_that_is_loading_cannot_be_opened(void **state) {
    (void)state;
    lk_client *opened = NULL;
    char *url = test_print("unix://%s", fake_server_socket(fake));
    fake_server_on(fake, "", FAKE_FOREVER, LOADING);
    assert_status(lk_open(url, NULL, &opened), LK_UNAVAILABLE);
    assert_said("loading");
    assert_null(opened);
    free(url);
}

static void server_that_is_loading_when_connected_again_is_waited_for(void **state) {
    (void)state;
    open_here(PATIENT_MS);
    assert_status(lk_wrlock(lock), LK_OK);
    fake_server_on(fake, "PING", 3, LOADING);
    fake_server_drop_all(fake);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_true(is_empty(eye));
}

/* ------------------------------------------------------------------------------ refusals */

static void refused_with(const char *reply, lk_status status, const char *words) {
    open_here(PATIENT_MS);
    lk_lock *held = new_lock(client, "b", 0);
    lk_info *info = NULL;
    assert_status(lk_wrlock(held), LK_OK);
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
    assert_status(lk_wrunlock(held), LK_OK);
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_true(is_empty(eye));
    lk_lock_free(held);
}

static void replica_is_unavailable_and_said_to_be_one(void **state) {
    (void)state;
    refused_with("-READONLY You can't write against a read only replica.\r\n", LK_UNAVAILABLE,
                 "replica");
}

static void server_that_cannot_save_is_unavailable_and_the_disk_is_named(void **state) {
    (void)state;
    refused_with("-MISCONF Redis is configured to save RDB snapshots, but it's currently unable "
                 "to persist to disk.\r\n",
                 LK_UNAVAILABLE, "disk");
}

static void full_server_is_unavailable_and_said_to_be_full(void **state) {
    (void)state;
    refused_with("-OOM command not allowed when used memory > 'maxmemory'.\r\n", LK_UNAVAILABLE,
                 "out of memory");
}

static void command_that_is_not_permitted_is_denied_and_rights_are_named(void **state) {
    (void)state;
    refused_with("-NOPERM this user has no permissions to run the 'evalsha' command\r\n", LK_DENIED,
                 "ACL");
}

static void server_that_wants_a_password_meanwhile_denies(void **state) {
    (void)state;
    refused_with("-NOAUTH Authentication required.\r\n", LK_DENIED, "password");
}

static void key_of_another_type_is_invalid_and_said_to_be_somebody_elses(void **state) {
    (void)state;
    refused_with("-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
                 LK_INVALID, "belongs to another program");
}

static void error_that_nobody_knows_is_internal_and_quoted(void **state) {
    (void)state;
    refused_with("-ODD the moon is full\r\n", LK_INTERNAL, "the moon is full");
}

static void unlock_that_is_refused_for_now_is_done_later(void **state) {
    (void)state;
    open_here(PATIENT_MS);
    assert_status(lk_wrlock(lock), LK_OK);
    fake_server_on(fake, "EVALSHA", FAKE_FOREVER,
                   "-READONLY You can't write against a read only replica.\r\n");
    assert_status(lk_wrunlock(lock), LK_UNAVAILABLE);
    assert_false(lk_valid(lock));
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    fake_server_forget(fake);
    eventually(is_empty(eye));
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
}

/* ------------------------------------------------------------------------------ a floor */

static void
server_whose_clock_was_set_back_by_days_is_unavailable_and_its_clock_named(void **state) {
    (void)state;
    open_here(PATIENT_MS);
    lk_lock *seer = new_lock(client, "seen", 0);
    long long later_us = ((long long)time(NULL) + 3 * 86400) * 1000000;
    char *granted = test_print("$49\r\ngranted %lld %lld 30000 0\r\n", later_us, later_us);
    char *released = test_print("$29\r\nreleased %lld 0 0\r\n", later_us);
    fake_server_on(fake, "EVALSHA", 1, granted);
    assert_status(lk_wrlock(seer), LK_OK);
    fake_server_on(fake, "EVALSHA", 1, released);
    assert_status(lk_wrunlock(seer), LK_OK);
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    assert_said("clock");
    assert_true(is_empty(eye));
    free(granted);
    free(released);
    lk_lock_free(seer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_without_scripts, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(script_that_the_server_lacks_is_sent_as_text),
        TEST(server_that_forgets_scripts_all_the_time_serves_every_operation),
        TEST(scripts_forgotten_while_a_call_waits_are_sent_again_to_cancel_it),
        TEST(automatic_renewal_goes_on_when_its_script_is_forgotten),
        TEST(server_that_knows_no_script_even_by_its_text_is_given_up),
        TEST(loading_server_is_waited_for),
        TEST(server_that_is_loading_for_too_long_is_unavailable_and_said_to_load),
        TEST(busy_server_is_waited_for),
        TEST(server_that_is_busy_for_too_long_is_unavailable_and_said_to_be_busy),
        TEST(server_that_is_loading_cannot_be_opened),
        TEST(server_that_is_loading_when_connected_again_is_waited_for),
        TEST(replica_is_unavailable_and_said_to_be_one),
        TEST(server_that_cannot_save_is_unavailable_and_the_disk_is_named),
        TEST(full_server_is_unavailable_and_said_to_be_full),
        TEST(command_that_is_not_permitted_is_denied_and_rights_are_named),
        TEST(server_that_wants_a_password_meanwhile_denies),
        TEST(key_of_another_type_is_invalid_and_said_to_be_somebody_elses),
        TEST(error_that_nobody_knows_is_internal_and_quoted),
        TEST(unlock_that_is_refused_for_now_is_done_later),
        TEST(server_whose_clock_was_set_back_by_days_is_unavailable_and_its_clock_named),
    };
    return cmocka_run_group_tests_name("faults: replies", tests, begin_world, end_world);
}
