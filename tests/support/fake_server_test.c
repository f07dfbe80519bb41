/* tests/support/fake_server.c, with a plain client, alone and before a real server. */
#include "fake_server.h"
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
#include <sys/wait.h>

#include <cmocka.h>

#include "plain_client.h"

static test_server *real;

/* Each test has a fake server of its own, alone or before the real one, and a client of it. */
typedef struct {
    fake_server *fake;
    redisContext *client;
} world;

static int set_up(void **state, const char *upstream) {
    world *w = test_alloc(1, sizeof *w);
    w->fake = fake_server_start(upstream);
    assert_non_null(w->fake);
    w->client = client_open(fake_server_socket(w->fake));
    *state = w;
    return 0;
}

static int set_up_alone(void **state) {
    return set_up(state, NULL);
}

static int set_up_before_the_real_one(void **state) {
    int failed = set_up(state, test_server_socket(real));
    client_ask(((world *)*state)->client, "FLUSHALL", "OK");
    return failed;
}

static int tear_down(void **state) {
    world *w = *state;
    redisFree(w->client);
    fake_server_stop(w->fake);
    free(w);
    return 0;
}

static void it_answers_as_a_plain_server(void **state) {
    world *w = *state;
    client_ask(w->client, "PING", "PONG");
    client_ask(w->client, "AUTH user password", "OK");
    client_ask(w->client, "SELECT 3", "OK");
    client_ask(w->client, "CLIENT ID", "1");
    client_ask(w->client, "client setname me", "OK");
    client_ask(w->client, "CLIENT KILL ID 7", "1");
    client_ask(w->client, "HELLO 3", "ERR unknown command 'HELLO'");
    client_ask(w->client, "EVALSHA x 0", "ERR unknown command 'EVALSHA'");
    redisReply *info = redisCommand(w->client, "INFO server");
    assert_non_null(info);
    const char *run_id = strstr(info->str, "\r\nrun_id:");
    assert_non_null(run_id);
    assert_int_equal(strspn(run_id + 9, "0123456789abcdef"), 40);
    assert_non_null(strstr(info->str, "redis_version:7.0.15\r\n"));
    assert_non_null(strstr(info->str, "role:master\r\n"));
    freeReplyObject(info);
}

static void a_subscribed_connection_gets_what_is_sent(void **state) {
    world *w = *state;
    redisContext *other = client_open(fake_server_socket(w->fake));
    client_ask(other, "PING", "PONG");
    client_send(w->client, "SUBSCRIBE one two");
    client_expect(w->client, "1");
    client_expect(w->client, "2");
    client_ask(w->client, "PING", "");
    assert_int_equal(fake_server_publish(w->fake, "one", "hello"), 1);
    client_expect(w->client, "hello");
    assert_int_equal(fake_server_send(w->fake, "+raw\r\n"), 1);
    client_expect(w->client, "raw");
    client_ask(w->client, "UNSUBSCRIBE one", "1");
    client_ask(w->client, "UNSUBSCRIBE", "0");
    client_ask(w->client, "PING", "PONG");
    client_expect_nothing(other);
    redisFree(other);
}

static void the_newest_rule_answers_until_it_has_worn_out(void **state) {
    world *w = *state;
    fake_server_on(w->fake, "EVALSHA", FAKE_FOREVER, ":1\r\n");
    fake_server_on(w->fake, "evalsha", 2, "-LOADING Redis is loading the dataset in memory\r\n");
    client_ask(w->client, "EVALSHA x 0", "LOADING Redis is loading the dataset in memory");
    client_ask(w->client, "EVALSHA x 0", "LOADING Redis is loading the dataset in memory");
    client_ask(w->client, "EVALSHA x 0", "1");
    client_ask(w->client, "EVALSHA x 0", "1");
    fake_server_forget(w->fake);
    client_ask(w->client, "EVALSHA x 0", "ERR unknown command 'EVALSHA'");
}

static void a_rule_is_for_the_words_that_it_names(void **state) {
    world *w = *state;
    fake_server_on(w->fake, "", FAKE_FOREVER, "+any\r\n");
    fake_server_on(w->fake, "EVALSHA abc", FAKE_FOREVER, "+script\r\n");
    fake_server_on(w->fake, "EVALSHA * 1 key", FAKE_FOREVER, "+key\r\n");
    fake_server_do(w->fake, "CLIENT ID", FAKE_FOREVER, FAKE_PASS);
    client_ask(w->client, "EVALSHA abc 0", "script");
    client_ask(w->client, "EVALSHA abcd 0", "any");
    client_ask(w->client, "EVALSHA abc 1 key", "key");
    client_ask(w->client, "EVALSHA abc 1 keys", "script");
    client_ask(w->client, "EVALSHA", "any");
    client_ask(w->client, "CLIENT ID", "1");
    client_ask(w->client, "CLIENT KILL ID 1", "any");
}

