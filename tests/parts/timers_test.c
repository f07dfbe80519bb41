/* The heap of timers, against a list that is searched from end to end. */
#include "base/clock.h"
#include "base/memory.h"
#include "lock/timers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TIMERS = 257 };

static lki_timers make(size_t count) {
    lki_timers timers = {0};
    assert_true(lki_timers_reserve(&timers, count));
    return timers;
}

/* The heap has exactly those timers that the reference says are set. */
static void assert_same(const lki_timers *timers, const lki_timer all[], const int64_t due_us[]) {
    int64_t least_us = LKI_NEVER;
    size_t count = 0;
    for (size_t i = 0; i < TIMERS; i++) {
        if (due_us[i] == LKI_NEVER) {
            assert_int_equal(all[i].slot, 0);
            continue;
        }
        count++;
        least_us = due_us[i] < least_us ? due_us[i] : least_us;
        assert_int_equal(all[i].due_us, due_us[i]);
        assert_ptr_equal(timers->heap[all[i].slot - 1], &all[i]);
    }
    assert_int_equal(timers->count, count);
    const lki_timer *first = lki_timers_first(timers);
    assert_int_equal(first ? first->due_us : LKI_NEVER, least_us);
}

static void random_sets_and_removals_agree_with_a_plain_list(void **state) {
    (void)state;
    unsigned short seed[3] = {1, 2, 3};
    static lki_timer all[TIMERS];
    int64_t due_us[TIMERS];
    lki_timers timers = make(TIMERS);
    for (size_t i = 0; i < TIMERS; i++)
        due_us[i] = LKI_NEVER;
    for (int round = 0; round < 100000; round++) {
        size_t i = (size_t)nrand48(seed) % TIMERS;
        /* Now and then most go, so that the heap is small and large by turns. */
        long chance = nrand48(seed) % 10, most = round / 5000 % 2 ? 8 : 3;
        int64_t range = round % 3 ? 50 : 1000000; /* many at the same instant, and few */
        due_us[i] = chance < most ? nrand48(seed) % range : LKI_NEVER;
        lki_timers_set(&timers, &all[i], due_us[i]);
        assert_same(&timers, all, due_us);
    }
    lki_timers_free(&timers);
}

static void timers_come_out_in_their_order(void **state) {
    (void)state;
    unsigned short seed[3] = {4, 5, 6};
    static lki_timer all[10000];
    lki_timers timers = make(10000);
    for (size_t i = 0; i < 10000; i++)
        lki_timers_set(&timers, &all[i], nrand48(seed) % 5000);
    int64_t last_us = -1;
    for (size_t i = 0; i < 10000; i++) {
        lki_timer *first = lki_timers_first(&timers);
        assert_non_null(first);
        assert_true(first->due_us >= last_us);
        last_us = first->due_us;
        lki_timers_set(&timers, first, LKI_NEVER);
    }
    assert_null(lki_timers_first(&timers));
    lki_timers_free(&timers);
}

static void no_timer_is_first_where_none_is_set(void **state) {
    (void)state;
    lki_timers timers = {0};
    assert_null(lki_timers_first(&timers));
    timers = make(1);
    assert_null(lki_timers_first(&timers));
    lki_timers_free(&timers);
}

static void a_timer_that_is_not_set_can_be_taken_out(void **state) {
    (void)state;
    lki_timers timers = {0};
    lki_timer timer = {0};
    lki_timers_set(&timers, &timer, LKI_NEVER);
    assert_int_equal(timer.slot, 0);
    assert_null(lki_timers_first(&timers));
    lki_timers_free(&timers);
}

static void a_timer_that_is_set_again_has_one_place(void **state) {
    (void)state;
    lki_timers timers = make(2);
    lki_timer timer = {0}, other = {0};
    lki_timers_set(&timers, &other, 20);
    lki_timers_set(&timers, &timer, 10);
    lki_timers_set(&timers, &timer, 10);
    lki_timers_set(&timers, &timer, 30);
    assert_int_equal(timers.count, 2);
    assert_ptr_equal(lki_timers_first(&timers), &other);
    lki_timers_set(&timers, &other, LKI_NEVER);
    assert_ptr_equal(lki_timers_first(&timers), &timer);
    lki_timers_free(&timers);
}

