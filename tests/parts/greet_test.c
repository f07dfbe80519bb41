/*
 * The greeting of a new connection: how refusals are told, what is left for the next reader, and
 * that nobody is listened to for ever.
 */
#include "base/clock.h"
#include "fake_server.h"
#include "net/greet.h"
#include "unix_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONG_MS = 20000, PILE = 64 * 1024 };

#define SUBSCRIBED "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"
#define SSUBSCRIBED "*3\r\n$10\r\nssubscribe\r\n$1\r\nc\r\n:1\r\n"
#define PUSH "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nhello\r\n"

static char password[] = "hunter2";

/* One greeting, with all that a test may want to change. */
typedef struct {
    lki_endpoint endpoint;
    lki_greeting greeting;
    lki_transport *transport;
    lki_identity identity;
    lki_error error;
} meeting;

static void meet(meeting *m, const char *path) {
    *m = (meeting){.endpoint = {.path = (char *)(uintptr_t)path, .shown = (char *)(uintptr_t)path}};
    m->greeting = (lki_greeting){.endpoint = &m->endpoint,
                                 .name = "test",
                                 .deadline_us = lki_after_ms(lki_now_us(), LONG_MS),
                                 .stop_fd = -1};
    if (lki_transport_open(&m->endpoint, NULL, m->greeting.deadline_us, -1, NULL, &m->transport,
                           &m->error) != LK_OK)
        fail_msg("%s", m->error.text);
}

static lk_status greet(meeting *m) {
    return lki_greet(m->transport, &m->greeting, &m->identity, &m->error);
}

static void assert_refused(meeting *m, lk_status status, const char *words) {
    lk_status got = greet(m);
    if (got != status || m->error.status != status || !strstr(m->error.text, words))
        fail_msg("%s and \"%s\" expected: %s, %s", lk_status_name(status), words,
                 lk_status_name(got), m->error.text);
}

/* ------------------------------------------------------------------------------ a fake server */

static fake_server *fake;

static int start_fake(void **state) {
    (void)state;
    fake = fake_server_start(NULL);
    return fake ? 0 : -1;
}

static int stop_fake(void **state) {
    (void)state;
    fake_server_stop(fake);
    return 0;
}

/* What the server says when it is asked this. */
static void assert_told(const char *asked, const char *reply, lk_status status, const char *words) {
    meeting m;
    fake_server_on(fake, asked, 1, reply);
    meet(&m, fake_server_socket(fake));
    m.endpoint.password = password;
    m.endpoint.db = 99;
    assert_refused(&m, status, words);
    assert_null(strstr(m.error.text, "hunter2"));
    lki_transport_close(m.transport);
}

static void a_server_that_repeats_the_password_is_not_quoted(void **state) {
    (void)state;
    assert_told("AUTH", "-ERR unknown command 'AUTH', with args beginning with: 'hunter2' \r\n",
                LK_UNSUPPORTED, "AUTH failed: ERR; ");
}

static void refusals_have_their_status_and_advice(void **state) {
    (void)state;
    assert_told("AUTH",
                "-ERR AUTH <password> called without any password configured for the default user. "
                "Are you sure your configuration is correct?\r\n",
                LK_DENIED, "the server has no password");
    assert_told("SELECT", "-ERR DB index is out of range\r\n", LK_INVALID, "smaller db");
    assert_told("AUTH", "-ERR max number of clients reached\r\n", LK_UNAVAILABLE, "maxclients");
}

static void the_advice_stands_behind_the_longest_reply(void **state) {
    (void)state;
    char reply[2048];
    snprintf(reply, sizeof reply, "-DENIED %01500d\r\n", 0);
    assert_told("SELECT", reply, LK_DENIED, "protected mode");
}

static void a_name_that_is_not_taken_is_no_reason(void **state) {
    (void)state;
    meeting m;
    fake_server_on(fake, "CLIENT SETNAME", 1, "-ERR max number of names reached\r\n");
    meet(&m, fake_server_socket(fake));
    assert_int_equal(greet(&m), LK_OK);
    lki_transport_close(m.transport);
}

