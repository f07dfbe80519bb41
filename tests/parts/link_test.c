/* One connection for many threads: who gets which reply, who reads, and who writes. */
#include "link_world.h"

/* ------------------------------------------------------------------------------------- replies */

static void a_request_gets_its_reply(void **state) {
    (void)state;
    start_call(0, "a", LONG_MS);
    peer_expect("a");
    peer_send("$1\r\nx\r\n");
    join_call(0);
    assert_answered(0, "x");
    assert_int_equal(broken_count, 0);
}

static void replies_go_to_the_requests_in_their_order(void **state) {
    (void)state;
    lock();
    submit(0, "a");
    submit(1, "b");
    submit(2, "c");
    lki_link_flush(&line);
    peer_expect("a");
    peer_expect("b");
    peer_expect("c");
    peer_send("+x\r\n-y\r\n$1\r\nz\r\n");
    lki_link_wait(&line, &calls[2].caller, after_ms(LONG_MS));
    unlock();
    assert_answered(0, "x");
    assert_answered(1, "y");
    assert_answered(2, "z");
}

static _Atomic unsigned wrong_answers;

static void *ask_fifty_times(void *context) {
    call *c = context;
    for (int round = 0; round < 50; round++) {
        char text[TEXT_MOST];
        snprintf(text, sizeof text, "%td/%d", c - calls, round);
        lock();
        c->caller.done = false;
        submit((size_t)(c - calls), text);
        lki_link_wait(&line, &c->caller, after_ms(LONG_MS));
        if (!c->caller.done || c->cut || strcmp(c->answer, text) != 0)
            wrong_answers++;
        unlock();
    }
    return NULL;
}

static void each_of_64_threads_gets_its_own_answers(void **state) {
    (void)state;
    pthread_t echo = start_echo();
    wrong_answers = 0;
    for (size_t i = 0; i < CALLS; i++)
        assert_int_equal(pthread_create(&calls[i].thread, NULL, ask_fifty_times, &calls[i]), 0);
    for (size_t i = 0; i < CALLS; i++)
        join_call(i);
    assert_int_equal(wrong_answers, 0);
    for (size_t i = 0; i < CALLS; i++)
        assert_int_equal(calls[i].completions, 50);
    stop_echo(echo);
}

static void a_reply_may_come_byte_by_byte(void **state) {
    (void)state;
    static const char reply[] = "$5\r\nab\r\nc\r\n";
    start_call(0, "a", LONG_MS);
    peer_expect("a");
    for (size_t i = 0; i < sizeof reply - 1; i++) {
        peer_send_bytes(reply + i, 1);
        while (!unix_all_read(peer))
            sched_yield();
    }
    join_call(0);
    assert_answered(0, "ab\r\nc");
}

/* ------------------------------------------------------------------------------------ pipelines */

enum { PIPELINE = 3000, WORD = 4096 };

static struct {
    lki_request request;
    size_t index;
} pipeline[PIPELINE];
static size_t pipeline_done, pipeline_most;
static bool pipeline_in_order;
static char word[WORD + 1];

/* Call 0 waits for the last of them. */
static void piece_completed(lki_request *request, const redisReply *reply) {
    size_t index = (size_t)((char *)request - (char *)pipeline) / sizeof *pipeline;
    if (index != pipeline_done++ || !reply || strtoul(reply->str, NULL, 10) != index)
        pipeline_in_order = false;
    if (pipeline_done == pipeline_most) {
        calls[0].caller.done = true;
        lki_caller_notify(&calls[0].caller);
    }
}

/* With the monitor. Each has its number at the head of a word of this length. */
static void submit_pipeline(size_t count, size_t length) {
    pipeline_done = 0;
    pipeline_most = count;
    pipeline_in_order = true;
    memset(word, ' ', sizeof word - 1);
    for (size_t i = 0; i < count; i++) {
        lki_bytes *out = lki_link_begin(&line);
        char digits[16];
        memcpy(word, digits, (size_t)snprintf(digits, sizeof digits, "%6zu", i));
        lki_resp_command(out, 2);
        lki_resp_text(out, "ECHO");
        lki_resp_word(out, word, length);
        pipeline[i].request.complete = piece_completed;
        assert_int_equal(lki_link_commit(&line, &pipeline[i].request, lki_now_us()), LK_OK);
    }
}

