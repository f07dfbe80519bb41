/* Arguments, errors and replies in words: SPEC 10. */
#include "core_transcript.h"
#include "plain_allocator.h"

#define A "0123456789abcdef0123456789abcdef-000000000001"
#define B "0123456789abcdef0123456789abcdef-00000000000b"

#define NOT_A_NUMBER ": must be a number of at most 16 digits, up to 2^53"

static const uint64_t now_us = UINT64_C(1700000000000000);

typedef struct {
    lkc_lock *lock;
    transcript said;
} conversation;

static int set_up(void **state) {
    conversation *c = calloc(1, sizeof *c);
    c->lock = lkc_lock_new(&plain_allocator);
    *state = c;
    return c->lock ? 0 : -1;
}

static int tear_down(void **state) {
    conversation *c = *state;
    lkc_lock_free(c->lock);
    free(c);
    return 0;
}

static const char *say(conversation *c, lkc_op op, const char *line) {
    assert_true(transcript_run(&c->said, c->lock, now_us, op, line));
    return c->said.text;
}

static void every_fault_has_its_text(void **state) {
    static const struct {
        lkc_op op;
        const char *line, *error;
    } cases[] = {
        {LKC_OP_RELEASE, A " 1 1", "arguments: expected 4, got 3"},
        {LKC_OP_ACQUIRE, A, "arguments: expected 11, got 1"},
        {LKC_OP_RENEW, A " 1 1 100 1", "arguments: expected 4, got 5"},
        {LKC_OP_CONVERT, A, "arguments: expected 3, got 1"},
        {LKC_OP_CANCEL, A, "arguments: expected 3, got 1"},
        {LKC_OP_INSPECT, "1 2", "arguments: expected 1, got 2"},
        {LKC_OP_FORCE, "a b", "arguments: expected 1, got 2"},
        {LKC_OP_CONVERT, "A123456789abcdef0123456789abcdef-000000000001 1 1",
         "handle: must be 32 hex digits, a dash and 12 hex digits"},
        {LKC_OP_CONVERT, "0123456789abcdef0123456789abcdef_000000000001 1 1",
         "handle: must be 32 hex digits, a dash and 12 hex digits"},
        {LKC_OP_CONVERT, "0123456789abcdef0123456789abcdef-00000000000g 1 1",
         "handle: must be 32 hex digits, a dash and 12 hex digits"},
        {LKC_OP_CONVERT, A "0 1 1", "handle: must be 32 hex digits, a dash and 12 hex digits"},
        {LKC_OP_CONVERT, " 1 1", "handle: must be 32 hex digits, a dash and 12 hex digits"},
        {LKC_OP_CONVERT, A " x 1", "req" NOT_A_NUMBER},
        {LKC_OP_CONVERT, A "  1", "req" NOT_A_NUMBER},
        {LKC_OP_CONVERT, A " -1 1", "req" NOT_A_NUMBER},
        {LKC_OP_CONVERT, A " 1e3 1", "req" NOT_A_NUMBER},
        {LKC_OP_CONVERT, A " 0 1", "req: must be at least 1"},
        {LKC_OP_CONVERT, A " 1 9007199254740993", "fence" NOT_A_NUMBER},
        {LKC_OP_CONVERT, A " 1 00000000000000001", "fence" NOT_A_NUMBER},
        {LKC_OP_CANCEL, A " 1 z", "target" NOT_A_NUMBER},
        {LKC_OP_CANCEL, A " 1 0", "target: must be at least 1"},
        {LKC_OP_RELEASE, A " 1 1 reads", "mode: must be read or write"},
        {LKC_OP_RENEW, A " 0 0 100", "req: must be at least 1"},
        {LKC_OP_RENEW, A " 1 q 100", "req" NOT_A_NUMBER},
        {LKC_OP_RENEW, A " 1 0 99", "lease_ms: must be 100 to 86400000"},
        {LKC_OP_RENEW, A " 1 0 86400001", "lease_ms: must be 100 to 86400000"},
        {LKC_OP_RENEW, A " 1 0 inf", "lease_ms" NOT_A_NUMBER},
        {LKC_OP_INSPECT, "100001", "limit: must be at most 100000"},
        {LKC_OP_INSPECT, "", "limit" NOT_A_NUMBER},
        {LKC_OP_ACQUIRE, A " 1 0 read 2 100 fair 0   ", "wait: must be 0 or 1"},
        {LKC_OP_ACQUIRE, A " 1 0 read y 100 fair 0   ", "wait" NOT_A_NUMBER},
        {LKC_OP_ACQUIRE, A " 1 0 read 1 100 Fair 0   ",
         "policy: must be fair, phase-fair, prefer-writer or prefer-reader"},
        {LKC_OP_ACQUIRE, A " 1 0 read 1 100 fair -   ", "floor" NOT_A_NUMBER},
        {LKC_OP_ACQUIRE, A " 1 0 read 1 100 fair 1700086400000001   ",
         "floor: is more than a day ahead of the server's clock"},
        {LKC_OP_ACQUIRE, A " 0 x what 2 1 none x   ", "req: must be at least 1"}, /* the first */
    };
    conversation *c = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[160];
        snprintf(expected, sizeof expected, "-LKARG %s", cases[i].error);
        assert_string_equal(say(c, cases[i].op, cases[i].line), expected);
    }
    assert_int_equal(lkc_lock_expires_ms(c->lock), 0);
}

