/*
 * The scripts on a server that takes keys for a cluster's: it refuses a call whose keys are of
 * several slots, or a key that was not declared. And on which channel they speak, under any prefix.
 */
#include "cluster_node.h"
#include "scripts_world.h"

#define CLIENT_A "0000000000000000000000000000000a"
#define CLIENT_B "0000000000000000000000000000000b"
#define A CLIENT_A "-000000000001"
#define B CLIENT_B "-000000000001"

enum { WAIT_MOST_S = 10 };

static int begin(void **state) {
    static world one;
    one.server = test_cluster_node_start();
    one.link = one.server ? redisConnectUnix(test_server_socket(one.server)) : NULL;
    *state = &one;
    return one.link && !one.link->err ? 0 : -1;
}

static void acquire(world *one, const char *key, const char *handle, const char *mode,
                    const char *answer) {
    const char *words[] = {handle, "1", "0", mode, "1", "30000", "fair", "0", "", "", "", NULL};
    world_expect(world_run(one, key, "acquire", words), answer);
}

static void force(world *one, const char *key) {
    const char *words[] = {"", NULL};
    world_expect(world_run(one, key, "force", words), "forced");
}

static void use_both_keys(world *one, const char *key) {
    world_crowd(one, key, "30000");
    acquire(one, key, B, "write", "queued");
    redisReply *reply = redisCommand(one->link, "EXISTS %s %s:i", key, key);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    assert_int_equal(reply->integer, 2);
    freeReplyObject(reply);
    force(one, key);
}

static void the_keys_of_a_lock_share_a_slot_whatever_its_name(void **state) {
    static const char *const keys[] = {"lk:{order:42}", "lk:{a}b}",   "lk:{a{b}c}", "lk:{{}}",
                                       "lk:{%}}",       "lk:{%}x{}}", "lk:{%%}",    "my:app:{x}"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        use_both_keys(*state, keys[i]);
}

static void messages_go_to_the_client_under_the_locks_prefix(void **state) {
    world *one = *state;
    redisContext *ears = redisConnectUnix(test_server_socket(one->server));
    freeReplyObject(redisCommand(ears, "SUBSCRIBE my:app:" CLIENT_B));
    acquire(one, "my:app:{x}", A, "write", "granted");
    acquire(one, "my:app:{x}", B, "write", "queued");
    force(one, "my:app:{x}");
    redisReply *message = NULL;
    redisSetTimeout(ears, (struct timeval){.tv_sec = WAIT_MOST_S});
    assert_int_equal(redisGetReply(ears, (void **)&message), REDIS_OK);
    assert_string_equal(message->element[1]->str, "my:app:" CLIENT_B);
    assert_memory_equal(message->element[2]->str, "granted " B " 1 ", strlen("granted " B " 1 "));
    freeReplyObject(message);
    redisFree(ears);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_keys_of_a_lock_share_a_slot_whatever_its_name, begin,
                                        world_end),
        cmocka_unit_test_setup_teardown(messages_go_to_the_client_under_the_locks_prefix, begin,
                                        world_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
