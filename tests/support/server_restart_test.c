/* tests/support/server.c: a server that ends and is started again. */
#include "server.h"

#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void tell(const test_server *server, const char *command) {
    redisContext *context = redisConnectUnix(test_server_socket(server));
    redisReply *reply = redisCommand(context, command);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    redisFree(context);
}

static long long key_count(const test_server *server) {
    redisContext *context = redisConnectUnix(test_server_socket(server));
    redisReply *reply = redisCommand(context, "DBSIZE");
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    long long count = reply->integer;
    freeReplyObject(reply);
    redisFree(context);
    return count;
}

static void assert_max_clients(const test_server *server, const char *wanted) {
    redisContext *context = redisConnectUnix(test_server_socket(server));
    redisReply *reply = redisCommand(context, "CONFIG GET maxclients");
    assert_non_null(reply);
    assert_int_equal(reply->elements, 2);
    assert_string_equal(reply->element[1]->str, wanted);
    freeReplyObject(reply);
    redisFree(context);
}

static void restart(test_server *server, int with_signal) {
    pid_t before = test_server_pid(server);
    test_server_end(server, with_signal);
    assert_int_not_equal(kill(before, 0), 0);
    assert_true(test_server_start_again(server));
    assert_int_not_equal(test_server_pid(server), before);
}

static void a_server_that_keeps_its_data_has_it_after_a_restart(void **state) {
    (void)state;
    const char *const options[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};
    test_server *server = test_server_start(test_server_any(), options);
    assert_non_null(server);
    tell(server, "SET a 1");
    restart(server, SIGTERM);
    assert_int_equal(key_count(server), 1);
    tell(server, "SET b 1");
    restart(server, SIGKILL);
    assert_int_equal(key_count(server), 2);
    test_server_stop(server);
}

static void a_server_without_persistence_has_nothing_after_a_restart(void **state) {
    (void)state;
    test_server *server = test_server_start(test_server_any(), NULL);
    assert_non_null(server);
    tell(server, "SET a 1");
    restart(server, SIGTERM);
    assert_int_equal(key_count(server), 0);
    test_server_stop(server);
}

static void a_server_that_has_ended_can_be_stopped(void **state) {
    (void)state;
    test_server *server = test_server_start(test_server_any(), NULL);
    assert_non_null(server);
    test_server_end(server, SIGKILL);
    test_server_stop(server);
}

static bool answers_soon(const test_server *server) {
    redisContext *context = redisConnectUnix(test_server_socket(server));
    redisSetTimeout(context, (struct timeval){.tv_usec = 100000});
    redisReply *reply = redisCommand(context, "PING");
    bool answered = reply;
    freeReplyObject(reply);
    redisFree(context);
    return answered;
}

static void a_paused_server_answers_when_it_goes_on(void **state) {
    (void)state;
    test_server *server = test_server_start(test_server_any(), NULL);
    assert_non_null(server);
    test_server_pause(server);
    test_server_pause(server);
    assert_false(test_server_runs(server));
    assert_false(answers_soon(server));
    test_server_continue(server);
    test_server_continue(server);
    assert_true(test_server_runs(server));
    tell(server, "PING");
    test_server_stop(server);
}

static void a_paused_server_can_be_ended_and_stopped(void **state) {
    (void)state;
    test_server *server = test_server_start(test_server_any(), NULL);
    assert_non_null(server);
    test_server_pause(server);
    restart(server, SIGTERM);
    assert_true(test_server_runs(server));
    test_server_pause(server);
    pid_t pid = test_server_pid(server);
    test_server_stop(server);
    assert_int_not_equal(kill(pid, 0), 0);
}

static void a_server_reads_its_settings_again_as_it_has_rewritten_them(void **state) {
    (void)state;
    test_server *server =
        test_server_start_with_settings(test_server_any(), "maxclients 66\n", NULL);
    assert_non_null(server);
    assert_max_clients(server, "66");
    tell(server, "CONFIG SET maxclients 77");
    tell(server, "CONFIG REWRITE");
    restart(server, SIGKILL);
    assert_max_clients(server, "77");
    test_server_stop(server);
}

static void a_server_that_wants_a_password_starts(void **state) {
    (void)state;
    const char *const options[] = {"--requirepass", "secret", NULL};
    test_server *server = test_server_start(test_server_any(), options);
    assert_non_null(server);
    test_server_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_keeps_its_data_has_it_after_a_restart),
        cmocka_unit_test(a_server_without_persistence_has_nothing_after_a_restart),
        cmocka_unit_test(a_server_that_has_ended_can_be_stopped),
        cmocka_unit_test(a_paused_server_answers_when_it_goes_on),
        cmocka_unit_test(a_paused_server_can_be_ended_and_stopped),
        cmocka_unit_test(a_server_reads_its_settings_again_as_it_has_rewritten_them),
        cmocka_unit_test(a_server_that_wants_a_password_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
