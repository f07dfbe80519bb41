/* The table of a client's handles: found by number and walked, while it grows and shrinks. */
#include "base/memory.h"
#include "lock/lock.h"
#include "lock/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MANY = 5000 };

static lk_lock *new_lock(uint64_t number) {
    lk_lock *lock = calloc(1, sizeof *lock + 1);
    assert_non_null(lock);
    lock->number = number;
    return lock;
}

static lk_lock *add_new(lki_table *table, uint64_t number) {
    lk_lock *lock = new_lock(number);
    assert_true(lki_table_add(table, lock));
    return lock;
}

static void remove_and_free(lki_table *table, lk_lock *lock) {
    lki_table_remove(table, lock);
    free(lock);
}

static void clear(lki_table *table) {
    lk_lock *lock;
    while ((lock = lki_table_next(table, NULL)))
        remove_and_free(table, lock);
    assert_int_equal(table->count, 0);
    lki_table_free(table);
}

/* A walk comes by each handle of `locks` that is not NULL exactly once, and by no other. */
static void assert_walk(const lki_table *table, lk_lock *const locks[], size_t room) {
    unsigned *seen = calloc(room, sizeof *seen);
    size_t walked = 0, there = 0;
    assert_non_null(seen);
    for (lk_lock *lock = lki_table_next(table, NULL); lock; lock = lki_table_next(table, lock)) {
        assert_true(lock->number < room);
        assert_ptr_equal(lock, locks[lock->number]);
        assert_int_equal(seen[lock->number]++, 0);
        walked++;
    }
    for (size_t i = 0; i < room; i++)
        there += locks[i] != NULL;
    assert_int_equal(walked, there);
    assert_int_equal(table->count, there);
    free(seen);
}

static void an_empty_table_has_nobody(void **state) {
    (void)state;
    lki_table table = {0};
    assert_null(lki_table_find(&table, 0));
    assert_null(lki_table_find(&table, 1));
    assert_null(lki_table_next(&table, NULL));
    lki_table_free(&table);
}

static void each_handle_is_found_by_its_number_while_the_table_grows(void **state) {
    (void)state;
    static lk_lock *locks[MANY];
    lki_table table = {0};
    for (size_t i = 0; i < MANY; i++) {
        assert_null(lki_table_find(&table, i));
        locks[i] = add_new(&table, i);
        assert_ptr_equal(lki_table_find(&table, i), locks[i]);
        assert_ptr_equal(lki_table_find(&table, i / 2), locks[i / 2]);
    }
    for (size_t i = 0; i < MANY; i++)
        assert_ptr_equal(lki_table_find(&table, i), locks[i]);
    assert_null(lki_table_find(&table, MANY));
    assert_null(lki_table_find(&table, UINT64_MAX));
    clear(&table);
}

static void a_walk_comes_by_everybody_once_at_every_size(void **state) {
    (void)state;
    static lk_lock *locks[300];
    lki_table table = {0};
    for (size_t i = 0; i < 300; i++) {
        assert_walk(&table, locks, 300);
        locks[i] = add_new(&table, i);
    }
    assert_walk(&table, locks, 300);
    clear(&table);
}

static void who_was_removed_is_not_found_and_the_others_are(void **state) {
    (void)state;
    static lk_lock *locks[MANY];
    lki_table table = {0};
    for (size_t i = 0; i < MANY; i++)
        locks[i] = add_new(&table, i);
    for (size_t i = 1; i < MANY; i += 2) {
        remove_and_free(&table, locks[i]);
        locks[i] = NULL;
    }
    for (size_t i = 0; i < MANY; i++)
        assert_ptr_equal(lki_table_find(&table, i), locks[i]);
    assert_walk(&table, locks, MANY);
    clear(&table);
}

static void random_additions_and_removals_agree_with_an_array(void **state) {
    (void)state;
    unsigned short seed[3] = {1, 2, 3};
    static lk_lock *locks[MANY];
    lki_table table = {0};
    for (int round = 0; round < 100000; round++) {
        size_t i = (size_t)nrand48(seed) % MANY;
        assert_ptr_equal(lki_table_find(&table, i), locks[i]);
        if (!locks[i]) {
            locks[i] = add_new(&table, i);
        } else if (nrand48(seed) % 3) {
            remove_and_free(&table, locks[i]);
            locks[i] = NULL;
        }
        if (round % 5000 == 0)
            assert_walk(&table, locks, MANY);
    }
    assert_walk(&table, locks, MANY);
    clear(&table);
}

/* Their low bits say nothing, so they are all in one chain. */
static void numbers_that_fall_together_are_kept_apart(void **state) {
    (void)state;
    lk_lock *locks[64];
    lki_table table = {0};
    for (size_t i = 0; i < 64; i++)
        locks[i] = add_new(&table, (uint64_t)i << 40);
    for (size_t i = 0; i < 64; i++)
        assert_ptr_equal(lki_table_find(&table, (uint64_t)i << 40), locks[i]);
    assert_null(lki_table_find(&table, (uint64_t)64 << 40));
    remove_and_free(&table, locks[63]); /* the head, the tail, and one between */
    remove_and_free(&table, locks[0]);
    remove_and_free(&table, locks[31]);
    size_t walked = 0;
    for (lk_lock *lock = lki_table_next(&table, NULL); lock; lock = lki_table_next(&table, lock))
        walked++;
    assert_int_equal(walked, 61);
    assert_null(lki_table_find(&table, (uint64_t)31 << 40));
    assert_ptr_equal(lki_table_find(&table, (uint64_t)32 << 40), locks[32]);
    clear(&table);
}

static bool refuse_all(void) {
    return true;
}

static void a_failed_growth_leaves_the_table_as_it_is(void **state) {
    (void)state;
    static lk_lock *locks[1000];
    lki_table table = {0};
    bool failed[2] = {false, false}; /* when empty, and when full */
    for (size_t i = 0; i < 100; i++) {
        lk_lock *lock = new_lock(i);
        lki_memory_refuse(refuse_all);
        bool added = lki_table_add(&table, lock);
        lki_memory_refuse(NULL);
        if (!added) {
            failed[i > 0] = true;
            assert_null(lki_table_find(&table, i));
            assert_walk(&table, locks, 1000);
            assert_true(lki_table_add(&table, lock));
        }
        locks[i] = lock;
        assert_walk(&table, locks, 1000);
    }
    assert_true(failed[0] && failed[1]);
    clear(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_table_has_nobody),
        cmocka_unit_test(each_handle_is_found_by_its_number_while_the_table_grows),
        cmocka_unit_test(a_walk_comes_by_everybody_once_at_every_size),
        cmocka_unit_test(who_was_removed_is_not_found_and_the_others_are),
        cmocka_unit_test(random_additions_and_removals_agree_with_an_array),
        cmocka_unit_test(numbers_that_fall_together_are_kept_apart),
        cmocka_unit_test(a_failed_growth_leaves_the_table_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
