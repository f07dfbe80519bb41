/* Messages of the scripts, line by line: what is read, and what is passed over. */
#include "engine/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CLIENT "00112233445566778899aabbccddeeff"
#define OTHER "00112233445566778899aabbccddeefe"

static const char granted[] = "granted " CLIENT "-0000000000a7 5 6 7 8 9";
static const char watch[] = "watch " CLIENT "-ffffffffffff 1 0 1700000000000000 250 0";
static const char lost[] = "lost " CLIENT "-000000000001 0 9007199254740992 3 0 0";

enum { MESSAGES_MOST = 64 };

typedef struct {
    lki_message messages[MESSAGES_MOST];
    size_t count;
} heard;

/* From memory of its own without a NUL behind, so that reading too far is seen. */
static heard hear_bytes(const char *bytes, size_t length) {
    heard all = {0};
    char *copy = malloc(length + !length);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    const char *at = copy, *end = copy + length, *last = at;
    lki_message message;
    while (lki_message_next(&at, end, &message)) {
        assert_true(at > last && at <= end);
        last = at;
        assert_true(all.count < MESSAGES_MOST);
        all.messages[all.count++] = message;
    }
    assert_ptr_equal(at, end);
    free(copy);
    return all;
}

static heard hear(const char *text) {
    return hear_bytes(text, strlen(text));
}

static void assert_passed_over(const char *line) {
    if (hear(line).count)
        fail_msg("taken for a message: %s", line);
}

/* ---------------------------------------------------------------------------------- good lines */

static void a_grant_has_all_its_numbers(void **state) {
    (void)state;
    heard all = hear(granted);
    assert_int_equal(all.count, 1);
    assert_int_equal(all.messages[0].kind, LKI_MESSAGE_GRANTED);
    assert_int_equal(all.messages[0].number, 0xa7);
    assert_int_equal(all.messages[0].request, 5);
    assert_int_equal(all.messages[0].fence, 6);
    assert_int_equal(all.messages[0].server_us, 7);
    assert_int_equal(all.messages[0].ms, 8);
    assert_int_equal(all.messages[0].flags, 9);
}

static void a_watch_is_heard(void **state) {
    (void)state;
    heard all = hear(watch);
    assert_int_equal(all.count, 1);
    assert_int_equal(all.messages[0].kind, LKI_MESSAGE_WATCH);
    assert_int_equal(all.messages[0].number, 0xffffffffffff);
    assert_int_equal(all.messages[0].request, 1);
    assert_int_equal(all.messages[0].server_us, 1700000000000000);
    assert_int_equal(all.messages[0].ms, 250);
}

static void a_loss_is_heard(void **state) {
    (void)state;
    heard all = hear(lost);
    assert_int_equal(all.count, 1);
    assert_int_equal(all.messages[0].kind, LKI_MESSAGE_LOST);
    assert_int_equal(all.messages[0].number, 1);
    assert_int_equal(all.messages[0].fence, UINT64_C(1) << 53);
}

static void several_lines_are_heard_in_their_order(void **state) {
    (void)state;
    char text[1000];
    snprintf(text, sizeof text, "%s\n%s\n%s\n%s", lost, granted, watch, granted);
    heard all = hear(text);
    assert_int_equal(all.count, 4);
    assert_int_equal(all.messages[0].kind, LKI_MESSAGE_LOST);
    assert_int_equal(all.messages[1].kind, LKI_MESSAGE_GRANTED);
    assert_int_equal(all.messages[2].kind, LKI_MESSAGE_WATCH);
    assert_int_equal(all.messages[3].kind, LKI_MESSAGE_GRANTED);
}

static void the_last_line_may_have_a_line_feed(void **state) {
    (void)state;
    char text[1000];
    snprintf(text, sizeof text, "%s\n", granted);
    assert_int_equal(hear(text).count, 1);
}

