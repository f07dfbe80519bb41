/* Answers that make no sense, answers in pieces, and connections that do not speak RESP. */
#include "network.h"

/* Valid RESP, but not an answer of a lock. */
static const char *const nonsense[] = {
    ":42\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "*0\r\n",
    "+OK\r\n",
    "$7\r\ngranted\r\n",
    "$9\r\ngranted 1\r\n",
    "$16\r\ngranted 1 -5 1 0\r\n",
    "$17\r\ngranted 1 0x1 1 0\r\n",
    "+granted 1 5 1 0\r\n",
    "*5\r\n$7\r\ngranted\r\n:1\r\n:5\r\n:1\r\n:0\r\n",
    "$8\r\nforced 1\r\n",
    "*3\r\n:1\r\n:2\r\n:3\r\n",
    "*1\r\n$9\r\nrenewed 1\r\n",
    "*2\r\n$9\r\nrenewed 1\r\n*1\r\n$-1\r\n",
    "*2\r\n$9\r\nrenewed 1\r\n$5\r\nerror\r\n",
    "*8\r\n$6\r\nlock 1\r\n$4\r\nfair\r\n:0\r\n:0\r\n:1\r\n:0\r\n*1\r\n*1\r\n:1\r\n*0\r\n",
    "*2\r\n$6\r\nlock 1\r\n*1\r\n*1\r\n*1\r\n*0\r\n",
    "$11\r\nwhatever? 1\r\n",
    "*2\r\n*0\r\n*-1\r\n",
    "*2\r\n-ERR inside\r\n:1\r\n",
};
enum { NONSENSE = sizeof nonsense / sizeof *nonsense };

static void expect_nonsense(lk_status status, const char *what, size_t i) {
    if (status != LK_INTERNAL && status != LK_UNAVAILABLE)
        fail_msg("%s, answered with nonsense %zu, is %s", what, i, lk_status_name(status));
    assert_true(*lk_last_error());
}

/* The client and this lock work afterwards, and leave nothing. */
static void expect_sanity(void) {
    fake_server_forget(fake);
    while (lk_wrunlock(lock) != LK_NOT_HELD) {}
    while (lk_rdunlock(lock) != LK_NOT_HELD) {}
    assert_ok(lk_wrlock(lock));
    assert_true(lk_valid(lock));
    assert_int_equal(look_at(client, "a").writes, 1);
    assert_ok(lk_wrunlock(lock));
    eventually(is_empty());
}

static lk_status acquire_free(void) {
    return lk_wrlock(lock);
}

static lk_status release(void) {
    return lk_wrunlock(lock);
}

static lk_status renew(void) {
    return lk_renew(lock, 0);
}

static lk_status downgrade(void) {
    return lk_downgrade(lock);
}

static lk_status call_inspect(void) {
    lk_info *info = NULL;
    lk_status status = lk_inspect(client, "a", &info);
    lk_info_free(info);
    return status;
}

static lk_status force(void) {
    return lk_force_release(client, "a", "somebody");
}

static bool hear_name(const char *name, void *arg) {
    (void)name, (void)arg;
    return true;
}

static lk_status list(void) {
    return lk_list(client, NULL, hear_name, NULL);
}

typedef lk_status operation(void);

static void meets_nonsense(operation *run, const char *what, bool held, const char *pattern) {
    open_here(HASTY_MS);
    teach_scripts(client);
    for (size_t i = 0; i < NONSENSE; i++) {
        if (held)
            assert_ok(lk_wrlock(lock));
        fake_server_on(fake, pattern, FAKE_FOREVER, nonsense[i]);
        expect_nonsense(run(), what, i);
        expect_sanity();
    }
}

TEST_WITH(fake_network, nonsense_for_an_acquire_is_told) {
    meets_nonsense(acquire_free, "acquire", false, "EVALSHA");
}

TEST_WITH(fake_network, nonsense_for_a_release_is_told) {
    meets_nonsense(release, "release", true, "EVALSHA");
}

TEST_WITH(fake_network, nonsense_for_a_renewal_is_told) {
    meets_nonsense(renew, "renew", true, "EVALSHA");
}

TEST_WITH(fake_network, nonsense_for_a_downgrade_is_told) {
    meets_nonsense(downgrade, "downgrade", true, "EVALSHA");
}

TEST_WITH(fake_network, nonsense_for_inspect_is_told) {
    meets_nonsense(call_inspect, "inspect", false, "EVALSHA");
}

TEST_WITH(fake_network, nonsense_for_force_is_told) {
    meets_nonsense(force, "force", false, "EVALSHA");
}

TEST_WITH(fake_network, nonsense_for_list_is_told) {
    meets_nonsense(list, "list", false, "SCAN");
}

TEST_WITH(fake_network, nonsense_for_a_cancel_ends_the_wait) {
    open_here(HASTY_MS);
    other = open_client_at(test_server_socket(server), PATIENT_MS);
    holder = new_lock(other, "a");
    teach_scripts(client);
    for (size_t i = 0; i < NONSENSE; i++) {
        lk_lock *waiter = new_lock(client, "a");
        assert_ok(lk_wrlock(holder));
        begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
        fake_server_on(fake, "EVALSHA", 1, nonsense[i]);
        assert_ok(lk_cancel(waiter));
        lk_status status = end_call(&waiting);
        assert_true(status == LK_INTERNAL || status == LK_UNAVAILABLE || status == LK_CANCELED);
        fake_server_forget(fake);
        assert_ok(lk_wrunlock(holder));
        eventually(is_empty()); /* also releases a grant that came meanwhile (SPEC 10.11) */
        free_lock(waiter);
    }
}

