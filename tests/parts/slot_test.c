/* The slots of keys, compared with those that the tests compute in their own way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "key_slot.h"
#include "topology/slot.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_MOST = 40, KEYS = 200000 };

static void assert_slot(const char *key, unsigned wanted) {
    assert_int_equal(lki_slot_of(key, strlen(key)), wanted);
    assert_int_equal(test_key_slot(key, strlen(key)), wanted);
}

/* The check value of this CRC is 0x31c3 for "123456789": see the specification of Redis Cluster. */
static void known_keys_have_known_slots(void **state) {
    (void)state;
    assert_slot("", 0);
    assert_slot("123456789", 0x31c3);
    assert_slot("foo", 12182);
    assert_slot("somekey", 11058);
}

static void only_the_tag_counts(void **state) {
    (void)state;
    assert_slot("lk:{foo}", 12182);
    assert_slot("lk:{foo}:i", 12182);
    assert_slot("foo{bar}{zap}", lki_slot_of("bar", 3));
    assert_slot("foo{{bar}}zap", lki_slot_of("{bar", 4));
}

static void a_tag_that_is_empty_or_open_is_none(void **state) {
    (void)state;
    static const char *const keys[] = {"foo{}{bar}", "{", "}", "{}", "a}b{", "foo{bar", "foo}bar"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t length = strlen(keys[i]);
        assert_slot(keys[i], (unsigned)test_key_slot(keys[i], length));
    }
    assert_int_not_equal(lki_slot_of("foo{}{bar}", 10), lki_slot_of("bar", 3));
}

/* Many braces, so that many keys have tags; and bytes of every value, also 0. */
static void slots_of_random_keys_are_the_same(void **state) {
    (void)state;
    srandom(1);
    for (int i = 0; i < KEYS; i++) {
        char key[KEY_MOST];
        size_t length = (size_t)random() % (sizeof key + 1);
        for (size_t at = 0; at < length; at++) {
            long kind = random() % 8;
            key[at] = kind == 0 ? '{' : kind == 1 ? '}' : (char)random();
        }
        unsigned slot = lki_slot_of(key, length);
        assert_in_range(slot, 0, LKI_SLOTS - 1);
        assert_int_equal(slot, test_key_slot(key, length));
    }
}

static void the_first_slot_that_a_set_lacks_is_found(void **state) {
    (void)state;
    lki_slots slots = {0};
    assert_int_equal(lki_slots_first_missing(&slots), 0);
    for (unsigned slot = 0; slot < LKI_SLOTS; slot++) {
        if (slot != 64)
            lki_slots_add(&slots, slot);
        assert_int_equal(lki_slots_first_missing(&slots), slot < 64 ? slot + 1 : 64);
    }
    lki_slots_add(&slots, 64);
    assert_int_equal(lki_slots_first_missing(&slots), LKI_SLOTS);
}

static void slots_that_two_sets_have_are_added_to_a_third(void **state) {
    (void)state;
    lki_slots sum = {0}, some = {0}, all = {0};
    lki_slots_add_all(&all);
    lki_slots_add(&sum, 0);
    lki_slots_add(&some, 1);
    lki_slots_add_common(&sum, &some, &all);
    assert_int_equal(lki_slots_first_missing(&sum), 2);
    lki_slots_add_common(&sum, &all, &all);
    assert_int_equal(lki_slots_first_missing(&sum), LKI_SLOTS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_keys_have_known_slots),
        cmocka_unit_test(only_the_tag_counts),
        cmocka_unit_test(a_tag_that_is_empty_or_open_is_none),
        cmocka_unit_test(slots_of_random_keys_are_the_same),
        cmocka_unit_test(the_first_slot_that_a_set_lacks_is_found),
        cmocka_unit_test(slots_that_two_sets_have_are_added_to_a_third),
    };
    return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
