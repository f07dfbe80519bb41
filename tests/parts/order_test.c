/* The order of a handle's holds, beside a plain array that does the same. */
#include "base/memory.h"
#include "lock/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 1000 };

static void take(lki_order *order, lk_mode mode) {
    assert_true(lki_order_reserve(order, (size_t)order->count + 1));
    lki_order_push(order, mode);
}

static lk_mode last_of(const lki_order *order, size_t reads, size_t writes) {
    lk_mode mode = LK_READ;
    assert_true(lki_order_last(order, reads, writes, &mode));
    return mode;
}

static void the_last_hold_is_on_top(void **state) {
    (void)state;
    lki_order order = {0};
    lk_mode mode = LK_WRITE;
    assert_false(lki_order_last(&order, 0, 0, &mode));
    assert_int_equal(mode, LK_WRITE); /* untouched */
    take(&order, LK_READ);
    take(&order, LK_WRITE);
    assert_int_equal(last_of(&order, 0, 0), LK_WRITE);
    lki_order_remove(&order, LK_WRITE);
    assert_int_equal(last_of(&order, 0, 0), LK_READ);
    lki_order_clear(&order);
}

static void holds_that_are_spoken_for_are_passed_over(void **state) {
    (void)state;
    lki_order order = {0};
    lk_mode mode = LK_READ;
    take(&order, LK_READ);
    take(&order, LK_WRITE);
    take(&order, LK_READ);
    assert_int_equal(last_of(&order, 1, 0), LK_WRITE);
    assert_int_equal(last_of(&order, 1, 1), LK_READ);
    assert_int_equal(last_of(&order, 0, 5), LK_READ);
    assert_int_equal(last_of(&order, 2, 0), LK_WRITE);
    assert_false(lki_order_last(&order, 2, 1, &mode));
    lki_order_clear(&order);
}

static void a_write_is_turned_in_its_place(void **state) {
    (void)state;
    lki_order order = {0};
    take(&order, LK_WRITE);
    take(&order, LK_WRITE);
    take(&order, LK_READ);
    lki_order_downgrade(&order); /* write, read, read */
    assert_int_equal(last_of(&order, 2, 0), LK_WRITE);
    assert_int_equal(last_of(&order, 1, 0), LK_READ);
    lki_order_clear(&order);
}

/* -------------------------------------------------------------------------------- the model */

typedef struct {
    lk_mode modes[MOST];
    size_t count;
} model;

static size_t find_last(const model *self, lk_mode mode) {
    size_t above = self->count;
    while (above > 0 && self->modes[above - 1] != mode)
        above--;
    return above;
}

static void model_remove(model *self, size_t at) {
    memmove(&self->modes[at], &self->modes[at + 1], (self->count - at - 1) * sizeof *self->modes);
    self->count--;
}

static void assert_same(const lki_order *order, const model *self) {
    lki_order copy = *order;
    model left = *self;
    assert_int_equal(order->count, self->count);
    while (left.count > 0) { /* the copy has the same words, and does not change them */
        size_t reads = 0, writes = 0;
        for (size_t i = left.count; i < self->count; i++)
            ++*(self->modes[i] == LK_WRITE ? &writes : &reads);
        assert_int_equal(last_of(&copy, reads, writes), left.modes[left.count - 1]);
        left.count -= left.count > 70 ? 64 : 1; /* each near the bottom, some of the others */
    }
}

static void any_order_of_taking_and_giving_back_is_kept(void **state) {
    (void)state;
    unsigned short seed[3] = {7, 8, 9};
    lki_order order = {0};
    model self = {.count = 0};
    for (int step = 0; step < 20000; step++) {
        lk_mode mode = nrand48(seed) % 2 ? LK_WRITE : LK_READ;
        bool grows = step / 2000 % 2 == 0;
        size_t found = find_last(&self, mode);
        if (self.count < MOST && nrand48(seed) % 10 < (grows ? 7 : 3)) {
            take(&order, mode);
            self.modes[self.count++] = mode;
        } else if (found > 0 && mode == LK_WRITE && nrand48(seed) % 4 == 0) {
            lki_order_downgrade(&order);
            self.modes[found - 1] = LK_READ;
        } else if (found > 0) {
            lki_order_remove(&order, mode);
            model_remove(&self, found - 1);
        }
        if (step % 50 == 0)
            assert_same(&order, &self);
    }
    lki_order_clear(&order);
}

/* -------------------------------------------------------------------------------- memory */

static bool refuse(void) {
    return true;
}

static void only_more_than_64_holds_need_memory_and_without_it_nothing_changes(void **state) {
    (void)state;
    lki_order order = {0};
    lki_memory_refuse(refuse);
    bool has_64 = lki_order_reserve(&order, 64), has_65 = lki_order_reserve(&order, 65);
    lki_memory_refuse(NULL);
    assert_true(has_64);
    assert_false(has_65);
    assert_int_equal(order.rest_words, 0);
    for (int i = 0; i < 64; i++)
        lki_order_push(&order, i % 2 ? LK_WRITE : LK_READ);
    take(&order, LK_READ);
    assert_int_equal(last_of(&order, 0, 0), LK_READ);
    assert_int_equal(last_of(&order, 1, 0), LK_WRITE);
    lki_order_clear(&order);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_hold_is_on_top),
        cmocka_unit_test(holds_that_are_spoken_for_are_passed_over),
        cmocka_unit_test(a_write_is_turned_in_its_place),
        cmocka_unit_test(any_order_of_taking_and_giving_back_is_kept),
        cmocka_unit_test(only_more_than_64_holds_need_memory_and_without_it_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
