/* Bytes that grow, and commands written into them: the same bytes as hiredis makes of the words. */
#include "base/bytes.h"
#include "base/memory.h"
#include "net/resp.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS_MOST = 40, WORD_MOST = 3000 };

static bool refuse_all(void) {
    return true;
}

static void assert_bytes(const lki_bytes *bytes, const char *expected, size_t length) {
    assert_false(bytes->failed);
    assert_int_equal(bytes->length, length);
    assert_true(bytes->room >= bytes->length);
    if (length)
        assert_memory_equal(bytes->data, expected, length);
}

/* The bytes, from `at` on, are what hiredis would send for these words. */
static void assert_as_hiredis(const lki_bytes *bytes, size_t at, size_t count,
                              const char *const words[], const size_t lengths[]) {
    char *expected;
    long long length =
        redisFormatCommandArgv(&expected, (int)count, (const char **)(uintptr_t)words, lengths);
    assert_true(length > 0);
    assert_false(bytes->failed);
    assert_int_equal(bytes->length - at, length);
    assert_memory_equal(bytes->data + at, expected, (size_t)length);
    redisFreeCommand(expected);
}

/* --------------------------------------------------------------------------------------- bytes */

static void bytes_stay_in_their_order_while_they_grow(void **state) {
    (void)state;
    unsigned short seed[3] = {1, 2, 3};
    lki_bytes bytes = {0};
    static char all[200 * 1024];
    size_t length = 0;
    for (;;) {
        char piece[700];
        size_t size = (size_t)nrand48(seed) % sizeof piece;
        if (length + size > sizeof all)
            break;
        for (size_t i = 0; i < size; i++)
            piece[i] = (char)nrand48(seed);
        memcpy(all + length, piece, size);
        length += size;
        lki_bytes_add(&bytes, piece, size);
    }
    assert_bytes(&bytes, all, length);
    lki_bytes_free(&bytes);
}

static void nothing_can_be_added(void **state) {
    (void)state;
    lki_bytes bytes = {0};
    lki_bytes_add(&bytes, NULL, 0);
    assert_bytes(&bytes, "", 0);
    lki_bytes_add(&bytes, "ab", 2);
    lki_bytes_add(&bytes, NULL, 0);
    assert_bytes(&bytes, "ab", 2);
    lki_bytes_free(&bytes);
}

static void what_is_added_after_a_cut_stands_at_the_cut(void **state) {
    (void)state;
    lki_bytes bytes = {0};
    lki_bytes_add(&bytes, "abcdef", 6);
    lki_bytes_cut(&bytes, 3);
    lki_bytes_add(&bytes, "x", 1);
    assert_bytes(&bytes, "abcx", 4);
    lki_bytes_cut(&bytes, 0);
    assert_bytes(&bytes, "", 0);
    lki_bytes_free(&bytes);
}

static void bytes_that_were_freed_are_empty_and_can_be_used(void **state) {
    (void)state;
    lki_bytes bytes = {0};
    lki_bytes_add(&bytes, "abc", 3);
    lki_bytes_free(&bytes);
    assert_null(bytes.data);
    assert_bytes(&bytes, "", 0);
    lki_bytes_add(&bytes, "d", 1);
    assert_bytes(&bytes, "d", 1);
    lki_bytes_free(&bytes);
    lki_bytes_free(&bytes);
}

/* "abc", and then a kilobyte-wise addition that did not fit into memory. */
static lki_bytes make_failed(void) {
    static const char large[100000];
    lki_bytes bytes = {0};
    lki_bytes_add(&bytes, "abc", 3);
    lki_memory_refuse(refuse_all);
    lki_bytes_add(&bytes, large, sizeof large);
    lki_memory_refuse(NULL);
    return bytes;
}

static void bytes_stay_as_they_are_when_memory_runs_out(void **state) {
    (void)state;
    lki_bytes bytes = make_failed();
    assert_true(bytes.failed);
    assert_int_equal(bytes.length, 3);
    assert_memory_equal(bytes.data, "abc", 3);
    lki_bytes_free(&bytes);
}

static void a_failure_is_remembered_though_later_bytes_would_fit(void **state) {
    (void)state;
    lki_bytes bytes = make_failed();
    lki_bytes_add(&bytes, "d", 1);
    assert_true(bytes.failed);
    assert_int_equal(bytes.length, 3);
    lki_bytes_free(&bytes);
}

static void a_cut_ends_a_failure(void **state) {
    (void)state;
    lki_bytes bytes = make_failed();
    lki_bytes_cut(&bytes, 2);
    lki_bytes_add(&bytes, "x", 1);
    assert_bytes(&bytes, "abx", 3);
    lki_bytes_free(&bytes);
}

static void the_first_addition_may_fail(void **state) {
    (void)state;
    lki_bytes bytes = {0};
    lki_memory_refuse(refuse_all);
    lki_bytes_add(&bytes, "abc", 3);
    lki_memory_refuse(NULL);
    assert_true(bytes.failed);
    assert_int_equal(bytes.length, 0);
    lki_bytes_cut(&bytes, 0);
    assert_false(bytes.failed);
    lki_bytes_free(&bytes);
}

/* ------------------------------------------------------------------------------------ commands */

