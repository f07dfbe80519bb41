/*
 * A server that stands still in the middle of a script, for longer than all leases: what had to
 * expire then is gone afterwards, and no half of a lock is left. The scripts are those that are
 * shipped, but for a clock that takes its time once it has been read.
 *
 * Servers whose own time stands still within a script never meet this; there the script waits for
 * nothing, and the keys go by themselves.
 */
#include "scripts_world.h"

#include <stdlib.h>
#include <time.h>

#define A "0000000000000000000000000000000a-000000000001"
#define B "0000000000000000000000000000000b-000000000001"
#define LEASE_MS "300"
#define STALL_US "310000"
#define TURNS_MOST "2000000"

enum { WAIT_MOST_S = 60, PACKED_MOST = 12 }; /* SPEC 11.2 */

static const char key[] = "lk:{x}";

static int begin(void **state) {
    return world_begin(state, NULL);
}

/* Returns the fence, or 0. */
static long long run(world *one, const char *operation, const char *text, const char *const *words,
                     const char *answer) {
    redisReply *reply = world_run_text(one, key, operation, text, words);
    long long fence = 0;
    sscanf(reply->str ? reply->str : "", "granted %*d %lld", &fence);
    world_expect(reply, answer);
    return fence;
}

/* The script of an operation, with a delay after the line that sets `now`. */
static char *stalling(const char *operation) {
    static const char slow[] =
        "local t, turns = nil, 0\n"
        "repeat\n"
        "t, turns = redis.call('TIME'), turns + 1\n"
        "until t[1] * 1000000 + t[2] > now + " STALL_US " or turns > " TURNS_MOST "\n";
    const char *text = world_text_of(operation), *at = strstr(text, "local now = ");
    assert_non_null(at);
    at += strcspn(at, "\n") + 1;
    size_t room = strlen(text) + sizeof slow;
    char *slowed = malloc(room);
    assert_non_null(slowed);
    snprintf(slowed, room, "%.*s%s%s", (int)(at - text), text, slow, at);
    return slowed;
}

static void stall(world *one, const char *operation, const char *const *words, const char *answer) {
    char *text = stalling(operation);
    run(one, operation, text, words, answer);
    free(text);
}

static bool is_gone(world *one) {
    redisReply *reply = redisCommand(one->link, "EXISTS lk:{x} lk:{x}:i");
    assert_non_null(reply);
    bool gone = reply->integer == 0;
    freeReplyObject(reply);
    return gone;
}

static void expect_nothing(world *one) {
    struct timespec pause = {.tv_nsec = 5000000};
    time_t until = time(NULL) + WAIT_MOST_S;
    while (!is_gone(one)) {
        if (time(NULL) > until)
            fail_msg("something is left, and does not go");
        nanosleep(&pause, NULL);
    }
}

/* ------------------------------------------------------------------------------ requests */

typedef struct {
    char fence[24];
    const char *words[12];
} request;

static const char *const *acquire(request *r, const char *handle, const char *req, long long fence,
                                  const char *mode) {
    snprintf(r->fence, sizeof r->fence, "%lld", fence);
    const char *words[12] = {handle, req, r->fence, mode, "1", LEASE_MS, "fair", "0"};
    memcpy(r->words, words, sizeof words);
    r->words[8] = r->words[9] = r->words[10] = "";
    return r->words;
}

static long long take(world *one, const char *handle, const char *mode, const char *answer) {
    request r;
    return run(one, "acquire", world_text_of("acquire"), acquire(&r, handle, "1", 0, mode), answer);
}

static long long take_again(world *one, const char *handle, long long fence, const char *mode) {
    request r;
    return run(one, "acquire", world_text_of("acquire"), acquire(&r, handle, "2", fence, mode),
               "granted");
}

/* The arguments of release; without a mode, those of convert. */
static const char *const *of_hold(request *r, const char *handle, long long fence,
                                  const char *mode) {
    snprintf(r->fence, sizeof r->fence, "%lld", fence);
    r->words[0] = handle;
    r->words[1] = "9";
    r->words[2] = r->fence;
    r->words[3] = mode;
    r->words[4] = "1";
    r->words[5] = NULL;
    return r->words;
}

static const char *const *renewal(request *r, const char *handle, long long fence) {
    snprintf(r->fence, sizeof r->fence, "%lld", fence);
    r->words[0] = handle;
    r->words[1] = r->fence;
    r->words[2] = "0";
    r->words[3] = LEASE_MS;
    r->words[4] = NULL;
    return r->words;
}

/* ------------------------------------------------------------------------------ tests */

static void one_of_two_readers_leaves(void **state) {
    request r;
    long long fence = take(*state, A, "read", "granted");
    take(*state, B, "read", "granted");
    stall(*state, "release", of_hold(&r, A, fence, "read"), "released");
    expect_nothing(*state);
}

