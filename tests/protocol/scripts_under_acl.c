/* The shipped scripts for a user whom the server allows less than it should. */
#include "scripts_world.h"

#define A "0000000000000000000000000000000a-000000000001"
#define B "0000000000000000000000000000000b-000000000001"

static const char key[] = "lk:{x}";

static int begin(void **state) {
    return world_begin(state, NULL);
}

static void become(world *one, const char *rules) {
    char command[200];
    snprintf(command, sizeof command, "ACL SETUSER limited on nopass %s", rules);
    redisReply *reply = redisCommand(one->link, command);
    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);
    reply = redisCommand(one->link, "AUTH limited any");
    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);
}

/* A release that has happened must not look like an error; the waiter learns of it by renewing. */
static void a_forbidden_channel_does_not_hinder_a_release(void **state) {
    const char *take[] = {A, "1", "0", "write", "1", "30000", "fair", "0", "", "", "", NULL};
    const char *wait[] = {B, "1", "0", "write", "1", "30000", "fair", "0", "", "", "", NULL};
    become(*state, "+@all ~* resetchannels");
    redisReply *granted = world_run(*state, key, "acquire", take);
    char fence[32] = "";
    sscanf(granted->str, "granted %*d %31s", fence);
    world_expect(granted, "granted");
    world_expect(world_run(*state, key, "acquire", wait), "queued");
    const char *give[] = {A, "2", fence, "write", "1", NULL};
    world_expect(world_run(*state, key, "release", give), "released");
    const char *renew[] = {B, "0", "1", "30000", NULL};
    redisReply *renewed = world_run(*state, key, "renew", renew);
    assert_memory_equal(renewed->element[1]->str, "granted ", strlen("granted "));
    freeReplyObject(renewed);
}

static void a_missing_right_to_the_index_is_not_taken_for_a_foreign_value(void **state) {
    const char *renew[] = {"0000000000000000000000000000000f-000000000001", "0", "1", "30000", NULL};
    world_crowd(*state, key, "30000");
    become(*state, "+@all -zrangebyscore ~* &*");
    redisReply *renewed = world_run(*state, key, "renew", renew);
    assert_memory_equal(renewed->element[1]->str, "error ", strlen("error "));
    assert_null(strstr(renewed->element[1]->str, "LKTYPE"));
    freeReplyObject(renewed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_forbidden_channel_does_not_hinder_a_release, begin,
                                        world_end),
        cmocka_unit_test_setup_teardown(
            a_missing_right_to_the_index_is_not_taken_for_a_foreign_value, begin, world_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
