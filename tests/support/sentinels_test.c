/* tests/support/sentinels.c: several servers, and sentinels that watch them. */
#include "sentinels.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    LONG_MS = 60000,
    PATIENT_MS = 4000, /* a down_after_ms for tests in which a second failover would do harm */
    PROGRAM_SECONDS = 600
};

static test_sentinels *start(const test_sentinels_options *options) {
    test_sentinels *set = test_sentinels_start(options);
    assert_non_null(set);
    return set;
}

static int master_of(const test_sentinels *set) {
    int master = test_sentinels_wait_for_master(set, LONG_MS);
    assert_true(master >= 0);
    return master;
}

static void assert_text(const test_node *node, const char *wanted, const char *command) {
    redisReply *reply = test_node_ask(node, command);
    assert_non_null(reply);
    assert_non_null(reply->str);
    assert_string_equal(reply->str, wanted);
    freeReplyObject(reply);
}

static void assert_refused(int port, const char *error) {
    redisContext *link = redisConnect("127.0.0.1", port);
    redisReply *reply = redisCommand(link, "INFO");
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    assert_memory_equal(reply->str, error, strlen(error));
    freeReplyObject(reply);
    redisFree(link);
}

static void a_killed_master_is_replaced_and_returns_as_a_replica(void **state) {
    (void)state;
    test_sentinels *set = start(&(test_sentinels_options){.down_after_ms = PATIENT_MS});
    assert_int_equal(test_sentinels_server_count(set), 3);
    assert_int_equal(test_sentinels_count(set), 3);
    int former = master_of(set);
    assert_int_equal(test_sentinels_master(set), former);
    assert_true(test_node_tell(test_sentinels_server(set, (size_t)former), "SET key 1"));

    test_node_kill(test_sentinels_server(set, (size_t)former));
    assert_null(test_node_ask(test_sentinels_server(set, (size_t)former), "PING"));
    int master = test_sentinels_wait_for_other_master(set, former, LONG_MS);
    assert_true(master >= 0);
    assert_true(test_node_tell(test_sentinels_server(set, (size_t)master), "SET other 1"));

    assert_true(test_node_restart(test_sentinels_server(set, (size_t)former)));
    assert_true(test_sentinels_wait_for_replica(set, (size_t)former, LONG_MS));
    assert_true(test_sentinels_wait_until_settled(set, LONG_MS));
    test_sentinels_stop(set);
}

static void a_paused_master_is_replaced_and_joins_the_others_when_it_goes_on(void **state) {
    (void)state;
    test_sentinels *set = start(NULL);
    int former = master_of(set);
    test_node_pause(test_sentinels_server(set, (size_t)former));
    assert_true(test_sentinels_wait_for_other_master(set, former, LONG_MS) >= 0);
    test_node_continue(test_sentinels_server(set, (size_t)former));
    assert_true(test_sentinels_wait_until_settled(set, LONG_MS));
    test_sentinels_stop(set);
}

static void a_sentinel_fails_over_on_request(void **state) {
    (void)state;
    test_sentinels *set = start(&(test_sentinels_options){.down_after_ms = PATIENT_MS});
    int former = master_of(set);
    assert_true(test_sentinels_fail_over(set, 1, LONG_MS));
    assert_true(test_sentinels_wait_for_other_master(set, former, LONG_MS) >= 0);
    assert_true(test_sentinels_wait_until_settled(set, LONG_MS));
    test_sentinels_stop(set);
}

static void a_majority_outvotes_a_killed_sentinel(void **state) {
    (void)state;
    test_sentinels *set =
        start(&(test_sentinels_options){.replicas = 1, .down_after_ms = PATIENT_MS});
    int master = master_of(set);
    test_node_kill(test_sentinels_sentinel(set, 0));
    assert_int_equal(test_sentinels_master_named_by(set, 0), -1);
    assert_int_equal(test_sentinels_master(set), master);
    test_node_pause(test_sentinels_sentinel(set, 1));
    assert_int_equal(test_sentinels_master(set), -1);
    test_node_continue(test_sentinels_sentinel(set, 1));
    assert_true(test_node_restart(test_sentinels_sentinel(set, 0)));
    assert_int_equal(test_sentinels_master_named_by(set, 0), master_of(set));
    assert_true(test_sentinels_wait_until_settled(set, LONG_MS));
    test_sentinels_stop(set);
}

