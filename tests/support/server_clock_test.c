/* tests/support/server.c: a server whose clock a test steps. */
#include "server.h"

#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>

#include <cmocka.h>

static const int64_t SECOND_US = 1000000, HOUR_US = 3600000000;

static int64_t machine_us(void) {
    struct timeval now;
    gettimeofday(&now, NULL);
    return (int64_t)now.tv_sec * SECOND_US + now.tv_usec;
}

static int64_t time_of(redisReply *reply) {
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    int64_t us = atoll(reply->element[0]->str) * SECOND_US + atoll(reply->element[1]->str);
    freeReplyObject(reply);
    return us;
}

/* A command and a script see the same clock. */
static void assert_ahead(redisContext *context, int64_t ahead_us) {
    int64_t before_us = machine_us() + ahead_us;
    int64_t plain_us = time_of(redisCommand(context, "TIME"));
    int64_t script_us = time_of(redisCommand(context, "EVAL %s 0", "return redis.call('TIME')"));
    int64_t after_us = machine_us() + ahead_us;
    assert_in_range(plain_us, before_us, after_us);
    assert_in_range(script_us, plain_us, after_us);
}

static void a_stepped_clock_is_ahead_by_the_sum_of_its_steps(void **state) {
    (void)state;
    test_server *server = test_server_start_with_clock(test_server_any(), NULL);
    assert_non_null(server);
    redisContext *context = redisConnectUnix(test_server_socket(server));
    assert_ahead(context, 0);
    test_server_step_clock(server, HOUR_US);
    assert_ahead(context, HOUR_US);
    test_server_step_clock(server, -2 * HOUR_US);
    assert_ahead(context, -HOUR_US);
    redisFree(context);
    test_server_stop(server);
}

/* Keys expire by the stepped clock. */
static void a_step_forward_ends_a_time_to_live(void **state) {
    (void)state;
    test_server *server = test_server_start_with_clock(test_server_any(), NULL);
    assert_non_null(server);
    redisContext *context = redisConnectUnix(test_server_socket(server));
    freeReplyObject(redisCommand(context, "SET a 1 PX 60000"));
    test_server_step_clock(server, HOUR_US);
    redisReply *reply = redisCommand(context, "EXISTS a");
    assert_int_equal(reply->integer, 0);
    freeReplyObject(reply);
    redisFree(context);
    test_server_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stepped_clock_is_ahead_by_the_sum_of_its_steps),
        cmocka_unit_test(a_step_forward_ends_a_time_to_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
