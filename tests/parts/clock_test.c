/* The clock: sums that end at the end of all time, and what is given to poll(2). */
#include "base/clock.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static void the_clock_is_the_one_that_goes_on_while_the_machine_sleeps(void **state) {
    (void)state;
    struct timespec before, after;
    clock_gettime(CLOCK_BOOTTIME, &before);
    int64_t now_us = lki_now_us();
    clock_gettime(CLOCK_BOOTTIME, &after);
    assert_true(now_us >= (int64_t)before.tv_sec * 1000000 + before.tv_nsec / 1000);
    assert_true(now_us <= (int64_t)after.tv_sec * 1000000 + after.tv_nsec / 1000);
}

static void the_clock_does_not_go_back(void **state) {
    (void)state;
    int64_t last_us = lki_now_us();
    for (int i = 0; i < 100000; i++) {
        int64_t now_us = lki_now_us();
        assert_true(now_us >= last_us);
        last_us = now_us;
    }
}

/* -------------------------------------------------------------------------------------- adding */

static void milliseconds_are_added_to_microseconds(void **state) {
    (void)state;
    assert_int_equal(lki_after_ms(0, 0), 0);
    assert_int_equal(lki_after_ms(5, 0), 5);
    assert_int_equal(lki_after_ms(5, 1), 1005);
    assert_int_equal(lki_after_ms(1234567, 86400000), 86401234567);
}

static void time_may_be_taken_off(void **state) {
    (void)state;
    assert_int_equal(lki_after_ms(5000, -3), 2000);
    assert_int_equal(lki_after_ms(0, -1), -1000);
}

static void the_last_instant_that_exists_is_not_never(void **state) {
    (void)state;
    unsigned short seed[3] = {1, 2, 3};
    for (int i = 0; i < 10000; i++) {
        int64_t now_us = ((int64_t)nrand48(seed) << 32 | nrand48(seed)) >> nrand48(seed) % 62;
        int64_t most_ms = (LKI_NEVER - now_us) / 1000;
        assert_int_equal(lki_after_ms(now_us, most_ms), now_us + most_ms * 1000);
        assert_int_equal(lki_after_ms(now_us, most_ms + 1), LKI_NEVER);
    }
}

static void what_is_beyond_all_time_is_never(void **state) {
    (void)state;
    assert_int_equal(lki_after_ms(0, INT64_MAX), LKI_NEVER);
    assert_int_equal(lki_after_ms(lki_now_us(), INT64_MAX), LKI_NEVER);
    assert_int_equal(lki_after_ms(1, INT64_MAX / 1000 + 1), LKI_NEVER);
    assert_int_equal(lki_after_ms(LKI_NEVER - 1, 1), LKI_NEVER);
}

static void never_stays_never(void **state) {
    (void)state;
    assert_int_equal(lki_after_ms(LKI_NEVER, 0), LKI_NEVER);
    assert_int_equal(lki_after_ms(LKI_NEVER, 1), LKI_NEVER);
    assert_int_equal(lki_after_ms(LKI_NEVER, INT64_MAX), LKI_NEVER);
}

/* ------------------------------------------------------------------------------------- polling */

static void poll_waits_for_never_without_end(void **state) {
    (void)state;
    assert_int_equal(lki_poll_ms(LKI_NEVER), -1);
}

static void poll_does_not_wait_for_what_is_over(void **state) {
    (void)state;
    assert_int_equal(lki_poll_ms(lki_now_us()), 0);
    assert_int_equal(lki_poll_ms(lki_now_us() - 1), 0);
    assert_int_equal(lki_poll_ms(0), 0);
    assert_int_equal(lki_poll_ms(-1), 0);
}

/* Rounded down, a waiter would turn in a loop for the last millisecond. */
static void poll_waits_until_the_deadline_and_not_a_millisecond_longer(void **state) {
    (void)state;
    for (int64_t ahead_us = 1; ahead_us < 20000; ahead_us += 7) {
        int64_t before_us = lki_now_us(), deadline_us = before_us + ahead_us;
        int64_t ms = lki_poll_ms(deadline_us);
        int64_t after_us = lki_now_us();
        assert_true(ms * 1000 >= deadline_us - after_us);
        assert_true((ms - 1) * 1000 < deadline_us - before_us);
        assert_true(ms >= 0);
    }
}

static void poll_waits_as_long_as_it_can_for_what_is_far(void **state) {
    (void)state;
    assert_int_equal(lki_poll_ms(LKI_NEVER - 1), INT_MAX);
    int64_t most_us = (int64_t)INT_MAX * 1000;
    assert_int_equal(lki_poll_ms(lki_now_us() + most_us + 60000000), INT_MAX);
    int ms = lki_poll_ms(lki_now_us() + most_us - 60000000);
    assert_in_range(ms, INT_MAX - 120000, INT_MAX - 60000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_is_the_one_that_goes_on_while_the_machine_sleeps),
        cmocka_unit_test(the_clock_does_not_go_back),
        cmocka_unit_test(milliseconds_are_added_to_microseconds),
        cmocka_unit_test(time_may_be_taken_off),
        cmocka_unit_test(the_last_instant_that_exists_is_not_never),
        cmocka_unit_test(what_is_beyond_all_time_is_never),
        cmocka_unit_test(never_stays_never),
        cmocka_unit_test(poll_waits_for_never_without_end),
        cmocka_unit_test(poll_does_not_wait_for_what_is_over),
        cmocka_unit_test(poll_waits_until_the_deadline_and_not_a_millisecond_longer),
        cmocka_unit_test(poll_waits_as_long_as_it_can_for_what_is_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