static void numbers_may_have_sixteen_digits_and_begin_with_zeros(void **state) {
    (void)state;
    heard all = hear("granted " CLIENT "-0000000000a7 0000000000000005 9007199254740992 "
                     "1700000000000000 0086400000 0007");
    assert_int_equal(all.count, 1);
    assert_int_equal(all.messages[0].request, 5);
    assert_int_equal(all.messages[0].fence, UINT64_C(1) << 53);
    assert_int_equal(all.messages[0].ms, 86400000);
    assert_int_equal(all.messages[0].flags, 7);
}

static void every_digit_of_a_handles_number_counts(void **state) {
    (void)state;
    heard all =
        hear("lost " CLIENT "-123456789abc 0 1 1 0 0\nlost " CLIENT "-def000000000 0 1 1 0 0");
    assert_int_equal(all.count, 2);
    assert_int_equal(all.messages[0].number, 0x123456789abc);
    assert_int_equal(all.messages[1].number, 0xdef000000000);
}

/* ----------------------------------------------------------------------------- what is passed */

static void an_empty_message_has_no_line(void **state) {
    (void)state;
    assert_passed_over("");
    assert_passed_over("\n");
    assert_passed_over("\n\n\n");
}

static void a_line_tells_the_whole_handle(void **state) {
    (void)state;
    static const char text[] =
        "lost " OTHER "-0000000000a7 0 6 7 0 0\nlost " CLIENT "-0000000000a7 0 6 7 0 0";
    const char *at = text, *end = text + strlen(text);
    lki_message message;
    assert_true(lki_message_next(&at, end, &message));
    assert_memory_equal(message.handle, OTHER "-0000000000a7", 45);
    assert_true(lki_message_next(&at, end, &message));
    assert_memory_equal(message.handle, CLIENT "-0000000000a7", 45);
}

static void every_truncated_line_is_passed_over(void **state) {
    (void)state;
    const char *const lines[] = {granted, watch, lost};
    for (size_t i = 0; i < 3; i++)
        for (size_t length = 0; length < strlen(lines[i]); length++)
            assert_int_equal(hear_bytes(lines[i], length).count, 0);
}

static void lines_behind_a_truncated_one_are_heard(void **state) {
    (void)state;
    for (size_t length = 0; length < strlen(watch); length++) {
        char text[1000];
        snprintf(text, sizeof text, "%.*s\n%s", (int)length, watch, granted);
        heard all = hear(text);
        assert_int_equal(all.count, 1);
        assert_int_equal(all.messages[0].kind, LKI_MESSAGE_GRANTED);
    }
}