static void texts_have_a_length_and_no_nul(void **state) {
    static const struct {
        size_t index, most;
        const char *error;
    } cases[] = {
        {8, 128, "-LKARG owner: must be at most 128 bytes without NUL"},
        {9, 64, "-LKARG group: must be at most 64 bytes without NUL"},
        {10, 255, "-LKARG who: must be at most 255 bytes without NUL"},
    };
    char long_text[256];
    conversation *c = *state;
    memset(long_text, 'x', sizeof long_text);
    lkc_reply_sink sink = {transcript_array, transcript_integer, transcript_text, transcript_error,
                           &c->said};
    for (size_t i = 0; i < 3 * sizeof cases / sizeof *cases; i++) {
        size_t which = i / 3;
        lkc_text line[] = {{A, 45},     {"1", 1}, {"0", 1}, {"read", 4}, {"0", 1}, {"100", 3},
                           {"fair", 4}, {"0", 1}, {"", 0},  {"", 0},     {"", 0}};
        size_t lengths[] = {cases[which].most, cases[which].most + 1, 3};
        line[cases[which].index] = (lkc_text){i % 3 == 2 ? "a\0b" : long_text, lengths[i % 3]};
        c->said.length = 0;
        assert_true(lkc_words_run(c->lock, now_us, LKC_OP_ACQUIRE, line, 11, &sink));
        if (i % 3 == 0)
            assert_memory_equal(c->said.text, "[granted ", 9);
        else
            assert_string_equal(c->said.text, cases[which].error);
    }
}

static void numbers_may_be_2_to_the_53_and_lead_with_zeros(void **state) {
    conversation *c = *state;
    assert_string_equal(say(c, LKC_OP_CONVERT, A " 9007199254740992 0000000000000001"),
                        "[not-held 1700000000000000]");
    assert_string_equal(say(c, LKC_OP_ACQUIRE, A " 1 0 read 1 100 fair 1700086400000000   "),
                        "[granted 1700000000000000 1700086400000001 100 0]");
}

static void every_answer_has_its_words(void **state) {
    static const struct {
        lkc_op op;
        const char *line, *reply;
    } cases[] = {
        {LKC_OP_INSPECT, "10", "[lock 1700000000000000 '' 0 0 0 0 [] []]"},
        {LKC_OP_ACQUIRE, A " 1 0 read 1 5000 phase-fair 0   4242_db1",
         "[granted 1700000000000000 1700000000000000 5000 2]"},
        {LKC_OP_ACQUIRE, B " 1 0 write 1 5000 fair 0 me g ", "[queued 1700000000000000 1 5000]"},
        {LKC_OP_ACQUIRE, B " 1 1 write 0 5000 fair 0   ", "[queued 1700000000000000 1 5000]"},
        {LKC_OP_ACQUIRE, A " 1 7 read 0 5000 fair 0   ",
         "[granted 1700000000000000 1700000000000000 5000 2]"},
        {LKC_OP_ACQUIRE, A " 2 7 read 0 5000 fair 0   ", "[not-held 1700000000000000]"},
        {LKC_OP_INSPECT, "10",
         "[lock 1700000000000000 phase-fair 1700000000000000 0 1 1 "
         "[[" A " " A " '' 1 0 5000 0 1700000000000000 0 4242_db1]] "
         "[[" B " me g write 5000 0 1 '']]]"},
        {LKC_OP_INSPECT, "0", "[lock 1700000000000000 phase-fair 1700000000000000 0 1 1 [] []]"},
        {LKC_OP_RENEW, B " 0 1 20000", "[queued 1 5000]"},
        {LKC_OP_RENEW, A " 1700000000000000 0 20000", "[lease 20000]"},
        {LKC_OP_RENEW, A " 1 0 20000", "[not-held]"},
        {LKC_OP_RELEASE, A " 1 1700000000000000 read", "[stale 1700000000000000]"},
        {LKC_OP_RELEASE, A " 2 1700000000000000 write", "[not-held 1700000000000000]"},
        {LKC_OP_RELEASE, A " 2 1700000000000000 read", "[released 1700000000000000 0 0]"},
        {LKC_OP_RENEW, B " 0 1 20000", "[granted 1700000000000001 20000 2]"},
        {LKC_OP_CANCEL, B " 2 1", "[granted 1700000000000000 1700000000000001 20000 2]"},
        {LKC_OP_CANCEL, A " 3 2", "[cancelled 1700000000000000]"},
        {LKC_OP_ACQUIRE, A " 3 0 read 0 5000 fair 0   ", "[busy 1700000000000000 20000]"},
        {LKC_OP_CONVERT, B " 2 1700000000000001",
         "[granted 1700000000000000 1700000000000001 20000 2]"},
        {LKC_OP_ACQUIRE, A " 3 0 read 0 5000 fair 0  g ",
         "[granted 1700000000000000 1700000000000001 5000 2]"},
        {LKC_OP_ACQUIRE, B " 3 1700000000000001 write 1 5000 fair 0   up",
         "[queued 1700000000000000 1 5000]"},
        {LKC_OP_ACQUIRE, A " 4 1700000000000001 write 1 5000 fair 0   ",
         "[deadlock 1700000000000000]"},
        {LKC_OP_INSPECT, "1",
         "[lock 1700000000000000 phase-fair 1700000000000001 0 2 1 "
         "[[" A " " A " g 1 0 5000 0 1700000000000001 0 '']] "
         "[[" B " me g upgrade 5000 0 3 up]]]"},
        {LKC_OP_FORCE, "me", "[forced 1700000000000000 1]"},
        {LKC_OP_FORCE, "", "[forced 1700000000000000 1]"},
        {LKC_OP_FORCE, "nobody", "[forced 1700000000000000 0]"},
    };
    conversation *c = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(say(c, cases[i].op, cases[i].line), cases[i].reply);
}

