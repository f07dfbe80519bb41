/*
 * The scripts as they are shipped, on the server's own clock: what the other tests show with a
 * clock that they move happens by itself here. Tests wait for conditions, a minute at most.
 */
#include "scripts_world.h"

#include <time.h>

#define A "0000000000000000000000000000000a-000000000001"
#define B "0000000000000000000000000000000b-000000000001"

/* Long enough for two steps of a test to fall into it on a busy machine. */
#define LEASE_MS "2000"

enum { WAIT_MOST_S = 60 };

static const char key[] = "lk:{x}";

static int begin(void **state) {
    return world_begin(state, NULL);
}

static void acquire(world *one, const char *handle, const char *mode, const char *answer) {
    const char *words[] = {handle, "1", "0", mode, "1", LEASE_MS, "fair", "0", "", "", "", NULL};
    world_expect(world_run(one, key, "acquire", words), answer);
}

static long long command_integer(world *one, const char *command) {
    redisReply *reply = redisCommand(one->link, command);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    long long value = reply->integer;
    freeReplyObject(reply);
    return value;
}

/* DBSIZE counts keys that have expired and are not yet removed; EXISTS does not. */
static bool no_key_is_left(world *one) {
    return command_integer(one, "EXISTS lk:{x} lk:{x}:i") == 0;
}

typedef bool condition(world *);

static void wait_for(world *one, condition *holds) {
    struct timespec pause = {.tv_nsec = 5000000};
    time_t until = time(NULL) + WAIT_MOST_S;
    while (!holds(one)) {
        assert_true(time(NULL) < until);
        nanosleep(&pause, NULL);
    }
}

static void a_dead_reader_leaves_no_key(void **state) {
    acquire(*state, A, "read", "granted");
    assert_false(no_key_is_left(*state));
    wait_for(*state, no_key_is_left);
}

static void many_dead_readers_leave_no_key(void **state) {
    world_crowd(*state, key, LEASE_MS);
    assert_int_equal(command_integer(*state, "EXISTS lk:{x} lk:{x}:i"), 2);
    wait_for(*state, no_key_is_left);
}

/* Where the server has no timers it is the first waiter's renewal that finds what has run out. */
static bool b_is_granted_an_abandoned_lock(world *one) {
    const char *words[] = {B, "0", "1", LEASE_MS, NULL};
    redisReply *reply = world_run(one, key, "renew", words);
    int flags = 0;
    bool granted = sscanf(reply->element[1]->str, "granted %*d %*d %d", &flags) == 1;
    if (granted)
        assert_int_equal(flags, 1);
    else
        assert_memory_equal(reply->element[1]->str, "queued ", strlen("queued "));
    freeReplyObject(reply);
    return granted;
}

static bool a_can_be_granted_again(world *one) {
    const char *words[] = {A, "2", "0", "write", "0", LEASE_MS, "fair", "0", "", "", "", NULL};
    redisReply *reply = world_run(one, key, "acquire", words);
    bool granted = strncmp(reply->str, "granted ", strlen("granted ")) == 0;
    freeReplyObject(reply);
    return granted;
}

static void a_dead_writer_is_found_by_who_asks_next(void **state) {
    acquire(*state, B, "write", "granted");
    wait_for(*state, a_can_be_granted_again);
}

static void a_dead_writer_is_followed_by_its_waiter_and_leaves_the_mark(void **state) {
    acquire(*state, A, "write", "granted");
    acquire(*state, B, "read", "queued");
    wait_for(*state, b_is_granted_an_abandoned_lock);
    long long left_ms = command_integer(*state, "PTTL lk:{x}");
    assert_in_range(left_ms, 3600000 - 1000 * WAIT_MOST_S, 3602001);
}

static void the_server_can_lose_its_scripts_and_expire_all_the_same(void **state) {
    acquire(*state, A, "read", "granted");
    world *one = *state;
    freeReplyObject(redisCommand(one->link, "SCRIPT FLUSH"));
    wait_for(*state, no_key_is_left);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_dead_reader_leaves_no_key, begin, world_end),
        cmocka_unit_test_setup_teardown(many_dead_readers_leave_no_key, begin, world_end),
        cmocka_unit_test_setup_teardown(a_dead_writer_is_found_by_who_asks_next, begin, world_end),
        cmocka_unit_test_setup_teardown(a_dead_writer_is_followed_by_its_waiter_and_leaves_the_mark,
                                        begin, world_end),
        cmocka_unit_test_setup_teardown(the_server_can_lose_its_scripts_and_expire_all_the_same,
                                        begin, world_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