static void a_dropped_command_ends_its_connection_only(void **state) {
    world *w = *state;
    redisContext *other = client_open(fake_server_socket(w->fake));
    fake_server_do(w->fake, "EVALSHA", 1, FAKE_DROP);
    client_send(w->client, "PING");
    client_send(w->client, "EVALSHA x 0");
    client_expect(w->client, "PONG");
    client_expect_end(w->client);
    client_ask(other, "EVALSHA x 0", "ERR unknown command 'EVALSHA'");
    redisFree(other);
}

static void a_silent_connection_takes_commands_and_says_nothing(void **state) {
    world *w = *state;
    fake_server_do(w->fake, "EVALSHA", 1, FAKE_SILENCE);
    client_ask(w->client, "SUBSCRIBE one", "1");
    client_send(w->client, "EVALSHA x 0");
    client_send(w->client, "PING");
    assert_true(fake_server_wait_for(w->fake, "PING", 1, LONG_MS));
    assert_int_equal(fake_server_publish(w->fake, "one", "hello"), 0);
    client_expect_nothing(w->client);
    redisContext *other = client_open(fake_server_socket(w->fake));
    client_ask(other, "PING", "PONG");
    redisFree(other);
}

static void an_answer_in_pieces_comes_byte_by_byte(void **state) {
    world *w = *state;
    fake_server_on(w->fake, "EVALSHA", FAKE_FOREVER, "*1\r\n:5\r\n");
    fake_server_do(w->fake, "EVALSHA", 2, FAKE_PIECES);
    client_send(w->client, "EVALSHA x 0");
    for (const char *expected = "*1\r\n:5\r\n"; *expected; expected++) {
        char bytes[16];
        assert_int_equal(recv(w->client->fd, bytes, sizeof bytes, 0), 1);
        assert_int_equal(bytes[0], *expected);
    }
    client_ask(w->client, "EVALSHA x 0", "5");
    client_ask(w->client, "PING", "PONG");
}

static void a_held_command_and_those_behind_it_wait(void **state) {
    world *w = *state;
    redisContext *other = client_open(fake_server_socket(w->fake));
    fake_server_on(w->fake, "EVALSHA", FAKE_FOREVER, "+ruled\r\n");
    fake_server_hold(w->fake, "EVALSHA");
    client_send(w->client, "EVALSHA x 0");
    client_send(w->client, "PING");
    assert_true(fake_server_wait_for(w->fake, "PING", 1, LONG_MS));
    client_ask(other, "PING", "PONG");
    client_expect_nothing(w->client);
    fake_server_on(w->fake, "EVALSHA", 1, "+decided later\r\n");
    fake_server_let_go(w->fake);
    client_expect(w->client, "decided later");
    client_expect(w->client, "PONG");
    client_ask(other, "EVALSHA x 0", "ruled");
    redisFree(other);
}

static void commands_are_counted(void **state) {
    world *w = *state;
    client_ask(w->client, "PING", "PONG");
    client_ask(w->client, "CLIENT ID", "1");
    client_ask(w->client, "CLIENT KILL ID 7", "1");
    assert_int_equal(fake_server_count(w->fake, "PING"), 1);
    assert_int_equal(fake_server_count(w->fake, "CLIENT"), 2);
    assert_int_equal(fake_server_count(w->fake, "CLIENT KILL ID 7"), 1);
    assert_int_equal(fake_server_count(w->fake, "CLIENT KILL ID 7 8"), 0);
    assert_int_equal(fake_server_count(w->fake, ""), 3);
    assert_true(fake_server_wait_for(w->fake, "CLIENT", 2, 0));
    assert_false(fake_server_wait_for(w->fake, "CLIENT", 3, 1));
}

static void connections_are_counted_and_dropped(void **state) {
    world *w = *state;
    redisContext *other = client_open(fake_server_socket(w->fake));
    assert_true(fake_server_wait_connections(w->fake, 2, LONG_MS));
    redisFree(other);
    assert_true(fake_server_wait_connections(w->fake, 1, LONG_MS));
    assert_false(fake_server_wait_connections(w->fake, 2, 1));
    fake_server_drop_all(w->fake);
    assert_int_equal(fake_server_connections_now(w->fake), 0);
    assert_int_equal(fake_server_connections_ever(w->fake), 2);
    client_expect_end(w->client);
}