static void one_of_two_counts_is_given_back(void **state) {
    request r;
    long long fence = take(*state, A, "read", "granted");
    take_again(*state, A, fence, "read");
    stall(*state, "release", of_hold(&r, A, fence, "read"), "released");
    expect_nothing(*state);
}

static void a_writer_keeps_a_read(void **state) {
    request r;
    long long fence = take(*state, A, "write", "granted");
    take_again(*state, A, fence, "read");
    stall(*state, "release", of_hold(&r, A, fence, "write"), "released");
    expect_nothing(*state);
}

static void a_writer_hands_over_to_a_reader(void **state) {
    request r;
    long long fence = take(*state, A, "write", "granted");
    take(*state, B, "read", "queued");
    stall(*state, "release", of_hold(&r, A, fence, "write"), "released");
    expect_nothing(*state);
}

static void a_writer_is_downgraded(void **state) {
    request r;
    long long fence = take(*state, A, "write", "granted");
    stall(*state, "convert", of_hold(&r, A, fence, NULL), "granted");
    expect_nothing(*state);
}

static void a_hold_is_renewed(void **state) {
    request r;
    long long fence = take(*state, A, "read", "granted");
    stall(*state, "renew", renewal(&r, A, fence), "renewed");
    expect_nothing(*state);
}

static void a_hold_among_others_is_renewed(void **state) {
    request r;
    long long fence = take(*state, A, "read", "granted");
    take(*state, B, "read", "granted");
    stall(*state, "renew", renewal(&r, A, fence), "renewed");
    expect_nothing(*state);
}

static void a_free_lock_is_taken(void **state) {
    request r;
    stall(*state, "acquire", acquire(&r, A, "1", 0, "read"), "granted");
    expect_nothing(*state);
}

static void a_reader_comes_in_again(void **state) {
    request r;
    long long fence = take(*state, A, "read", "granted");
    stall(*state, "acquire", acquire(&r, A, "2", fence, "read"), "granted");
    expect_nothing(*state);
}

static void a_reader_joins(void **state) {
    request r;
    take(*state, A, "read", "granted");
    stall(*state, "acquire", acquire(&r, B, "1", 0, "read"), "granted");
    expect_nothing(*state);
}

static void a_reader_makes_a_lock_large(void **state) {
    request r;
    char name[64];
    for (int i = 1; i <= PACKED_MOST; i++) {
        snprintf(name, sizeof name, "0000000000000000000000000000000f-%012d", i);
        take(*state, name, "read", "granted");
    }
    stall(*state, "acquire", acquire(&r, B, "1", 0, "read"), "granted");
    expect_nothing(*state);
}

static void a_reader_joins_many(void **state) {
    request r;
    world_crowd(*state, key, LEASE_MS);
    stall(*state, "acquire", acquire(&r, B, "1", 0, "read"), "granted");
    expect_nothing(*state);
}

static void one_of_many_readers_leaves(void **state) {
    request r;
    world_crowd(*state, key, LEASE_MS);
    long long fence = take(*state, A, "read", "granted");
    stall(*state, "release", of_hold(&r, A, fence, "read"), "released");
    expect_nothing(*state);
}

static void a_writer_queues(void **state) {
    request r;
    take(*state, A, "read", "granted");
    stall(*state, "acquire", acquire(&r, B, "1", 0, "write"), "queued");
    expect_nothing(*state);
}

static void a_writer_queues_behind_two(void **state) {
    request r;
    take(*state, A, "read", "granted");
    take(*state, "0000000000000000000000000000000c-000000000001", "write", "queued");
    stall(*state, "acquire", acquire(&r, B, "1", 0, "write"), "queued");
    expect_nothing(*state);
}

static void a_waiter_leaves(void **state) {
    take(*state, A, "read", "granted");
    take(*state, B, "write", "queued");
    stall(*state, "cancel", (const char *[]){B, "9", "1", NULL}, "cancelled");
    expect_nothing(*state);
}

static void one_of_two_readers_is_forced(void **state) {
    take(*state, A, "read", "granted");
    take(*state, B, "read", "granted");
    stall(*state, "force", (const char *[]){A, NULL}, "forced");
    expect_nothing(*state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, world_end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(one_of_two_readers_leaves),
        TEST(one_of_two_counts_is_given_back),
        TEST(a_writer_keeps_a_read),
        TEST(a_writer_hands_over_to_a_reader),
        TEST(a_writer_is_downgraded),
        TEST(a_hold_is_renewed),
        TEST(a_hold_among_others_is_renewed),
        TEST(a_free_lock_is_taken),
        TEST(a_reader_comes_in_again),
        TEST(a_reader_joins),
        TEST(a_reader_makes_a_lock_large),
        TEST(a_reader_joins_many),
        TEST(one_of_many_readers_leaves),
        TEST(a_writer_queues),
        TEST(a_writer_queues_behind_two),
        TEST(a_waiter_leaves),
        TEST(one_of_two_readers_is_forced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