static void replace_master(test_sentinels *set) {
    int former = master_of(set);
    test_node_kill(test_sentinels_server(set, (size_t)former));
    assert_true(test_sentinels_wait_for_other_master(set, former, LONG_MS) >= 0);
    assert_true(test_node_restart(test_sentinels_server(set, (size_t)former)));
    assert_true(test_sentinels_wait_until_settled(set, LONG_MS));
}

static void servers_and_sentinels_ask_for_their_passwords(void **state) {
    (void)state;
    test_sentinels *set = start(&(test_sentinels_options){
        .replicas = 1, .password = "secret", .sentinel_password = "watch"});
    assert_refused(test_node_port(test_sentinels_server(set, 1)), "NOAUTH");
    assert_refused(test_node_port(test_sentinels_sentinel(set, 2)), "NOAUTH");
    replace_master(set);
    assert_true(test_node_restart(test_sentinels_sentinel(set, 0)));
    assert_true(test_sentinels_wait_until_settled(set, LONG_MS));
    test_sentinels_stop(set);
}

static void servers_ask_for_a_user(void **state) {
    (void)state;
    test_sentinels *set =
        start(&(test_sentinels_options){.replicas = 1, .user = "locksmith", .password = "secret"});
    assert_refused(test_node_port(test_sentinels_server(set, 0)), "NOAUTH");
    assert_text(test_sentinels_server(set, 0), "locksmith", "ACL WHOAMI");
    replace_master(set);
    test_sentinels_stop(set);
}

static void servers_have_the_options_of_the_test_and_keep_data(void **state) {
    (void)state;
    const char *const server_options[] = {"--appendfsync", "always", "--maxclients", "77", NULL};
    test_sentinels *set = start(&(test_sentinels_options){.replicas = 1,
                                                          .down_after_ms = PATIENT_MS,
                                                          .server_options = server_options,
                                                          .keeps_data = true});
    test_node *master = test_sentinels_server(set, (size_t)master_of(set));
    redisReply *reply = test_node_ask(master, "CONFIG GET maxclients");
    assert_non_null(reply);
    assert_string_equal(reply->element[1]->str, "77");
    freeReplyObject(reply);
    assert_true(test_node_tell(master, "SET key kept"));
    assert_true(test_node_restart(master));
    assert_text(master, "kept", "GET key");
    test_sentinels_stop(set);
}

static void the_url_names_the_sentinels(void **state) {
    (void)state;
    test_sentinels *set = start(&(test_sentinels_options){.replicas = 1});
    const char *hosts = strstr(test_sentinels_url(set), "://127.0.0.1:");
    assert_non_null(hosts);
    int port = (int)strtol(hosts + strlen("://127.0.0.1:"), NULL, 10);
    assert_int_equal(port, test_node_port(test_sentinels_sentinel(set, 0)));
    assert_non_null(strstr(hosts, "/latchkey"));
    redisContext *link = redisConnect("127.0.0.1", port);
    redisReply *reply = redisCommand(link, "SENTINEL CKQUORUM latchkey");
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    redisFree(link);
    test_sentinels_stop(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_master_is_replaced_and_returns_as_a_replica),
        cmocka_unit_test(a_paused_master_is_replaced_and_joins_the_others_when_it_goes_on),
        cmocka_unit_test(a_sentinel_fails_over_on_request),
        cmocka_unit_test(a_majority_outvotes_a_killed_sentinel),
        cmocka_unit_test(servers_and_sentinels_ask_for_their_passwords),
        cmocka_unit_test(servers_ask_for_a_user),
        cmocka_unit_test(servers_have_the_options_of_the_test_and_keep_data),
        cmocka_unit_test(the_url_names_the_sentinels),
    };
    alarm(PROGRAM_SECONDS); /* a program that hangs ends by SIGALRM, so that its servers end too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