static void bytes_that_are_no_command_end_the_connection(void **state) {
    world *w = *state;
    static const char *const broken[] = {"PING\r\n", "*1\r\n:5\r\n", "*0\r\n", "*x\r\n",
                                         "*1\r\n$x\r\n"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        redisContext *client = client_open(fake_server_socket(w->fake));
        assert_true(send(client->fd, broken[i], strlen(broken[i]), MSG_NOSIGNAL) > 0);
        client_expect(client, "ERR Protocol error");
        client_expect_end(client);
        redisFree(client);
    }
    client_ask(w->client, "PING", "PONG");
}

static void a_command_may_come_in_pieces(void **state) {
    world *w = *state;
    for (const char *byte = "*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n"; *byte; byte++)
        assert_int_equal(send(w->client->fd, byte, 1, MSG_NOSIGNAL), 1);
    client_expect(w->client, "1");
}

static void several_run_side_by_side_and_leave_nothing(void **state) {
    world *w = *state;
    fake_server *other = fake_server_start(NULL);
    assert_non_null(other);
    char *path = test_print("%s", fake_server_socket(other));
    redisContext *client = client_open(path);
    fake_server_on(other, "PING", FAKE_FOREVER, "+other\r\n");
    client_ask(client, "PING", "other");
    client_ask(w->client, "PING", "PONG");
    fake_server_stop(other);
    client_expect_end(client);
    expect_removed(path);
    redisFree(client);
    client_ask(w->client, "PING", "PONG");
}

static void without_a_rule_the_upstream_answers(void **state) {
    world *w = *state;
    client_ask(w->client, "SET a 1", "OK");
    client_ask(w->client, "INCR a", "2");
    redisContext *direct = client_open(test_server_socket(real));
    client_ask(direct, "GET a", "2");
    redisFree(direct);
}

static void ruled_answers_keep_their_place_between_those_of_the_upstream(void **state) {
    world *w = *state;
    fake_server_on(w->fake, "GET b", FAKE_FOREVER, "+ruled\r\n");
    fake_server_do(w->fake, "INCR", FAKE_FOREVER, FAKE_PIECES);
    client_send(w->client, "INCR a");
    client_send(w->client, "GET b");
    client_send(w->client, "INCR a");
    client_send(w->client, "GET b");
    client_expect(w->client, "1");
    client_expect(w->client, "ruled");
    client_expect(w->client, "2");
    client_expect(w->client, "ruled");
}

static void messages_of_the_upstream_are_passed_at_any_time(void **state) {
    world *w = *state;
    redisContext *direct = client_open(test_server_socket(real));
    client_send(w->client, "SUBSCRIBE one two");
    client_expect(w->client, "1");
    client_expect(w->client, "2");
    client_ask(direct, "PUBLISH one hello", "1");
    client_expect(w->client, "hello");
    fake_server_hold(w->fake, "PING");
    client_send(w->client, "PING");
    assert_true(fake_server_wait_for(w->fake, "PING", 1, LONG_MS));
    client_ask(direct, "PUBLISH two again", "1");
    client_expect(w->client, "again");
    fake_server_let_go(w->fake);
    client_expect(w->client, "");
    assert_int_equal(fake_server_publish(w->fake, "three", "made up"), 1);
    client_expect(w->client, "made up");
    redisFree(direct);
}

static void a_message_may_come_before_an_answer_that_is_awaited(void **state) {
    world *w = *state;
    fake_server *front = fake_server_start(fake_server_socket(w->fake));
    assert_non_null(front);
    redisContext *client = client_open(fake_server_socket(front));
    client_ask(client, "SUBSCRIBE one", "1");
    fake_server_on(w->fake, "PING", FAKE_FOREVER, "+answer\r\n");
    fake_server_hold(w->fake, "PING");
    fake_server_on(front, "ECHO", FAKE_FOREVER, "+ruled\r\n");
    client_send(client, "PING");
    client_send(client, "ECHO");
    assert_true(fake_server_wait_for(w->fake, "PING", 1, LONG_MS));
    assert_int_equal(fake_server_publish(w->fake, "one", "hello"), 1);
    client_expect(client, "hello");
    fake_server_let_go(w->fake);
    client_expect(client, "answer");
    client_expect(client, "ruled");
    redisFree(client);
    fake_server_stop(front);
}

static void a_command_may_be_done_and_its_answer_dropped(void **state) {
    world *w = *state;
    redisContext *other = client_open(fake_server_socket(w->fake));
    fake_server_do(w->fake, "INCR", 1, FAKE_RUN_AND_DROP);
    client_send(w->client, "INCR a");
    client_expect_end(w->client);
    client_ask(other, "GET a", "1");
    client_ask(other, "INCR a", "2");
    redisFree(other);
}

