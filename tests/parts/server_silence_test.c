/*
 * A server that is silent: when the keeper gives up its connection. The test holds the monitor, and
 * tells the keeper's function what time it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "client/client.h"
#include "net/connection.h"
#include "world.h"

static lk_client *client;
static lk_lock *lock;
static call asking;

static lki_link *commands(void) {
    return &client->session.servers[0]->commands.link;
}

static bool is_read_by_caller(void) {
    pthread_mutex_lock(&client->session.monitor);
    bool is = lki_link_has_requests(commands()) && commands()->connection->driver;
    pthread_mutex_unlock(&client->session.monitor);
    return is;
}

/* The server is stopped, a call waits for its answer and reads; the monitor is held. */
static int ask_silent_server(void **state) {
    (void)state;
    client = open_client_at(test_server_socket(server), PATIENT_MS);
    lock = new_lock(client, "a");
    kill(test_server_pid(server), SIGSTOP);
    begin_call(&asking, lk_trywrlock, lock);
    eventually(is_read_by_caller());
    pthread_mutex_lock(&client->session.monitor);
    return 0;
}

static int end_silence(void **state) {
    (void)state;
    pthread_mutex_unlock(&client->session.monitor);
    kill(test_server_pid(server), SIGCONT);
    assert_call(&asking, LK_OK);
    free_lock(lock);
    close_client(client);
    return 0;
}

/* Whether the connection is there after the keeper has looked at it at that time. */
static bool is_kept_at(int64_t now_us) {
    lki_server_tend(client->session.servers[0], now_us);
    return lki_link_is_up(commands());
}

static int64_t silent_us(void) {
    return lki_after_ms(lki_link_silent_since_us(commands()), PATIENT_MS);
}

static void a_server_that_was_silent_for_too_long_is_given_up(void **state) {
    (void)state;
    int64_t end_us = silent_us();
    assert_true(is_kept_at(end_us - 1));
    assert_false(is_kept_at(end_us));
}

/* The process was stopped, perhaps: the caller that reads may not have come to it. */
static void a_silence_that_is_noticed_late_is_excused_once(void **state) {
    (void)state;
    int64_t late_us = silent_us() + LKI_LATE_US + 1;
    assert_true(is_kept_at(late_us));
    assert_true(is_kept_at(late_us + LKI_GRACE_US - 1));
    assert_false(is_kept_at(late_us + LKI_GRACE_US));
}

#define SILENT_TEST(function) \
    cmocka_unit_test_setup_teardown(function, ask_silent_server, end_silence)

int main(void) {
    const struct CMUnitTest tests[] = {
        SILENT_TEST(a_server_that_was_silent_for_too_long_is_given_up),
        SILENT_TEST(a_silence_that_is_noticed_late_is_excused_once),
    };
    return cmocka_run_group_tests_name("server: silence", tests, begin_world, end_world);
}
