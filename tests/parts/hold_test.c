/* Until when a hold is surely ours, by our clock. */
#include "engine/message.h"
#include "lock/hold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CLIENT "00112233445566778899aabbccddeeff"

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
        if (lki_message_next(&at, line + strlen(line), &message))
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_ends_a_hundredth_and_2_ms_early),
        cmocka_unit_test(a_lease_with_nothing_left_is_over_before_it_began),
        cmocka_unit_test(a_lease_never_ends_later_than_the_servers),
        cmocka_unit_test(no_number_that_is_read_makes_a_lease_end_before_it_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
