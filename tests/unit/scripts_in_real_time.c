/*
 * The scripts as they are shipped, on the server's own clock: what the other tests show with a
 * clock that they move happens by itself here. Tests wait for conditions, a minute at most.
 */
#include "lk_scripts.h"
#include "server.h"

#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define A "0000000000000000000000000000000a-000000000001"
#define B "0000000000000000000000000000000b-000000000001"

/* Long enough for two steps of a test to fall into it on a busy machine. */
#define LEASE_MS "2000"

enum { WAIT_MOST_S = 60 };

typedef struct {
    test_server *server;
    redisContext *link;
} world;

static int begin(void **state) {
    static world one;
    one.server = test_server_start(test_server_any(), NULL);
    one.link = one.server ? redisConnectUnix(test_server_socket(one.server)) : NULL;
    *state = &one;
    return one.link && !one.link->err ? 0 : -1;
}

static int end(void **state) {
    world *one = *state;
    redisFree(one->link);
    test_server_stop(one->server);
    return 0;
}

static const char *text_of(const char *operation) {
    for (size_t i = 0; i < sizeof lki_scripts / sizeof *lki_scripts; i++)
        if (strcmp(lki_scripts[i].name, operation) == 0)
            return lki_scripts[i].text;
    fail_msg("there is no operation %s", operation);
    return NULL;
}

/* Runs an operation on the lock x; `words` are its arguments, ended by NULL. */
static redisReply *run(world *one, const char *operation, const char *const *words) {
    const char *argv[32] = {"EVAL",     text_of(operation), "4",       "lk:{x}",
                            "lk:{x}:d", "lk:{x}:r",         "lk:{x}:w"};
    int argc = 7;
    while (*words)
        argv[argc++] = *words++;
    redisReply *reply = redisCommandArgv(one->link, argc, argv, NULL);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    return reply;
}

static void acquire(world *one, const char *handle, const char *mode, const char *answer) {
    const char *words[] = {handle, "1", "0", mode, "1", LEASE_MS, "fair", "0", "", "", "", NULL};
    redisReply *reply = run(one, "acquire", words);
    assert_string_equal(reply->element[0]->str, answer);
    freeReplyObject(reply);
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
    return command_integer(one, "EXISTS lk:{x} lk:{x}:d lk:{x}:r lk:{x}:w") == 0;
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

static void dead_readers_leave_no_key(void **state) {
    acquire(*state, A, "read", "granted");
    acquire(*state, B, "read", "granted");
    assert_int_equal(command_integer(*state, "EXISTS lk:{x} lk:{x}:d"), 2);
    wait_for(*state, no_key_is_left);
}

/* Where the server has no timers it is the first waiter's renewal that finds what has run out. */
static bool b_is_granted_an_abandoned_lock(world *one) {
    const char *words[] = {B, "0", "1", LEASE_MS, NULL};
    redisReply *reply = run(one, "renew", words);
    redisReply *entry = reply->element[2];
    bool granted = strcmp(entry->element[0]->str, "granted") == 0;
    if (granted)
        assert_int_equal(entry->element[3]->integer, 1);
    else
        assert_string_equal(entry->element[0]->str, "queued");
    freeReplyObject(reply);
    return granted;
}

static bool a_can_be_granted_again(world *one) {
    const char *words[] = {A, "2", "0", "write", "0", LEASE_MS, "fair", "0", "", "", "", NULL};
    redisReply *reply = run(one, "acquire", words);
    bool granted = strcmp(reply->element[0]->str, "granted") == 0;
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
        cmocka_unit_test_setup_teardown(a_dead_reader_leaves_no_key, begin, end),
        cmocka_unit_test_setup_teardown(dead_readers_leave_no_key, begin, end),
        cmocka_unit_test_setup_teardown(a_dead_writer_is_found_by_who_asks_next, begin, end),
        cmocka_unit_test_setup_teardown(a_dead_writer_is_followed_by_its_waiter_and_leaves_the_mark,
                                        begin, end),
        cmocka_unit_test_setup_teardown(the_server_can_lose_its_scripts_and_expire_all_the_same,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