static void why_the_server_hangs_up_is_told(void **state) {
    (void)state;
    static const struct {
        const char *reply;
        lk_status status;
        const char *words;
    } farewells[] = {
        {"-ERR max number of clients reached\r\n", LK_UNAVAILABLE, "maxclients"},
        {"-DENIED Redis is running in protected mode\r\n", LK_DENIED, "protected mode"},
    };
    for (size_t i = 0; i < sizeof farewells / sizeof *farewells; i++) {
        meeting m;
        fake_server_on(fake, "CLIENT SETNAME", 1, farewells[i].reply);
        fake_server_do(fake, "CLIENT ID", 1, FAKE_DROP);
        meet(&m, fake_server_socket(fake));
        assert_refused(&m, farewells[i].status, farewells[i].words);
        lki_transport_close(m.transport);
    }
}

/* Greets, and reads what the greeting has left; all of it has come. */
static void assert_left_by_greeting(bool is_sharded) {
    static const char rest[] = PUSH "*3\r\n$7\r\nmess";
    char buffer[sizeof rest];
    meeting m;
    meet(&m, fake_server_socket(fake));
    m.greeting.channel = "c";
    m.greeting.is_sharded = is_sharded;
    assert_int_equal(greet(&m), LK_OK);
    struct pollfd polled = {lki_transport_fd(m.transport), lki_transport_events(m.transport, false),
                            0};
    assert_int_equal(poll(&polled, 1, LONG_MS), 1);
    assert_int_equal(lki_transport_read(m.transport, buffer, 10, &m.error), 10);
    assert_int_equal(lki_transport_read(m.transport, buffer + 10, sizeof buffer - 10, &m.error),
                     sizeof rest - 1 - 10);
    assert_memory_equal(buffer, rest, sizeof rest - 1);
    assert_int_equal(lki_transport_read(m.transport, buffer, 1, &m.error), LKI_WOULD_BLOCK);
    assert_int_equal(lki_transport_events(m.transport, false), POLLIN);
    lki_transport_close(m.transport);
}

static void what_comes_behind_the_last_answer_is_the_next_readers(void **state) {
    (void)state;
    fake_server_on(fake, "SUBSCRIBE", 1, SUBSCRIBED PUSH "*3\r\n$7\r\nmess");
    assert_left_by_greeting(false);
}

/* The first subscription brings messages before the second one is answered. */
static void a_message_is_not_the_answer_to_the_sharded_subscription(void **state) {
    (void)state;
    fake_server_on(fake, "SUBSCRIBE", 2, SUBSCRIBED PUSH PUSH);
    fake_server_on(fake, "SSUBSCRIBE", 1, SSUBSCRIBED PUSH "*3\r\n$7\r\nmess");
    assert_left_by_greeting(true);
    fake_server_on(fake, "SSUBSCRIBE", 1, "-MOVED 1 h:7001\r\n" PUSH "*3\r\n$7\r\nmess");
    assert_left_by_greeting(true);
}

/* ------------------------------------------------------------------------------ a rude peer */

static unix_listener listener;

static int listen_here(void **state) {
    (void)state;
    return unix_listener_open(&listener) ? 0 : -1;
}

static int stop_listening(void **state) {
    (void)state;
    unix_listener_close(&listener);
    return 0;
}

/* Connects, and has the peer say this, and no more, before the greeting begins. */
static int meet_who_said(meeting *m, const char *bytes, size_t length) {
    meet(m, listener.path);
    int peer = unix_listener_accept(&listener);
    assert_true(peer >= 0);
    assert_int_equal(send(peer, bytes, length, MSG_NOSIGNAL), length);
    assert_int_equal(shutdown(peer, SHUT_WR), 0);
    return peer;
}