/* More than the link takes out of the parser in one go. */
static void any_number_of_replies_may_come_at_once(void **state) {
    (void)state;
    test_text replies = {0};
    for (size_t i = 0; i < 10 * LKI_REPLIES_MOST; i++)
        test_text_print(&replies, "+%zu\r\n", i);
    assert_true(replies.length < 16384); /* in one read */
    peer_send_bytes(replies.bytes, replies.length);
    free(replies.bytes);
    lock();
    submit_pipeline(10 * LKI_REPLIES_MOST, 8);
    lki_link_wait(&line, &calls[0].caller, after_ms(LONG_MS));
    unlock();
    assert_int_equal(pipeline_done, pipeline_most);
    assert_true(pipeline_in_order);
}

/* The peer does not read on before its replies are taken: who only writes would wait forever. */
static void a_pipeline_that_fills_both_directions_does_not_stall(void **state) {
    (void)state;
    pthread_t echo = start_echo();
    lock();
    submit_pipeline(PIPELINE, WORD);
    lki_link_wait(&line, &calls[0].caller, after_ms(LONG_MS));
    unlock();
    assert_int_equal(pipeline_done, PIPELINE);
    assert_true(pipeline_in_order);
    stop_echo(echo);
}

static void *wait_for_pipeline(void *context) {
    (void)context;
    lock();
    lki_link_wait(&line, &calls[0].caller, after_ms(LONG_MS));
    unlock();
    return NULL;
}

/* Who put them there has left, and the driver looked for something to read alone. */
static void what_a_full_socket_left_is_sent_by_the_driver(void **state) {
    (void)state;
    start_call(1, "first", LONG_MS);
    wait_until(somebody_drives);
    lock();
    submit_pipeline(PIPELINE / 10, WORD);
    lki_link_flush(&line);
    assert_true(line.connection->piece_sent < line.connection->piece.length); /* it is full */
    unlock();
    peer_expect("first");
    for (size_t i = 0; i < PIPELINE / 10; i++)
        peer_expect("");
    peer_send("+x\r\n");
    join_call(1);
    assert_answered(1, "x");
}

/* The rest goes along when a caller comes, whoever committed it. */
static void what_was_committed_and_not_flushed_is_sent_by_who_waits(void **state) {
    (void)state;
    lock();
    submit(0, "a");
    submit(1, "b");
    unlock();
    assert_int_equal(pthread_create(&calls[0].thread, NULL, run_call, &calls[0]), 0);
    pthread_join(calls[0].thread, NULL); /* its until_us is long over */
    peer_expect("a");
    peer_expect("b");
}

static void requests_may_be_added_while_others_are_written(void **state) {
    (void)state;
    pthread_t echo = start_echo(), waiter;
    lock();
    submit_pipeline(PIPELINE, WORD);
    unlock();
    assert_int_equal(pthread_create(&waiter, NULL, wait_for_pipeline, NULL), 0);
    for (size_t i = 1; i < CALLS; i++) {
        char text[TEXT_MOST];
        snprintf(text, sizeof text, "%zu", i);
        start_call(i, text, LONG_MS);
    }
    pthread_join(waiter, NULL);
    for (size_t i = 1; i < CALLS; i++) {
        join_call(i);
        assert_answered(i, calls[i].text);
    }
    assert_true(pipeline_in_order);
    stop_echo(echo);
}

/* ---------------------------------------------------------------------------------- who waits */

static void a_caller_whose_time_is_up_leaves_and_its_request_keeps_its_place(void **state) {
    (void)state;
    lock();
    int64_t until_us = after_ms(SHORT_MS);
    submit(0, "a");
    lki_link_wait(&line, &calls[0].caller, until_us);
    assert_true(lki_now_us() >= until_us);
    assert_on_its_way(0);
    submit(1, "b");
    lki_link_flush(&line);
    peer_expect("a");
    peer_expect("b");
    peer_send("+x\r\n+y\r\n");
    lki_link_wait(&line, &calls[1].caller, after_ms(LONG_MS));
    unlock();
    assert_answered(0, "x");
    assert_answered(1, "y");
}

static void a_sleeper_whose_time_is_up_leaves_and_its_request_keeps_its_place(void **state) {
    (void)state;
    start_driver_and_sleeper(LONG_MS, SHORT_MS);
    start_call(2, "c", LONG_MS);
    join_call(1);
    assert_on_its_way(1);
    peer_send("+x\r\n+y\r\n+z\r\n");
    join_call(0);
    join_call(2);
    assert_answered(0, "x");
    assert_answered(1, "y");
    assert_answered(2, "z");
}

static void a_driver_with_its_answer_passes_the_reading_on(void **state) {
    (void)state;
    start_driver_and_sleeper(LONG_MS, LONG_MS);
    peer_send("+x\r\n");
    join_call(0);
    assert_on_its_way(1);
    wait_until(somebody_drives);
    peer_send("+y\r\n");
    join_call(1);
    assert_answered(0, "x");
    assert_answered(1, "y");
}