static void random_commands_are_written_as_hiredis_writes_them(void **state) {
    (void)state;
    unsigned short seed[3] = {4, 5, 6};
    static char pool[WORDS_MOST][WORD_MOST];
    const char *words[WORDS_MOST];
    size_t lengths[WORDS_MOST];
    lki_bytes bytes = {0};
    for (int round = 0; round < 2000; round++) {
        size_t count = 1 + (size_t)nrand48(seed) % WORDS_MOST, at = bytes.length;
        size_t most = round % 10 ? 40 : WORD_MOST;
        lki_resp_command(&bytes, count);
        for (size_t i = 0; i < count; i++) {
            words[i] = pool[i];
            lengths[i] = (size_t)nrand48(seed) % most;
            for (size_t j = 0; j < lengths[i]; j++)
                pool[i][j] = (char)nrand48(seed);
            lki_resp_word(&bytes, words[i], lengths[i]);
        }
        assert_as_hiredis(&bytes, at, count, words, lengths);
        if (round % 7 == 0)
            lki_bytes_cut(&bytes, 0);
    }
    lki_bytes_free(&bytes);
}

static void a_text_is_a_word_up_to_its_end(void **state) {
    (void)state;
    lki_bytes bytes = {0};
    lki_resp_command(&bytes, 3);
    lki_resp_text(&bytes, "PING");
    lki_resp_text(&bytes, "");
    lki_resp_text(&bytes, "a\r\nb\0c");
    static const char expected[] = "*3\r\n$4\r\nPING\r\n$0\r\n\r\n$4\r\na\r\nb\r\n";
    assert_bytes(&bytes, expected, sizeof expected - 1);
    lki_bytes_free(&bytes);
}

static void assert_number(uint64_t number) {
    char digits[32];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number);
    const char *words[] = {digits};
    lki_bytes bytes = {0};
    lki_resp_command(&bytes, 1);
    lki_resp_number(&bytes, number);
    assert_as_hiredis(&bytes, 0, 1, words, &length);
    lki_bytes_free(&bytes);
}

static void numbers_are_written_with_all_their_digits(void **state) {
    (void)state;
    unsigned short seed[3] = {7, 8, 9};
    for (uint64_t power = 1; power <= UINT64_MAX / 10; power *= 10) {
        assert_number(power - 1);
        assert_number(power);
        assert_number(power * 10 - 1);
    }
    assert_number(UINT64_C(10000000000000000000));
    assert_number(UINT64_C(1) << 53);
    assert_number(UINT64_MAX);
    for (int i = 0; i < 2000; i++) {
        uint64_t number = (uint64_t)nrand48(seed) << 33 ^ (uint64_t)nrand48(seed) << 10;
        assert_number(number >> nrand48(seed) % 64);
    }
}

static void a_word_may_be_of_megabytes(void **state) {
    (void)state;
    size_t length = 5 * 1024 * 1024 + 1;
    char *word = malloc(length);
    assert_non_null(word);
    memset(word, '\n', length);
    const char *words[] = {word};
    lki_bytes bytes = {0};
    lki_resp_command(&bytes, 1);
    lki_resp_word(&bytes, word, length);
    assert_as_hiredis(&bytes, 0, 1, words, &length);
    lki_bytes_free(&bytes);
    free(word);
}

static void a_command_may_have_any_number_of_words(void **state) {
    (void)state;
    static const char *words[123456];
    static size_t lengths[123456];
    lki_bytes bytes = {0};
    lki_resp_command(&bytes, 123456);
    for (size_t i = 0; i < 123456; i++) {
        words[i] = "x";
        lengths[i] = 1;
        lki_resp_text(&bytes, "x");
    }
    assert_as_hiredis(&bytes, 0, 123456, words, lengths);
    lki_bytes_free(&bytes);
}

static int allocations_left;

static bool refuse_later(void) {
    return allocations_left-- <= 0;
}

/* Whichever allocation fails, what stands before the command is whole, and the next one too. */
static void a_command_that_did_not_fit_is_cut_off_whole(void **state) {
    (void)state;
    static char word[9000];
    memset(word, 'w', sizeof word);
    bool fitted = false;
    int refused;
    for (refused = 0; !fitted; refused++) {
        lki_bytes bytes = {0};
        lki_resp_command(&bytes, 1);
        lki_resp_text(&bytes, "FIRST");
        size_t before = bytes.length;
        allocations_left = refused;
        lki_memory_refuse(refuse_later);
        lki_resp_command(&bytes, 3);
        for (int i = 0; i < 3; i++)
            lki_resp_word(&bytes, word, sizeof word);
        lki_memory_refuse(NULL);
        fitted = !bytes.failed;
        lki_bytes_cut(&bytes, before);
        lki_resp_command(&bytes, 1);
        lki_resp_number(&bytes, 7);
        static const char expected[] = "*1\r\n$5\r\nFIRST\r\n*1\r\n$1\r\n7\r\n";
        assert_bytes(&bytes, expected, sizeof expected - 1);
        lki_bytes_free(&bytes);
    }
    assert_true(refused > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_stay_in_their_order_while_they_grow),
        cmocka_unit_test(nothing_can_be_added),
        cmocka_unit_test(what_is_added_after_a_cut_stands_at_the_cut),
        cmocka_unit_test(bytes_that_were_freed_are_empty_and_can_be_used),
        cmocka_unit_test(bytes_stay_as_they_are_when_memory_runs_out),
        cmocka_unit_test(a_failure_is_remembered_though_later_bytes_would_fit),
        cmocka_unit_test(a_cut_ends_a_failure),
        cmocka_unit_test(the_first_addition_may_fail),
        cmocka_unit_test(random_commands_are_written_as_hiredis_writes_them),
        cmocka_unit_test(a_text_is_a_word_up_to_its_end),
        cmocka_unit_test(numbers_are_written_with_all_their_digits),
        cmocka_unit_test(a_word_may_be_of_megabytes),
        cmocka_unit_test(a_command_may_have_any_number_of_words),
        cmocka_unit_test(a_command_that_did_not_fit_is_cut_off_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