static void what_the_server_said_unasked_before_it_hung_up_is_told(void **state) {
    (void)state;
    static const char farewell[] = "-ERR max number of clients reached\r\n";
    for (int i = 0; i < 2; i++) {
        meeting m;
        unix_close(meet_who_said(&m, farewell, sizeof farewell - 1));
        m.endpoint.password = i ? password : NULL;
        assert_refused(&m, LK_UNAVAILABLE, "maxclients");
        lki_transport_close(m.transport);
    }
}

/* The beginning of an answer without an end. */
static const char *pile(void) {
    static char bytes[PILE];
    memset(bytes, 'a', sizeof bytes);
    bytes[0] = '+';
    return bytes;
}

static void the_deadline_holds_while_there_is_something_to_read(void **state) {
    (void)state;
    meeting m;
    int peer = meet_who_said(&m, pile(), PILE);
    m.greeting.deadline_us = lki_now_us() - 1;
    assert_refused(&m, LK_UNAVAILABLE, "in time");
    lki_transport_close(m.transport);
    unix_close(peer);
}

static void the_greeting_can_be_stopped_while_there_is_something_to_read(void **state) {
    (void)state;
    meeting m;
    int stop_fd = eventfd(1, EFD_CLOEXEC);
    int peer = meet_who_said(&m, pile(), PILE);
    m.greeting.stop_fd = stop_fd;
    assert_refused(&m, LK_CANCELED, "was stopped");
    lki_transport_close(m.transport);
    unix_close(peer);
    close(stop_fd);
}

static void *talk_without_end(void *context) {
    while (send(*(const int *)context, pile(), PILE, MSG_NOSIGNAL) > 0) {}
    return NULL;
}

static void who_talks_without_end_is_given_up(void **state) {
    (void)state;
    meeting m;
    pthread_t talker;
    meet(&m, listener.path);
    int peer = unix_listener_accept(&listener);
    assert_int_equal(fcntl(peer, F_SETFL, 0), 0); /* it may block */
    assert_int_equal(pthread_create(&talker, NULL, talk_without_end, &peer), 0);
    lk_status status = greet(&m);
    lki_transport_close(m.transport);
    pthread_join(talker, NULL);
    unix_close(peer);
    assert_int_equal(status, LK_UNAVAILABLE);
    assert_non_null(strstr(m.error.text, "without end"));
}

static void servers_from_6_2_on_are_supported(void **state) {
    (void)state;
    static const char *const new_enough[] = {"6.2", "6.2.0",  "6.2.14\r\n", "6.10",
                                             "7",   "7.0.15", "255.0"};
    static const char *const too_old[] = {"", "6", "6.1.99", "6.0", "5.9", "2.8", "valkey"};
    for (size_t i = 0; i < sizeof new_enough / sizeof *new_enough; i++)
        assert_true(lki_info_is_supported(new_enough[i]));
    for (size_t i = 0; i < sizeof too_old / sizeof *too_old; i++)
        assert_false(lki_info_is_supported(too_old[i]));
}

#define FAKE_TEST(name) cmocka_unit_test_setup_teardown(name, start_fake, stop_fake)
#define RUDE_TEST(name) cmocka_unit_test_setup_teardown(name, listen_here, stop_listening)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_from_6_2_on_are_supported),
        FAKE_TEST(a_server_that_repeats_the_password_is_not_quoted),
        FAKE_TEST(refusals_have_their_status_and_advice),
        FAKE_TEST(the_advice_stands_behind_the_longest_reply),
        FAKE_TEST(a_name_that_is_not_taken_is_no_reason),
        FAKE_TEST(why_the_server_hangs_up_is_told),
        FAKE_TEST(what_comes_behind_the_last_answer_is_the_next_readers),
        FAKE_TEST(a_message_is_not_the_answer_to_the_sharded_subscription),
        RUDE_TEST(what_the_server_said_unasked_before_it_hung_up_is_told),
        RUDE_TEST(the_deadline_holds_while_there_is_something_to_read),
        RUDE_TEST(the_greeting_can_be_stopped_while_there_is_something_to_read),
        RUDE_TEST(who_talks_without_end_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