static void a_driver_whose_time_is_up_passes_the_reading_on(void **state) {
    (void)state;
    start_driver_and_sleeper(SHORT_MS, LONG_MS);
    join_call(0);
    wait_until(somebody_drives);
    lock();
    assert_ptr_equal(line.connection->driver, &calls[1].caller);
    unlock();
    peer_send("+x\r\n+y\r\n");
    join_call(1);
    assert_answered(0, "x");
    assert_answered(1, "y");
}

static void the_driver_reads_the_answers_of_those_who_sleep(void **state) {
    (void)state;
    lock();
    submit(1, "b"); /* whose answer comes first */
    unlock();
    start_call(0, "a", LONG_MS);
    wait_until(somebody_drives);
    calls[1].until_us = after_ms(LONG_MS);
    assert_int_equal(pthread_create(&calls[1].thread, NULL, run_call, &calls[1]), 0);
    wait_until(somebody_sleeps);
    peer_send("+y\r\n");
    join_call(1);
    assert_answered(1, "y");
    assert_on_its_way(0);
    peer_send("+x\r\n");
    join_call(0);
    assert_answered(0, "x");
}

static void a_notice_stops_who_reads(void **state) {
    (void)state;
    start_call(0, "a", LONG_MS);
    wait_until(somebody_drives);
    lock();
    calls[0].caller.recheck = true;
    lki_caller_notify(&calls[0].caller);
    unlock();
    join_call(0);
    assert_on_its_way(0);
    assert_true(lki_link_has_requests(&line));
}

static void a_notice_stops_who_sleeps(void **state) {
    (void)state;
    start_driver_and_sleeper(LONG_MS, LONG_MS);
    lock();
    calls[1].caller.recheck = true;
    lki_caller_notify(&calls[1].caller);
    unlock();
    join_call(1);
    assert_on_its_way(1);
    peer_send("+x\r\n");
    join_call(0);
}

static void a_kick_that_came_late_does_not_stop_the_next_who_reads(void **state) {
    (void)state;
    uint64_t one = 1;
    assert_int_equal(write(line.kick, &one, sizeof one), sizeof one);
    start_call(0, "a", LONG_MS);
    peer_expect("a");
    peer_send("+x\r\n");
    join_call(0);
    assert_answered(0, "x");
}

static void ask_again(lki_request *request, const redisReply *reply) {
    if (reply)
        submit(1, "again");
    ((call *)request)->completions++;
}

/* The driver sends it, and goes on waiting. */
static void a_completion_may_submit_a_request(void **state) {
    (void)state;
    lock();
    submit(0, "a")->request.complete = ask_again;
    calls[1].until_us = after_ms(LONG_MS);
    unlock();
    assert_int_equal(pthread_create(&calls[1].thread, NULL, run_call, &calls[1]), 0);
    peer_expect("a");
    peer_send("+x\r\n");
    peer_expect("again");
    peer_send("+y\r\n");
    join_call(1);
    assert_int_equal(calls[0].completions, 1);
    assert_answered(1, "y");
}

static void silence_begins_with_the_oldest_request_or_the_last_reply(void **state) {
    (void)state;
    lock();
    assert_false(lki_link_has_requests(&line));
    assert_int_equal(lki_link_silent_since_us(&line), LKI_NEVER);
    submit(0, "a");
    submit(1, "b");
    assert_true(calls[0].request.sent_us <= calls[1].request.sent_us);
    calls[0].request.sent_us -= 5;
    assert_int_equal(lki_link_silent_since_us(&line), calls[0].request.sent_us);
    peer_send("+x\r\n");
    lki_link_wait(&line, &calls[0].caller, after_ms(LONG_MS));
    assert_true(lki_link_answered_us(&line) >= calls[1].request.sent_us);
    assert_int_equal(lki_link_silent_since_us(&line), lki_link_answered_us(&line));
    calls[1].request.sent_us = lki_link_answered_us(&line) + 5;
    assert_int_equal(lki_link_silent_since_us(&line), calls[1].request.sent_us);
    peer_send("+y\r\n");
    lki_link_wait(&line, &calls[1].caller, after_ms(LONG_MS));
    assert_int_equal(lki_link_silent_since_us(&line), LKI_NEVER);
    unlock();
}

