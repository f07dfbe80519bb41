/* tests/support/proxy.c, between a plain client and a real server. */
#include "fake_server.h"
#include "proxy.h"
#include "server.h"
#include "test_memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#include "plain_client.h"

static test_server *real;

/* Each test has a proxy of its own, a client through it, and one past it. */
typedef struct {
    proxy *proxy;
    redisContext *client, *direct;
} world;

static int set_up(void **state) {
    world *w = test_alloc(1, sizeof *w);
    w->proxy = proxy_start(test_server_socket(real));
    assert_non_null(w->proxy);
    w->client = client_open(proxy_socket(w->proxy));
    w->direct = client_open(test_server_socket(real));
    client_ask(w->direct, "FLUSHALL", "OK");
    *state = w;
    return 0;
}

static int tear_down(void **state) {
    world *w = *state;
    redisFree(w->client);
    redisFree(w->direct);
    proxy_stop(w->proxy);
    free(w);
    return 0;
}

static redisContext *open_subscription(world *w) {
    redisContext *subscription = client_open(proxy_socket(w->proxy));
    client_ask(subscription, "SUBSCRIBE news", "1");
    return subscription;
}

/* Waits until the server, asked past the proxy, gives this answer. */
static void expect_soon(world *w, const char *command, const char *expected) {
    for (int tries = 0; tries < LONG_MS; tries++) {
        redisReply *reply = redisCommand(w->direct, command);
        assert_non_null(reply);
        bool so = reply->str && strcmp(reply->str, expected) == 0;
        freeReplyObject(reply);
        if (so)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    fail_msg("%s is not %s", command, expected);
}

static void it_passes_on_what_comes(void **state) {
    world *w = *state;
    size_t length = 3000000;
    char *long_text = test_alloc(length + 1, 1);
    memset(long_text, 'x', length);
    redisReply *reply = redisCommand(w->client, "SET a %s", long_text);
    assert_non_null(reply);
    freeReplyObject(reply);
    client_ask(w->client, "GET a", long_text);
    assert_true(proxy_bytes_passed(w->proxy, PROXY_TO_SERVER) > length);
    assert_true(proxy_bytes_passed(w->proxy, PROXY_TO_CLIENT) > length);
    free(long_text);
}

static void bytes_are_counted(void **state) {
    world *w = *state;
    client_ask(w->client, "PING", "PONG");
    assert_int_equal(proxy_bytes_taken(w->proxy, PROXY_TO_SERVER), 14);
    assert_int_equal(proxy_bytes_passed(w->proxy, PROXY_TO_SERVER), 14);
    assert_int_equal(proxy_bytes_passed(w->proxy, PROXY_TO_CLIENT), 7);
    assert_int_equal(proxy_bytes_passed(w->proxy, PROXY_BOTH), 21);
    assert_int_equal(proxy_requests(w->proxy, PROXY_COMMANDS), 1);
    assert_int_equal(proxy_requests(w->proxy, PROXY_SUBSCRIPTIONS), 0);
}

static void a_paused_request_is_taken_and_not_delivered(void **state) {
    world *w = *state;
    proxy_pause(w->proxy, PROXY_ALL, PROXY_TO_SERVER);
    client_send(w->client, "INCR a");
    assert_true(proxy_wait_requests(w->proxy, PROXY_ALL, 1, LONG_MS));
    assert_int_equal(proxy_bytes_passed(w->proxy, PROXY_TO_SERVER), 0);
    client_ask(w->direct, "EXISTS a", "0");
    proxy_resume(w->proxy, PROXY_ALL, PROXY_TO_SERVER);
    client_expect(w->client, "1");
}

static void a_paused_answer_is_taken_and_not_delivered(void **state) {
    world *w = *state;
    proxy_pause(w->proxy, PROXY_ALL, PROXY_TO_CLIENT);
    client_send(w->client, "INCR a");
    expect_soon(w, "GET a", "1");
    assert_true(proxy_wait_taken(w->proxy, PROXY_TO_CLIENT, 1, LONG_MS));
    assert_int_equal(proxy_bytes_passed(w->proxy, PROXY_TO_CLIENT), 0);
    client_expect_nothing(w->client);
    proxy_resume(w->proxy, PROXY_ALL, PROXY_BOTH);
    client_expect(w->client, "1");
}

static void a_paused_request_comes_though_its_client_has_gone(void **state) {
    world *w = *state;
    redisContext *other = client_open(proxy_socket(w->proxy));
    proxy_pause(w->proxy, PROXY_ALL, PROXY_TO_SERVER);
    client_send(other, "SET a late");
    assert_true(proxy_wait_requests(w->proxy, PROXY_ALL, 1, LONG_MS));
    redisFree(other);
    assert_true(proxy_wait_connections(w->proxy, PROXY_ALL, 1, LONG_MS));
    client_ask(w->direct, "EXISTS a", "0");
    proxy_resume(w->proxy, PROXY_ALL, PROXY_TO_SERVER);
    expect_soon(w, "GET a", "late");
}

static void a_subscription_may_be_paused_alone(void **state) {
    world *w = *state;
    redisContext *subscription = open_subscription(w);
    proxy_pause(w->proxy, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
    uint64_t before = proxy_bytes_taken(w->proxy, PROXY_TO_CLIENT);
    client_ask(w->direct, "PUBLISH news hello", "1");
    assert_true(proxy_wait_taken(w->proxy, PROXY_TO_CLIENT, before + 1, LONG_MS));
    client_ask(w->client, "PING", "PONG");
    client_expect_nothing(subscription);
    proxy_resume(w->proxy, PROXY_SUBSCRIPTIONS, PROXY_BOTH);
    client_expect(subscription, "hello");
    redisFree(subscription);
}

/* The server is a fake one here, which sees how its connections end and answers when told to. */
static void a_paused_end_of_a_connection_comes_later(void **state) {
    (void)state;
    fake_server *fake = fake_server_start(NULL);
    proxy *before = proxy_start(fake_server_socket(fake));
    redisContext *client = client_open(proxy_socket(before));
    client_ask(client, "PING", "PONG");
    proxy_pause(before, PROXY_ALL, PROXY_TO_SERVER);
    redisFree(client);
    assert_true(proxy_wait_connections(before, PROXY_ALL, 0, LONG_MS));
    redisContext *direct = client_open(fake_server_socket(fake));
    client_ask(direct, "PING", "PONG");
    assert_int_equal(fake_server_connections_now(fake), 2);
    proxy_resume(before, PROXY_ALL, PROXY_TO_SERVER);
    assert_true(fake_server_wait_connections(fake, 1, LONG_MS));
    redisFree(direct);
    proxy_stop(before);
    fake_server_stop(fake);
}

static void a_message_before_the_answer_passes_before_the_cut(void **state) {
    (void)state;
    fake_server *fake = fake_server_start(NULL);
    proxy *before = proxy_start(fake_server_socket(fake));
    redisContext *client = client_open(proxy_socket(before));
    client_ask(client, "SUBSCRIBE news", "1");
    fake_server_hold(fake, "PING");
    proxy_cut_after_request(before, PROXY_SUBSCRIPTIONS, 1);
    client_send(client, "PING");
    assert_true(fake_server_wait_for(fake, "PING", 1, LONG_MS));
    assert_int_equal(fake_server_publish(fake, "news", "hello"), 1);
    client_expect(client, "hello");
    fake_server_let_go(fake);
    client_expect_end(client);
    assert_int_equal(proxy_cuts(before), 1);
    redisFree(client);
    proxy_stop(before);
    fake_server_stop(fake);
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void a_delay_makes_each_direction_late(void **state) {
    world *w = *state;
    proxy_delay(w->proxy, PROXY_ALL, PROXY_TO_SERVER, 20);
    proxy_delay(w->proxy, PROXY_COMMANDS, PROXY_TO_CLIENT, 30);
    int64_t begin_ms = now_ms();
    client_send(w->client, "INCR a");
    client_send(w->client, "INCR a");
    client_expect(w->client, "1");
    client_expect(w->client, "2");
    assert_true(now_ms() - begin_ms >= 49); /* the clocks are cut to whole ms */
    proxy_delay(w->proxy, PROXY_ALL, PROXY_BOTH, 0);
    client_ask(w->client, "INCR a", "3");
}

static void all_connections_of_a_kind_are_cut(void **state) {
    world *w = *state;
    redisContext *subscription = open_subscription(w);
    assert_int_equal(proxy_connections_now(w->proxy, PROXY_ALL), 2);
    assert_int_equal(proxy_connections_now(w->proxy, PROXY_SUBSCRIPTIONS), 1);
    proxy_cut_all(w->proxy, PROXY_SUBSCRIPTIONS);
    client_expect_end(subscription);
    client_ask(w->client, "PING", "PONG");
    proxy_cut_all(w->proxy, PROXY_ALL);
    client_expect_end(w->client);
    assert_int_equal(proxy_connections_now(w->proxy, PROXY_ALL), 0);
    assert_int_equal(proxy_connections_ever(w->proxy), 2);
    redisFree(subscription);
}

static void a_cut_after_a_request_leaves_it_done_and_unanswered(void **state) {
    world *w = *state;
    proxy_cut_after_request(w->proxy, PROXY_ALL, 2);
    redisAppendCommand(w->client, "INCR a");
    redisAppendCommand(w->client, "INCR a");
    client_send(w->client,
                "INCR a"); /* all in one write: after the cut there would be nobody to write to */
    client_expect(w->client, "1");
    client_expect_end(w->client);
    client_ask(w->direct, "GET a", "2");
    assert_int_equal(proxy_cuts(w->proxy), 1);
    redisContext *next = client_open(proxy_socket(w->proxy));
    client_ask(next, "INCR a", "3");
    redisFree(next);
}

static void a_cut_before_a_request_leaves_it_undone(void **state) {
    world *w = *state;
    proxy_cut_before_request(w->proxy, PROXY_ALL, 2);
    client_ask(w->client, "INCR a", "1");
    client_send(w->client, "INCR a");
    client_expect_end(w->client);
    client_ask(w->direct, "GET a", "1");
    assert_int_equal(proxy_cuts(w->proxy), 1);
}

static void a_planned_cut_counts_requests_of_its_kind_only(void **state) {
    world *w = *state;
    redisContext *subscription = open_subscription(w);
    proxy_cut_after_request(w->proxy, PROXY_SUBSCRIPTIONS, 1);
    proxy_cut_before_request(w->proxy, PROXY_COMMANDS, 3);
    client_ask(w->client, "INCR a", "1");
    client_ask(w->direct, "PUBLISH news hello", "1");
    client_expect(subscription, "hello");
    client_send(subscription, "SUBSCRIBE more");
    client_expect_end(subscription);
    client_ask(w->client, "INCR a", "2");
    client_send(w->client, "INCR a");
    client_expect_end(w->client);
    assert_int_equal(proxy_cuts(w->proxy), 2);
    redisFree(subscription);
}

static void a_plan_may_be_given_up(void **state) {
    world *w = *state;
    proxy_cut_before_request(w->proxy, PROXY_ALL, 1);
    proxy_cut_before_request(w->proxy, PROXY_ALL, 0);
    client_ask(w->client, "INCR a", "1");
    assert_int_equal(proxy_cuts(w->proxy), 0);
}

static void a_refused_connection_ends_at_once(void **state) {
    world *w = *state;
    client_ask(w->client, "PING", "PONG");
    proxy_refuse(w->proxy, true);
    redisContext *refused = client_open(proxy_socket(w->proxy));
    client_expect_end(refused);
    redisFree(refused);
    client_ask(w->client, "PING", "PONG");
    proxy_refuse(w->proxy, false);
    redisContext *next = client_open(proxy_socket(w->proxy));
    client_ask(next, "PING", "PONG");
    redisFree(next);
    assert_int_equal(proxy_connections_ever(w->proxy), 3);
}

static void nobody_connects_where_nobody_listens(void **state) {
    world *w = *state;
    client_ask(w->client, "PING", "PONG");
    proxy_unlisten(w->proxy);
    proxy_unlisten(w->proxy);
    redisContext *refused = redisConnectUnix(proxy_socket(w->proxy));
    assert_non_null(refused);
    assert_int_not_equal(refused->err, 0);
    redisFree(refused);
    client_ask(w->client, "PING", "PONG");
    assert_true(proxy_listen(w->proxy));
    assert_true(proxy_listen(w->proxy));
    redisContext *next = client_open(proxy_socket(w->proxy));
    client_ask(next, "PING", "PONG");
    redisFree(next);
}

static void the_servers_end_of_a_connection_reaches_the_client(void **state) {
    world *w = *state;
    client_send(w->client, "PING");
    client_send(w->client, "QUIT");
    client_expect(w->client, "PONG");
    client_expect(w->client, "OK");
    client_expect_end(w->client);
    assert_true(proxy_wait_connections(w->proxy, PROXY_ALL, 0, LONG_MS));
}

static void bytes_that_are_no_request_are_passed_on(void **state) {
    world *w = *state;
    assert_int_equal(send(w->client->fd, "PING\r\n", 6, MSG_NOSIGNAL), 6);
    client_expect(w->client, "PONG");
}

static void several_run_side_by_side_and_leave_nothing(void **state) {
    world *w = *state;
    proxy *other = proxy_start(proxy_socket(w->proxy));
    assert_non_null(other);
    char *path = test_print("%s", proxy_socket(other));
    redisContext *client = client_open(path);
    client_ask(client, "PING", "PONG");
    proxy_stop(other);
    client_expect_end(client);
    expect_removed(path);
    redisFree(client);
    client_ask(w->client, "PING", "PONG");
}

static int start_real(void **state) {
    (void)state;
    real = test_server_start(test_server_any(), NULL);
    return real ? 0 : -1;
}

static int stop_real(void **state) {
    (void)state;
    test_server_stop(real);
    return 0;
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(it_passes_on_what_comes),
        TEST(bytes_are_counted),
        TEST(a_paused_request_is_taken_and_not_delivered),
        TEST(a_paused_answer_is_taken_and_not_delivered),
        TEST(a_paused_request_comes_though_its_client_has_gone),
        TEST(a_subscription_may_be_paused_alone),
        cmocka_unit_test(a_paused_end_of_a_connection_comes_later),
        cmocka_unit_test(a_message_before_the_answer_passes_before_the_cut),
        TEST(a_delay_makes_each_direction_late),
        TEST(all_connections_of_a_kind_are_cut),
        TEST(a_cut_after_a_request_leaves_it_done_and_unanswered),
        TEST(a_cut_before_a_request_leaves_it_undone),
        TEST(a_planned_cut_counts_requests_of_its_kind_only),
        TEST(a_plan_may_be_given_up),
        TEST(a_refused_connection_ends_at_once),
        TEST(nobody_connects_where_nobody_listens),
        TEST(the_servers_end_of_a_connection_reaches_the_client),
        TEST(bytes_that_are_no_request_are_passed_on),
        TEST(several_run_side_by_side_and_leave_nothing),
    };
    return cmocka_run_group_tests(tests, start_real, stop_real);
}
