/* Replies, handles and events in words (SPEC 10). protocol/conformance/input.spec has the errors. */
#include "core_transcript.h"
#include "plain_allocator.h"

#define A "0123456789abcdef0123456789abcdef-000000000001"
#define B "0123456789abcdef0123456789abcdef-00000000000b"

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

static void an_entry_of_renew_has_four_arguments(void **state) {
    conversation *c = *state;
    assert_string_equal(say(c, LKC_OP_RENEW, A " 1 1"), "-LKARG arguments: expected 4, got 3");
    assert_string_equal(say(c, LKC_OP_RENEW, A " 1 1 100 1"),
                        "-LKARG arguments: expected 4, got 5");
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
        {LKC_OP_RELEASE, A " 1 1700000000000000 read 1", "[stale 1700000000000000]"},
        {LKC_OP_RELEASE, A " 2 1700000000000000 write 1", "[not-held 1700000000000000]"},
        {LKC_OP_RELEASE, A " 2 1700000000000000 read 1", "[released 1700000000000000 0 0]"},
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
        TEST(an_entry_of_renew_has_four_arguments),
        TEST(every_answer_has_its_words),
        TEST(a_handle_is_printed_as_it_was_read),
        TEST(an_event_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