/* Or a server could send one byte at a time for ever. */
static void a_part_of_a_reply_does_not_end_a_silence(void **state) {
    (void)state;
    lock();
    submit(0, "a");
    int64_t sent_us = calls[0].request.sent_us;
    peer_send("+x");
    lki_link_wait(&line, &calls[0].caller, after_ms(SHORT_MS));
    assert_int_equal(lki_link_silent_since_us(&line), sent_us);
    assert_int_equal(lki_link_answered_us(&line), 0);
    peer_send("\r\n");
    lki_link_wait(&line, &calls[0].caller, after_ms(LONG_MS));
    assert_answered(0, "x");
    assert_true(lki_link_answered_us(&line) >= sent_us);
    unlock();
}

static void an_array_that_no_answer_has_is_not_made(void **state) {
    (void)state;
    lock();
    submit(0, "a");
    peer_send("*2147483647\r\n");
    lki_link_wait(&line, &calls[0].caller, after_ms(LONG_MS));
    assert_int_equal(broken_count, 1);
    assert_true(calls[0].cut);
    unlock();
}

/* ------------------------------------------------------------------------------------- messages */

#define MESSAGE(text) "*3\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n$1\r\n" text "\r\n"

static void messages_go_to_who_hears_them_and_answer_nobody(void **state) {
    (void)state;
    start_call(0, "a", LONG_MS);
    peer_expect("a");
    peer_send(MESSAGE("m") "+x\r\n" MESSAGE("n"));
    join_call(0);
    assert_answered(0, "x");
    assert_int_equal(push_count, 2);
    assert_string_equal(pushed, "n");
}

static void what_only_looks_like_a_message_is_an_answer(void **state) {
    (void)state;
    lock();
    submit(0, "a");
    submit(1, "b");
    peer_send("*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n*2\r\n$7\r\nmessage\r\n$1\r\nc\r\n");
    lki_link_wait(&line, &calls[1].caller, after_ms(LONG_MS));
    unlock();
    assert_answered(0, "subscribe...");
    assert_answered(1, "message...");
    assert_int_equal(push_count, 0);
}

static void where_nobody_hears_messages_one_is_an_answer(void **state) {
    (void)state;
    start_call(0, "a", LONG_MS);
    peer_expect("a");
    peer_send(MESSAGE("m"));
    join_call(0);
    assert_answered(0, "message...");
}

/* -------------------------------------------------------------------------------------- memory */

static bool refuse_all(void) {
    return true;
}

static void a_request_that_does_not_fit_into_memory_is_not_sent(void **state) {
    (void)state;
    char *large = malloc(100000);
    assert_non_null(large);
    memset(large, 'x', 100000);
    lock();
    submit(0, "a");
    lki_memory_refuse(refuse_all);
    lki_resp_word(lki_link_begin(&line), large, 100000);
    lk_status status = lki_link_commit(&line, &calls[1].request, lki_now_us());
    lki_memory_refuse(NULL);
    free(large);
    assert_int_equal(status, LK_NOMEM);
    submit(2, "c");
    lki_link_flush(&line);
    peer_expect("a");
    peer_expect("c");
    peer_send("+x\r\n+z\r\n");
    lki_link_wait(&line, &calls[2].caller, after_ms(LONG_MS));
    unlock();
    assert_answered(0, "x");
    assert_answered(2, "z");
    assert_on_its_way(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_gets_its_reply, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replies_go_to_the_requests_in_their_order, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_of_64_threads_gets_its_own_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reply_may_come_byte_by_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_number_of_replies_may_come_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pipeline_that_fills_both_directions_does_not_stall,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_full_socket_left_is_sent_by_the_driver, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_was_committed_and_not_flushed_is_sent_by_who_waits,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(requests_may_be_added_while_others_are_written, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_caller_whose_time_is_up_leaves_and_its_request_keeps_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_sleeper_whose_time_is_up_leaves_and_its_request_keeps_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_driver_with_its_answer_passes_the_reading_on, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_driver_whose_time_is_up_passes_the_reading_on, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_driver_reads_the_answers_of_those_who_sleep, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_notice_stops_who_reads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_notice_stops_who_sleeps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kick_that_came_late_does_not_stop_the_next_who_reads,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_completion_may_submit_a_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(silence_begins_with_the_oldest_request_or_the_last_reply,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_part_of_a_reply_does_not_end_a_silence, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_array_that_no_answer_has_is_not_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(messages_go_to_who_hears_them_and_answer_nobody,
                                        set_up_for_messages, tear_down),
        cmocka_unit_test_setup_teardown(what_only_looks_like_a_message_is_an_answer,
                                        set_up_for_messages, tear_down),
        cmocka_unit_test_setup_teardown(where_nobody_hears_messages_one_is_an_answer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_request_that_does_not_fit_into_memory_is_not_sent, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