static void a_count_that_would_pass_65535_is_an_error(void **state) {
    conversation *c = *state;
    char line[160];
    say(c, LKC_OP_ACQUIRE, A " 1 0 read 1 100 fair 0   ");
    for (int req = 2; req <= 65536; req++) {
        assert_memory_equal(c->said.text, "[granted ", 9);
        snprintf(line, sizeof line, A " %d %" PRIu64 " read 1 100 fair 0   ", req, now_us);
        say(c, LKC_OP_ACQUIRE, line);
    }
    assert_string_equal(c->said.text, "-LKDEPTH mode: held 65535 times already");
}

static void bad_input_does_not_even_drop_what_has_run_out(void **state) {
    conversation *c = *state;
    say(c, LKC_OP_ACQUIRE, A " 1 0 write 1 100 fair 0   ");
    uint64_t expires_ms = lkc_lock_expires_ms(c->lock), later_us = now_us + 1000000;
    assert_true(transcript_run(&c->said, c->lock, later_us, LKC_OP_FORCE, "a b"));
    assert_int_equal(lkc_lock_expires_ms(c->lock), expires_ms);
    assert_null(lkc_lock_check(c->lock, now_us)); /* nothing has changed */
    assert_non_null(lkc_lock_check(c->lock, later_us));
}

static void names_are_1_to_512_bytes_without_nul(void **state) {
    char long_name[513];
    (void)state;
    memset(long_name, 'n', sizeof long_name);
    assert_false(lkc_name_valid((lkc_text){"", 0}));
    assert_true(lkc_name_valid((lkc_text){"\xff{}%", 4}));
    assert_true(lkc_name_valid((lkc_text){long_name, 512}));
    assert_false(lkc_name_valid((lkc_text){long_name, 513}));
    assert_false(lkc_name_valid((lkc_text){"a\0b", 3}));
}

static void a_handle_is_printed_as_it_was_read(void **state) {
    static const char text[] = "00ff7f80a5b6c7d8e9fa0b1c2d3e4f50-ffffffffffff";
    char printed[LKC_HANDLE_LENGTH + 1];
    lkc_handle handle;
    (void)state;
    assert_true(lkc_handle_parse((lkc_text){text, LKC_HANDLE_LENGTH}, &handle));
    assert_int_equal(handle.number, UINT64_C(0xffffffffffff));
    lkc_handle_print(&handle, printed);
    assert_string_equal(printed, text);
}

static void an_event_is_one_line(void **state) {
    static const uint64_t most = UINT64_MAX;
    char line[LKC_EVENT_LINE_MOST];
    lkc_event event = {LKC_EVENT_GRANTED, .req = 5, .fence = 6, .time_us = 7, .ms = 8, .flags = 3};
    (void)state;
    assert_true(lkc_handle_parse((lkc_text){A, 45}, &event.handle));
    size_t length = lkc_event_print(&event, line);
    assert_string_equal(line, "granted " A " 5 6 7 8 3");
    assert_int_equal(length, strlen(line));
    event.kind = LKC_EVENT_LOST;
    lkc_event_print(&event, line);
    assert_string_equal(line, "lost " A " 5 6 7 8 3");
    event = (lkc_event){LKC_EVENT_WATCH, event.handle, most, most, most, most, ~0U};
    assert_true(lkc_event_print(&event, line) < sizeof line);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_fault_has_its_text),
        TEST(texts_have_a_length_and_no_nul),
        TEST(numbers_may_be_2_to_the_53_and_lead_with_zeros),
        TEST(every_answer_has_its_words),
        TEST(a_count_that_would_pass_65535_is_an_error),
        TEST(bad_input_does_not_even_drop_what_has_run_out),
        TEST(names_are_1_to_512_bytes_without_nul),
        TEST(a_handle_is_printed_as_it_was_read),
        TEST(an_event_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