static void lines_that_are_not_of_this_form_are_passed_over(void **state) {
    (void)state;
    static const char *const lines[] = {
        "granted",
        "grant " CLIENT "-0000000000a7 5 6 7 8 9",
        "Granted " CLIENT "-0000000000a7 5 6 7 8 9",
        " granted " CLIENT "-0000000000a7 5 6 7 8 9",
        "granted  " CLIENT "-0000000000a7 5 6 7 8 9",
        "granted\t" CLIENT "-0000000000a7 5 6 7 8 9",
        "granted " CLIENT "-0000000000A7 5 6 7 8 9",
        "granted " CLIENT "-0000000000g7 5 6 7 8 9",
        "granted " CLIENT "-000000000a7 5 6 7 8 9",
        "granted " CLIENT "-00000000000a7 5 6 7 8 9",
        "granted " CLIENT "+0000000000a7 5 6 7 8 9",
        "granted " CLIENT "0000000000a7 5 6 7 8 9",
        "granted " CLIENT "-0000000000a7  5 6 7 8 9",
        "granted " CLIENT "-0000000000a7 5 6 7 8",
        "granted " CLIENT "-0000000000a7 5 6 7 8 9 10",
        "granted " CLIENT "-0000000000a7 5 6 7 8 9 ",
        "granted " CLIENT "-0000000000a7 5 6 7 8 9\r",
        "granted " CLIENT "-0000000000a7 -5 6 7 8 9",
        "granted " CLIENT "-0000000000a7 +5 6 7 8 9",
        "granted " CLIENT "-0000000000a7 5 6.0 7 8 9",
        "granted " CLIENT "-0000000000a7 5 6 7e3 8 9",
        "granted " CLIENT "-0000000000a7 x 6 7 8 9",
        "granted " CLIENT "-0000000000a7 5 6 7 8 12345678901234567",
        "granted " CLIENT "-0000000000a7 5 12345678901234567 7 8 9",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_passed_over(lines[i]);
}

static void bytes_of_zero_do_not_end_a_message(void **state) {
    (void)state;
    char text[1000] = "junk";
    size_t junk = 5; /* with its NUL */
    text[junk] = '\n';
    memcpy(text + junk + 1, granted, sizeof granted - 1);
    assert_int_equal(hear_bytes(text, junk + sizeof granted).count, 1);
}

/* ----------------------------------------------------------------------------------- mutations */

static size_t mutate(char *text, size_t length, size_t room, unsigned short seed[3]) {
    size_t at = (size_t)nrand48(seed) % (length + 1);
    switch (nrand48(seed) % 4) {
    case 0: /* another byte */
        if (at < length)
            text[at] =
                (char)(nrand48(seed) % 2 ? " \n-09af\0gw"[nrand48(seed) % 10] : nrand48(seed));
        return length;
    case 1: /* one more */
        if (length == room)
            return length;
        memmove(text + at + 1, text + at, length - at);
        text[at] = "0 \n1a"[nrand48(seed) % 5];
        return length + 1;
    case 2: /* some less */
        if (at < length) {
            size_t gone = 1 + (size_t)nrand48(seed) % (length - at);
            gone = nrand48(seed) % 4 ? 1 : gone;
            memmove(text + at, text + at + gone, length - at - gone);
            return length - gone;
        }
        return length;
    default: /* cut */
        return nrand48(seed) % 8 ? length : at;
    }
}

static void no_mutation_is_read_beyond_its_end(void **state) {
    (void)state;
    unsigned short seed[3] = {1, 2, 3};
    size_t heard_lines = 0;
    for (int round = 0; round < 50000; round++) {
        char text[512];
        size_t length = (size_t)snprintf(text, sizeof text, "%s\n%s\n%s", granted, watch, lost);
        for (long times = 1 + nrand48(seed) % 6; times > 0; times--)
            length = mutate(text, length, sizeof text, seed);
        heard all = hear_bytes(text, length);
        for (size_t i = 0; i < all.count; i++) {
            assert_in_range(all.messages[i].kind, LKI_MESSAGE_GRANTED, LKI_MESSAGE_LOST);
            assert_true(all.messages[i].number < UINT64_C(1) << 48);
            assert_true(all.messages[i].ms >= 0);
        }
        heard_lines += all.count;
    }
    assert_in_range(heard_lines, 50000, 149999); /* some lines survive, and some do not */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grant_has_all_its_numbers),
        cmocka_unit_test(a_watch_is_heard),
        cmocka_unit_test(a_loss_is_heard),
        cmocka_unit_test(several_lines_are_heard_in_their_order),
        cmocka_unit_test(the_last_line_may_have_a_line_feed),
        cmocka_unit_test(numbers_may_have_sixteen_digits_and_begin_with_zeros),
        cmocka_unit_test(every_digit_of_a_handles_number_counts),
        cmocka_unit_test(an_empty_message_has_no_line),
        cmocka_unit_test(a_line_tells_the_whole_handle),
        cmocka_unit_test(every_truncated_line_is_passed_over),
        cmocka_unit_test(lines_behind_a_truncated_one_are_heard),
        cmocka_unit_test(lines_that_are_not_of_this_form_are_passed_over),
        cmocka_unit_test(bytes_of_zero_do_not_end_a_message),
        cmocka_unit_test(no_mutation_is_read_beyond_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
