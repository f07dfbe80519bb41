/* Until when a hold is surely ours: leases on our clock, and instants of the server's. */
#include "client/client.h"
#include "client/server.h"
#include "lock/hold.h"
#include "wake/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CLIENT "00112233445566778899aabbccddeeff"

static const uint64_t server_now_us = 1700000000000000;
static lk_client client;

/* A server whose clock stood at server_now_us in an answer to what was sent at sent_us. */
static lki_server heard_at(int64_t sent_us) {
    lki_server server = {.client = &client};
    lki_server_heard(&server, sent_us, server_now_us);
    return server;
}

static int64_t earliest(const lki_server *server, int64_t apart_us, int64_t now_us) {
    int64_t out_us = INT64_MIN;
    assert_true(lki_server_earliest(server, server_now_us + (uint64_t)apart_us, now_us, &out_us));
    return out_us;
}

/* From 0 to 1, and both ends every now and then. */
static double chance(unsigned short seed[3]) {
    long edge = nrand48(seed) % 20;
    return edge == 0 ? 0 : edge == 1 ? 1 : erand48(seed);
}

/* -------------------------------------------------------------------------------------- leases */

static void a_lease_ends_a_hundredth_and_2_ms_early(void **state) {
    (void)state;
    assert_int_equal(lki_lease_end_us(0, 1000), 988000);
    assert_int_equal(lki_lease_end_us(5000000, 30000), 5000000 + 29700000 - 2000);
    assert_int_equal(lki_lease_end_us(7, 100), 7 + 99000 - 2000);
    assert_int_equal(lki_lease_end_us(1000000000000, 86400000), 1000000000000 + 85536000000 - 2000);
}

static void a_lease_with_nothing_left_is_over_before_it_began(void **state) {
    (void)state;
    assert_true(lki_lease_end_us(5000, 0) < 5000);
    assert_true(lki_lease_end_us(5000, 1) < 5000);
}

/* The server's lease begins after ours, and its clock may be faster than ours by 1%. */
static void a_lease_never_ends_later_than_the_servers(void **state) {
    (void)state;
    unsigned short seed[3] = {1, 2, 3};
    for (int i = 0; i < 200000; i++) {
        int64_t from_us = nrand48(seed), ms = 1 + nrand48(seed) % 86400000;
        double pace = 0.99 + 0.02 * chance(seed);
        double true_end_us = (double)from_us + 1000 * chance(seed) + (double)ms * 1000 / pace;
        assert_true((double)lki_lease_end_us(from_us, ms) <= true_end_us);
    }
}

/* What a server says may be nonsense; it must not be taken for a lease that was over long ago. */
static void no_number_that_is_read_makes_a_lease_end_before_it_begins(void **state) {
    (void)state;
    static const char *const numbers[] = {"9007199254740992", "9007199254740993",
                                          "9316854266752000", "9999999999999999",
                                          "9223372036854775807"};
    int64_t from_us = 1000000000000;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char line[200], bytes[200];
        lki_message message;
        snprintf(line, sizeof line, "granted " CLIENT "-000000000001 1 1 1 %s 0", numbers[i]);
        const char *at = line;
        if (lki_message_next(&at, line + strlen(line), CLIENT, &message))
            assert_true(lki_lease_end_us(from_us, message.ms) > from_us);
        int length = snprintf(line, sizeof line, "granted 1 1 %s 0", numbers[i]);
        snprintf(bytes, sizeof bytes, "$%d\r\n%s\r\n", length, line);
        redisReader *reader = redisReaderCreate();
        void *reply = NULL;
        assert_int_equal(redisReaderFeed(reader, bytes, strlen(bytes)), REDIS_OK);
        assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
        lki_answer answer = lki_answer_read(reply);
        freeReplyObject(reply);
        redisReaderFree(reader);
        if (answer.word == LKI_ANSWER_GRANTED)
            assert_true(lki_lease_end_us(from_us, answer.ms) > from_us);
    }
}

/* ------------------------------------------------------------------------- the server's clock */

static void nothing_is_known_of_a_clock_that_was_not_heard(void **state) {
    (void)state;
    lki_server server = {.client = &client};
    int64_t out_us = 77;
    assert_false(lki_server_earliest(&server, server_now_us, 1000000, &out_us));
    assert_int_equal(out_us, 77);
}

static void what_an_answer_says_is_remembered_as_seen(void **state) {
    (void)state;
    client.floor = 0;
    heard_at(5);
    assert_int_equal(client.floor, server_now_us);
}

static void the_same_instant_is_when_we_asked(void **state) {
    (void)state;
    lki_server server = heard_at(1000000);
    assert_int_equal(earliest(&server, 0, 1000500), 1000000);
}