static void a_held_command_is_done_though_its_client_has_gone(void **state) {
    world *w = *state;
    redisContext *other = client_open(fake_server_socket(w->fake));
    fake_server_hold(w->fake, "INCR");
    client_send(other, "INCR a");
    client_send(other, "SET b done");
    assert_true(fake_server_wait_for(w->fake, "SET", 1, LONG_MS));
    redisFree(other);
    assert_true(fake_server_wait_connections(w->fake, 1, LONG_MS));
    client_send(w->client, "SUBSCRIBE __keyspace@0__:b");
    client_expect(w->client, "1");
    redisContext *direct = client_open(test_server_socket(real));
    client_ask(direct, "CONFIG SET notify-keyspace-events K$", "OK");
    client_ask(direct, "EXISTS a", "0");
    fake_server_let_go(w->fake);
    client_expect(w->client, "set");
    client_ask(direct, "GET a", "1");
    redisFree(direct);
}

static void a_held_command_is_not_done_when_the_upstream_kills_its_connection(void **state) {
    world *w = *state;
    redisReply *id = redisCommand(w->client, "CLIENT ID");
    assert_non_null(id);
    fake_server_hold(w->fake, "INCR");
    client_send(w->client, "INCR a");
    assert_true(fake_server_wait_for(w->fake, "INCR", 1, LONG_MS));
    redisContext *direct = client_open(test_server_socket(real));
    char *kill = test_print("CLIENT KILL ID %lld", id->integer);
    client_ask(direct, kill, "1");
    client_expect_end(w->client);
    fake_server_let_go(w->fake);
    client_ask(direct, "EXISTS a", "0");
    free(kill);
    freeReplyObject(id);
    redisFree(direct);
}

static void an_upstream_that_is_not_there_closes_connections(void **state) {
    (void)state;
    fake_server *fake = fake_server_start("/no/such/socket");
    assert_non_null(fake);
    redisContext *client = client_open(fake_server_socket(fake));
    client_expect_end(client);
    assert_int_equal(fake_server_connections_ever(fake), 1);
    assert_int_equal(fake_server_connections_now(fake), 0);
    redisFree(client);
    fake_server_stop(fake);
}

static void a_program_that_exits_without_stopping_it_leaves_nothing(void **state) {
    (void)state;
    int ends[2];
    char path[256] = "";
    fflush(NULL);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const char *socket = fake_server_socket(fake_server_start(NULL));
        exit(write(ends[1], socket, strlen(socket) + 1) < 0);
    }
    assert_true(read(ends[0], path, sizeof path) > 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    expect_removed(test_print("%s", path));
    close(ends[0]);
    close(ends[1]);
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

#define ALONE(test) cmocka_unit_test_setup_teardown(test, set_up_alone, tear_down)
#define BEFORE(test) cmocka_unit_test_setup_teardown(test, set_up_before_the_real_one, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ALONE(it_answers_as_a_plain_server),
        ALONE(a_subscribed_connection_gets_what_is_sent),
        ALONE(the_newest_rule_answers_until_it_has_worn_out),
        ALONE(a_rule_is_for_the_words_that_it_names),
        ALONE(a_dropped_command_ends_its_connection_only),
        ALONE(a_silent_connection_takes_commands_and_says_nothing),
        ALONE(an_answer_in_pieces_comes_byte_by_byte),
        ALONE(a_held_command_and_those_behind_it_wait),
        ALONE(commands_are_counted),
        ALONE(connections_are_counted_and_dropped),
        ALONE(bytes_that_are_no_command_end_the_connection),
        ALONE(a_command_may_come_in_pieces),
        ALONE(several_run_side_by_side_and_leave_nothing),
        BEFORE(without_a_rule_the_upstream_answers),
        BEFORE(ruled_answers_keep_their_place_between_those_of_the_upstream),
        ALONE(a_message_may_come_before_an_answer_that_is_awaited),
        BEFORE(messages_of_the_upstream_are_passed_at_any_time),
        BEFORE(a_command_may_be_done_and_its_answer_dropped),
        BEFORE(a_held_command_is_done_though_its_client_has_gone),
        BEFORE(a_held_command_is_not_done_when_the_upstream_kills_its_connection),
        cmocka_unit_test(a_program_that_exits_without_stopping_it_leaves_nothing),
        cmocka_unit_test(an_upstream_that_is_not_there_closes_connections),
    };
    return cmocka_run_group_tests(tests, start_real, stop_real);
}
