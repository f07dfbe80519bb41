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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_keeps_its_data_has_it_after_a_restart),
        cmocka_unit_test(a_server_without_persistence_has_nothing_after_a_restart),
        cmocka_unit_test(a_server_that_has_ended_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