/* One that was taken out still has its old due_us. */
static void a_timer_can_be_set_to_the_instant_that_it_was_taken_out_of(void **state) {
    (void)state;
    lki_timers timers = make(1);
    lki_timer timer = {0};
    lki_timers_set(&timers, &timer, 0);
    assert_ptr_equal(lki_timers_first(&timers), &timer);
    lki_timers_set(&timers, &timer, LKI_NEVER);
    lki_timers_set(&timers, &timer, 0);
    assert_ptr_equal(lki_timers_first(&timers), &timer);
    lki_timers_free(&timers);
}

static void instants_before_zero_are_earlier(void **state) {
    (void)state;
    lki_timers timers = make(2);
    lki_timer past = {0}, present = {0};
    lki_timers_set(&timers, &present, 0);
    lki_timers_set(&timers, &past, INT64_MIN);
    assert_ptr_equal(lki_timers_first(&timers), &past);
    lki_timers_free(&timers);
}

static void room_grows_under_the_timers_that_are_set(void **state) {
    (void)state;
    static lki_timer all[1000];
    lki_timers timers = {0};
    for (size_t i = 0; i < 1000; i++) {
        assert_true(lki_timers_reserve(&timers, i + 1));
        assert_true(timers.room > i);
        lki_timers_set(&timers, &all[i], 1000 - (int64_t)i);
        assert_ptr_equal(lki_timers_first(&timers), &all[i]);
    }
    lki_timers_free(&timers);
    assert_null(lki_timers_first(&timers));
}

static int allocations;

static bool refuse_all(void) {
    allocations++;
    return true;
}

static void a_failed_reserve_leaves_the_timers_as_they_are(void **state) {
    (void)state;
    lki_timer all[8] = {0};
    lki_timers timers = make(8);
    for (size_t i = 0; i < 8; i++)
        lki_timers_set(&timers, &all[i], (int64_t)i);
    size_t room = timers.room;
    lki_memory_refuse(refuse_all);
    bool reserved = lki_timers_reserve(&timers, room + 1);
    lki_memory_refuse(NULL);
    assert_false(reserved);
    assert_int_equal(timers.room, room);
    assert_int_equal(timers.count, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_ptr_equal(lki_timers_first(&timers), &all[i]);
        lki_timers_set(&timers, &all[i], LKI_NEVER);
    }
    lki_timers_free(&timers);
}

static void setting_what_was_reserved_needs_no_memory(void **state) {
    (void)state;
    static lki_timer all[100];
    lki_timers timers = make(100);
    allocations = 0;
    lki_memory_refuse(refuse_all);
    bool reserved = lki_timers_reserve(&timers, 100);
    for (size_t i = 0; i < 100; i++)
        lki_timers_set(&timers, &all[i], (int64_t)(i * 37 % 100));
    lki_memory_refuse(NULL);
    assert_true(reserved);
    assert_int_equal(allocations, 0);
    assert_int_equal(timers.count, 100);
    assert_ptr_equal(lki_timers_first(&timers), &all[0]);
    lki_timers_free(&timers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sets_and_removals_agree_with_a_plain_list),
        cmocka_unit_test(timers_come_out_in_their_order),
        cmocka_unit_test(no_timer_is_first_where_none_is_set),
        cmocka_unit_test(a_timer_that_is_not_set_can_be_taken_out),
        cmocka_unit_test(a_timer_that_is_set_again_has_one_place),
        cmocka_unit_test(a_timer_can_be_set_to_the_instant_that_it_was_taken_out_of),
        cmocka_unit_test(instants_before_zero_are_earlier),
        cmocka_unit_test(room_grows_under_the_timers_that_are_set),
        cmocka_unit_test(a_failed_reserve_leaves_the_timers_as_they_are),
        cmocka_unit_test(setting_what_was_reserved_needs_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