static void a_later_instant_is_99_hundredths_of_its_distance_later(void **state) {
    (void)state;
    lki_server server = heard_at(1000000);
    assert_int_equal(earliest(&server, 100, 100000000), 1000099);
    assert_int_equal(earliest(&server, 10000000, 100000000), 1000000 + 9900000);
}

/* 100/99 and not 101/100: a server whose clock is slow by 1% needs that long. */
static void an_earlier_instant_is_100_of_99_parts_of_its_distance_earlier(void **state) {
    (void)state;
    lki_server server = heard_at(100000000);
    assert_int_equal(earliest(&server, -9900000, 200000000), 100000000 - 10000000);
}

static void an_instant_that_would_be_to_come_is_when_we_asked(void **state) {
    (void)state;
    lki_server server = heard_at(1000000);
    assert_int_equal(earliest(&server, 10000000, 1000000 + 9900000), 1000000 + 9900000);
    assert_int_equal(earliest(&server, 10000000, 1000000 + 9899999), 1000000);
    assert_int_equal(earliest(&server, 3600000000, 2000000), 1000000);
}

static void the_last_answer_counts(void **state) {
    (void)state;
    lki_server server = heard_at(1000000);
    lki_server_heard(&server, 9000000, server_now_us + 5000000);
    assert_int_equal(earliest(&server, 5000000, 20000000), 9000000);
    assert_int_equal(earliest(&server, 5000100, 20000000), 9000099);
}

/*
 * An answer is made at some instant between its request and now, and the clocks differ in pace by
 * up to 1%. Clocks tell whole microseconds: two are granted to that.
 */
static void an_instant_is_never_taken_for_a_later_one(void **state) {
    (void)state;
    unsigned short seed[3] = {4, 5, 6};
    for (int i = 0; i < 500000; i++) {
        double pace = 0.99 + 0.02 * chance(seed);
        int64_t sent_us = 1000000000000 + nrand48(seed);
        int64_t made_us = sent_us + (int64_t)(chance(seed) * 5000000);
        int64_t range_us = i % 2 ? 500 : 20000000;
        int64_t true_us = made_us + (int64_t)((2 * chance(seed) - 1) * (double)range_us);
        int64_t apart_us = (int64_t)(pace * (double)(true_us - made_us));
        int64_t now_us = (true_us > made_us ? true_us : made_us) + nrand48(seed) % 3000;
        lki_server server = heard_at(sent_us);
        int64_t bound_us = earliest(&server, apart_us, now_us);
        if (bound_us > true_us + 2)
            fail_msg("%lld us too late, at a distance of %lld us", (long long)(bound_us - true_us),
                     (long long)apart_us);
    }
}

/* A bound that is sure but far too early would be of no use. */
static void an_instant_is_taken_for_one_that_is_near(void **state) {
    (void)state;
    unsigned short seed[3] = {7, 8, 9};
    for (int i = 0; i < 100000; i++) {
        double pace = 0.99 + 0.02 * chance(seed);
        int64_t sent_us = 1000000000000 + nrand48(seed), trip_us = nrand48(seed) % 5000;
        int64_t far_us = nrand48(seed) % 20000000 - 10000000;
        int64_t true_us = sent_us + trip_us + far_us;
        int64_t apart_us = (int64_t)(pace * (double)far_us);
        lki_server server = heard_at(sent_us);
        int64_t bound_us = earliest(&server, apart_us, true_us + 20000000);
        int64_t error_us = trip_us + llabs(far_us) / 45 + 500;
        assert_true(bound_us >= true_us - error_us);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_ends_a_hundredth_and_2_ms_early),
        cmocka_unit_test(a_lease_with_nothing_left_is_over_before_it_began),
        cmocka_unit_test(a_lease_never_ends_later_than_the_servers),
        cmocka_unit_test(no_number_that_is_read_makes_a_lease_end_before_it_begins),
        cmocka_unit_test(nothing_is_known_of_a_clock_that_was_not_heard),
        cmocka_unit_test(what_an_answer_says_is_remembered_as_seen),
        cmocka_unit_test(the_same_instant_is_when_we_asked),
        cmocka_unit_test(a_later_instant_is_99_hundredths_of_its_distance_later),
        cmocka_unit_test(an_earlier_instant_is_100_of_99_parts_of_its_distance_earlier),
        cmocka_unit_test(an_instant_that_would_be_to_come_is_when_we_asked),
        cmocka_unit_test(the_last_answer_counts),
        cmocka_unit_test(an_instant_is_never_taken_for_a_later_one),
        cmocka_unit_test(an_instant_is_taken_for_one_that_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