TEST_WITH(fake_network, nonsense_for_automatic_renewals_is_survived_until_the_lease_is_over) {
    enum { LEASE_MS = 3000 };
    atomic_int losses = 0;
    open_here(PATIENT_MS);
    lk_lock *watched = new_watched_lock(client, "a", LEASE_MS, &losses);
    teach_scripts(client);
    assert_ok(lk_wrlock(watched));
    size_t count = fake_server_count(fake, "EVALSHA");
    fake_server_on(fake, "EVALSHA", 1, nonsense[0]);
    fake_server_on(fake, "EVALSHA", 1, nonsense[NONSENSE - 1]);
    assert_true(fake_server_wait_for(fake, "EVALSHA", count + 4, LONG_MS));
    assert_true(lk_valid(watched));
    fake_server_on(fake, "EVALSHA", FAKE_FOREVER, nonsense[1]);
    eventually(atomic_load(&losses) == 1);
    assert_false(lk_valid(watched));
    assert_status(lk_wrunlock(watched), LK_LOST);
    fake_server_forget(fake);
    assert_ok(lk_wrlock(watched));
    assert_ok(lk_wrunlock(watched));
}

/* ------------------------------------------------------------------------------ no protocol */

static const char *const garbage[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "\x01\x02\x03\x04\r\n",
    "*99999999999999999999\r\n",
    "$-7\r\n",
    "*2\r\n$abc\r\n",
};
enum { GARBAGE = sizeof garbage / sizeof *garbage };

TEST_WITH(fake_network, bytes_that_are_no_answer_once_are_asked_again) {
    open_here(PATIENT_MS);
    teach_scripts(client);
    for (size_t i = 0; i < GARBAGE; i++) {
        fake_server_on(fake, "EVALSHA", 1, garbage[i]);
        assert_ok(lk_wrlock(lock));
        fake_server_on(fake, "EVALSHA", 1, garbage[i]);
        assert_int_equal(look_at(client, "a").writes, 1);
        fake_server_on(fake, "EVALSHA", 1, garbage[i]);
        assert_ok(lk_downgrade(lock));
        fake_server_on(fake, "EVALSHA", 1, garbage[i]);
        assert_ok(lk_rdunlock(lock));
        assert_nothing_left();
    }
}

TEST_WITH(fake_network, bytes_that_are_no_answer_for_ever_are_given_up) {
    open_here(HASTY_MS);
    teach_scripts(client);
    for (size_t i = 0; i < GARBAGE; i++) {
        fake_server_on(fake, "EVALSHA", FAKE_FOREVER, garbage[i]);
        expect_nonsense(lk_wrlock(lock), "acquire", i);
        expect_nonsense(call_inspect(), "inspect", i);
        fake_server_forget(fake);
        eventually(lk_trywrlock(lock) == LK_OK);
        assert_ok(lk_wrunlock(lock));
        eventually(is_empty());
    }
}

TEST_WITH(fake_network, half_an_answer_is_no_answer) {
    open_here(PATIENT_MS);
    lk_lock *manual = NULL;
    /* No renewal by the keeper after a reconnection: the half answer is for the call. */
    manual = new_lock_with(client, "a", &(lk_lock_options){.manual_renew = true});
    teach_scripts(client);
    static struct {
        lk_status (*run)(lk_lock *);
        const char *half;
    } steps[] = {
        {lk_wrlock, "$49\r\ngranted 17"},
        {lk_downgrade, "$49\r\ngran"},
        {lk_rdunlock, "$29\r\nreleased 17"},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        call running;
        size_t count = fake_server_count(fake, "EVALSHA");
        fake_server_on(fake, "EVALSHA", 1, steps[i].half);
        begin_call(&running, steps[i].run, manual);
        assert_true(fake_server_wait_for(fake, "EVALSHA", count + 1, LONG_MS));
        assert_false(atomic_load(&running.over));
        fake_server_drop_all(fake);
        assert_call(&running, LK_OK);
    }
    assert_nothing_left();
}

TEST_WITH(fake_network, answers_in_single_bytes_are_read) {
    fake_server_do(fake, "", FAKE_FOREVER, FAKE_PIECES);
    open_here(PATIENT_MS);
    lk_lock *waiter = new_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_renew(lock, 0));
    assert_int_equal(look_at(client, "a").writes, 1);
    begin_wait(&waiting, waiter, LK_WRITE, client, "a", 1);
    assert_ok(lk_downgrade(lock));
    assert_ok(lk_rdunlock(lock));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_force_release(client, "a", NULL));
    eventually(!lk_valid(waiter));
    assert_status(lk_wrunlock(waiter), LK_LOST);
}

TEST_WITH(fake_network, messages_that_make_no_sense_are_passed_over) {
    static const char stranger[] = "granted 00000000000000000000000000000000-000000000001"
                                   " 1 1 1 1 1";
    static const char *const messages[] = {"", "granted", "granted \n\n watch", "lost x 1 2 3 4 5",
                                           stranger};
    open_here(PATIENT_MS);
    lk_lock *waiter = new_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    begin_wait(&waiting, waiter, LK_WRITE, client, "a", 1);
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        assert_int_equal(fake_server_publish(fake, "lk:x", messages[i]), 1);
    assert_int_equal(fake_server_send(fake, "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n:1\r\n"), 1);
    assert_int_equal(fake_server_send(fake, "*1\r\n$7\r\nmessage\r\n"), 1);
    eventually(fake_server_send(fake, "+what\r\n") == 1); /* the last one ended the connection */
    assert_false(atomic_load(&waiting.over));
    assert_true(lk_valid(lock));
    assert_ok(lk_wrunlock(lock));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(waiter));
}

int main(void) {
    return world_run(begin_world);
}
