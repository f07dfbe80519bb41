/* The end of a connection, and the keeper who reads when nobody else does. */
#include "link_world.h"

/* --------------------------------------------------------------------------------------- the end
 */

static void the_end_completes_all_with_nothing_and_is_told_once(void **state) {
    (void)state;
    for (size_t i = 0; i < 8; i++)
        start_call(i, "a", LONG_MS);
    hang_up();
    for (size_t i = 0; i < 8; i++) {
        join_call(i);
        assert_cut(i);
    }
    assert_false(lki_link_is_up(&line));
    assert_int_equal(broken_count, 1);
    assert_int_equal(broken_error.status, LK_UNAVAILABLE);
    assert_int_equal(completed_before_broken, 8);
}

static void replies_that_came_before_the_end_are_delivered(void **state) {
    (void)state;
    lock();
    for (size_t i = 0; i < 3; i++)
        submit(i, "a");
    lki_link_flush(&line);
    peer_expect("a");
    peer_send("+x\r\n+y\r\n+half");
    hang_up();
    lki_link_wait(&line, &calls[2].caller, after_ms(LONG_MS));
    unlock();
    assert_answered(0, "x");
    assert_answered(1, "y");
    assert_cut(2);
    assert_int_equal(broken_count, 1);
}

/* The link reads on after a full buffer, and meets the end there. */
static void a_reply_that_fills_the_buffer_is_delivered_before_the_end(void **state) {
    (void)state;
    enum { BUFFER = 16384, REST = 10 };
    static char reply[BUFFER];
    snprintf(reply, sizeof reply, "$%d\r\n", BUFFER - REST);
    memset(reply + strlen(reply), 'x', sizeof reply - strlen(reply));
    memcpy(reply + BUFFER - 2, "\r\n", 2);
    lock();
    submit(0, "a");
    lki_link_flush(&line);
    peer_expect("a");
    peer_send_bytes(reply, sizeof reply);
    hang_up();
    lki_link_wait(&line, &calls[0].caller, after_ms(LONG_MS));
    unlock();
    assert_int_equal(calls[0].completions, 1);
    assert_false(calls[0].cut);
}

static void bytes_that_are_no_reply_end_the_connection(void **state) {
    (void)state;
    lock();
    submit(0, "a");
    submit(1, "b");
    peer_send("+x\r\nnonsense\r\n+y\r\n");
    lki_link_wait(&line, &calls[1].caller, after_ms(LONG_MS));
    unlock();
    assert_answered(0, "x");
    assert_cut(1);
    assert_int_equal(broken_count, 1);
    assert_int_equal(broken_error.status, LK_INTERNAL);
}

static void an_answer_that_nobody_asked_for_ends_the_connection(void **state) {
    (void)state;
    lock();
    submit(0, "a");
    peer_send("+x\r\n+y\r\n+z\r\n");
    lki_link_wait(&line, &calls[0].caller, after_ms(LONG_MS));
    unlock();
    assert_answered(0, "x");
    assert_int_equal(broken_count, 1);
    assert_int_equal(broken_error.status, LK_INTERNAL);
}

static void a_break_wakes_who_reads_and_who_sleeps(void **state) {
    (void)state;
    start_driver_and_sleeper(LONG_MS, LONG_MS);
    lock();
    break_line();
    unlock();
    join_call(0);
    join_call(1);
    assert_cut(0);
    assert_cut(1);
    assert_int_equal(broken_count, 1);
    assert_int_equal(broken_error.status, LK_CANCELED);
}

/* As those who wait for a message do: no completion wakes them. */
static void a_break_wakes_callers_without_requests(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        calls[i].until_us = after_ms(LONG_MS);
        assert_int_equal(pthread_create(&calls[i].thread, NULL, run_call, &calls[i]), 0);
        wait_until(i ? somebody_sleeps : somebody_drives);
    }
    lock();
    break_line();
    unlock();
    join_call(0);
    join_call(1);
    assert_true(lki_now_us() < calls[0].until_us);
}

static void a_link_that_is_down_can_be_broken_flushed_and_waited_for(void **state) {
    (void)state;
    lock();
    break_line();
    break_line();
    lki_link_flush(&line);
    lki_link_wait(&line, &calls[0].caller, LKI_NEVER);
    assert_false(lki_link_is_up(&line));
    assert_false(lki_link_has_requests(&line));
    assert_int_equal(lki_link_silent_since_us(&line), LKI_NEVER);
    assert_false(lki_link_keeper_take(&line));
    unlock();
    assert_int_equal(broken_count, 1);
}

static void a_broken_link_takes_another_connection(void **state) {
    (void)state;
    lock();
    submit(0, "lost"); /* not sent, and not to be sent on the next one */
    break_line();
    hang_up();
    assert_int_equal(lki_link_attach(&line, connect_to_peer()), LK_OK);
    assert_true(lki_link_is_up(&line));
    unlock();
    start_call(1, "b", LONG_MS);
    peer_expect("b");
    peer_send("+y\r\n");
    join_call(1);
    assert_cut(0);
    assert_answered(1, "y");
}

static bool refuse_all(void) {
    return true;
}

static void without_memory_a_connection_is_not_taken(void **state) {
    (void)state;
    lock();
    break_line();
    hang_up();
    lki_transport *transport = connect_to_peer();
    lki_memory_refuse(refuse_all);
    lk_status status = lki_link_attach(&line, transport);
    lki_memory_refuse(NULL);
    assert_int_equal(status, LK_NOMEM);
    assert_false(lki_link_is_up(&line));
    unlock();
    lki_transport_close(transport); /* it is still ours */
}

/* Whatever each thread does at that instant: what it works on must last until it has left. */
static void a_break_in_the_middle_of_everything_frees_nothing_too_early(void **state) {
    (void)state;
    unsigned short seed[3] = {1, 2, 3};
    for (int round = 0; round < 100; round++) {
        pthread_t echo = start_echo();
        for (size_t i = 0; i < 8; i++) {
            calls[i].completions = 0;
            calls[i].caller.done = false;
            start_call(i, "a", LONG_MS);
        }
        for (long pause = nrand48(seed) % 40; pause > 0; pause--)
            sched_yield();
        lock();
        if (round % 3 == 0)
            lki_link_keeper_take(&line);
        break_line();
        unlock();
        for (size_t i = 0; i < 8; i++) {
            join_call(i);
            assert_int_equal(calls[i].completions, 1);
        }
        stop_echo(echo);
        hang_up();
        lock();
        assert_int_equal(lki_link_attach(&line, connect_to_peer()), LK_OK);
        unlock();
    }
    assert_int_equal(broken_count, 100);
}

/* -------------------------------------------------------------------------------- nobody reads */

static void who_leaves_an_answer_unread_says_so(void **state) {
    (void)state;
    lock();
    submit(0, "a");
    int64_t before_us = lki_now_us();
    lki_link_wait(&line, &calls[0].caller, after_ms(1));
    assert_int_equal(unread_count, 1);
    assert_true(line.unread_since_us >= before_us);
    unlock();
}

static void who_leaves_nothing_unread_does_not_say_so(void **state) {
    (void)state;
    start_call(0, "a", LONG_MS);
    peer_expect("a");
    peer_send("+x\r\n");
    join_call(0);
    assert_int_equal(unread_count, 0);
}

static void where_messages_may_come_there_is_always_something_unread(void **state) {
    (void)state;
    start_call(0, "a", LONG_MS);
    peer_expect("a");
    peer_send("+x\r\n");
    join_call(0);
    assert_int_equal(unread_count, 1);
}

static void who_passes_the_reading_on_leaves_nothing_unread(void **state) {
    (void)state;
    start_driver_and_sleeper(LONG_MS, LONG_MS);
    peer_send("+x\r\n");
    join_call(0);
    wait_until(somebody_drives);
    assert_int_equal(unread_count, 0);
    peer_send("+y\r\n");
    join_call(1);
}

/* ---------------------------------------------------------------------------------- the keeper */

/* With the monitor. */
static void keeper_reads_when_it_can(void) {
    short events = 0;
    struct pollfd polled = {lki_link_keeper_fd(&line, &events), 0, 0};
    polled.events = events;
    assert_true(polled.fd >= 0);
    assert_int_equal(poll(&polled, 1, LONG_MS), 1);
    lki_link_keeper_read(&line);
}

static void the_keeper_reads_for_those_who_have_left(void **state) {
    (void)state;
    lock();
    submit(0, "a");
    lki_link_flush(&line);
    assert_true(lki_link_keeper_take(&line));
    peer_send("+x\r\n");
    keeper_reads_when_it_can();
    unlock();
    assert_answered(0, "x");
}

static void the_keeper_reads_for_those_who_sleep(void **state) {
    (void)state;
    lock();
    assert_true(lki_link_keeper_take(&line));
    unlock();
    start_call(0, "a", LONG_MS);
    wait_until(somebody_sleeps);
    peer_expect("a");
    peer_send("+x\r\n");
    lock();
    keeper_reads_when_it_can();
    unlock();
    join_call(0);
    assert_answered(0, "x");
}

static void the_keeper_writes_what_a_full_socket_left(void **state) {
    (void)state;
    enum { LARGE = 4 * 1024 * 1024 };
    char *large = calloc(1, LARGE + 1);
    assert_non_null(large);
    memset(large, 'x', LARGE);
    lock();
    calls[0].request.complete = completed;
    add_echo(lki_link_begin(&line), large);
    assert_int_equal(lki_link_commit(&line, &calls[0].request, lki_now_us()), LK_OK);
    free(large);
    lki_link_flush(&line);
    assert_true(lki_link_keeper_take(&line));
    for (;;) {
        short events = 0;
        assert_true(lki_link_keeper_fd(&line, &events) >= 0);
        if (!(events & POLLOUT))
            break;
        assert_true(unix_receive(peer, &peer_got));
        keeper_reads_when_it_can();
    }
    peer_expect("xxx");
    peer_send("+y\r\n");
    keeper_reads_when_it_can();
    unlock();
    assert_answered(0, "y");
}

static void the_keeper_is_told_when_the_socket_is_full(void **state) {
    (void)state;
    enum { LARGE = 4 * 1024 * 1024 };
    char *large = calloc(1, LARGE + 1);
    assert_non_null(large);
    memset(large, 'x', LARGE);
    lock();
    assert_true(lki_link_keeper_take(&line));
    submit(0, "a");
    lki_link_flush(&line);
    assert_int_equal(full_count, 0);
    calls[1].request.complete = completed;
    add_echo(lki_link_begin(&line), large);
    assert_int_equal(lki_link_commit(&line, &calls[1].request, lki_now_us()), LK_OK);
    free(large);
    lki_link_flush(&line);
    assert_int_equal(full_count, 1);
    unlock();
}

static void the_keeper_that_finds_nothing_to_read_goes_on(void **state) {
    (void)state;
    lock();
    submit(0, "a");
    assert_true(lki_link_keeper_take(&line));
    lki_link_keeper_read(&line);
    lki_link_keeper_read(&line);
    assert_on_its_way(0);
    assert_int_equal(broken_count, 0);
    peer_expect("a"); /* it was sent meanwhile */
    unlock();
}

static void the_keeper_takes_nothing_from_a_caller_who_reads(void **state) {
    (void)state;
    short events;
    start_call(0, "a", LONG_MS);
    wait_until(somebody_drives);
    lock();
    assert_false(lki_link_keeper_take(&line));
    assert_int_equal(lki_link_keeper_fd(&line, &events), -1);
    lki_link_keeper_read(&line);
    lki_link_keeper_leave(&line);
    unlock();
    peer_send("+x\r\n");
    join_call(0);
    assert_answered(0, "x");
}

static void the_keeper_may_take_what_it_has(void **state) {
    (void)state;
    lock();
    assert_true(lki_link_keeper_take(&line));
    assert_true(lki_link_keeper_take(&line));
    lki_link_keeper_leave(&line);
    lki_link_keeper_leave(&line);
    short events;
    assert_int_equal(lki_link_keeper_fd(&line, &events), -1);
    unlock();
}

static void
where_messages_come_a_caller_relieves_the_keeper_and_reads_when_it_leaves(void **state) {
    (void)state;
    lock();
    assert_true(lki_link_keeper_take(&line));
    assert_false(lki_link_has_sleepers(&line));
    unlock();
    start_call(0, "a", LONG_MS);
    wait_until(somebody_sleeps);
    lock();
    assert_int_equal(relieve_count, 1);
    assert_true(lki_link_has_sleepers(&line));
    lki_link_keeper_leave(&line);
    assert_false(lki_link_keeper_take(&line)); /* the caller would rather */
    unlock();
    wait_until(somebody_drives);
    peer_send("+x\r\n");
    join_call(0);
    assert_answered(0, "x");
}

/* It polls the descriptor without the monitor: that must not become another connection's. */
static void the_keeper_keeps_the_descriptor_of_a_broken_connection(void **state) {
    (void)state;
    short events;
    lock();
    assert_true(lki_link_keeper_take(&line));
    int fd = lki_link_keeper_fd(&line, &events);
    break_line();
    assert_true(fcntl(fd, F_GETFD) >= 0);
    assert_int_equal(lki_link_keeper_fd(&line, &events), -1);
    lki_link_keeper_read(&line);
    lki_link_keeper_leave(&line);
    assert_true(fcntl(fd, F_GETFD) < 0);
    unlock();
}

static void the_keeper_lets_go_of_a_broken_connection_for_the_next(void **state) {
    (void)state;
    lock();
    assert_true(lki_link_keeper_take(&line));
    break_line();
    hang_up();
    assert_int_equal(lki_link_attach(&line, connect_to_peer()), LK_OK);
    lki_link_keeper_read(&line); /* of the old one, which is gone */
    assert_true(lki_link_keeper_take(&line));
    submit(0, "a");
    peer_send("+x\r\n");
    keeper_reads_when_it_can();
    unlock();
    assert_answered(0, "x");
    assert_int_equal(broken_count, 1);
}

static void the_keeper_notices_the_end(void **state) {
    (void)state;
    lock();
    submit(0, "a");
    assert_true(lki_link_keeper_take(&line));
    hang_up();
    keeper_reads_when_it_can();
    assert_cut(0);
    assert_int_equal(broken_count, 1);
    unlock();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_end_completes_all_with_nothing_and_is_told_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(replies_that_came_before_the_end_are_delivered, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_reply_that_fills_the_buffer_is_delivered_before_the_end,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_that_are_no_reply_end_the_connection, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_answer_that_nobody_asked_for_ends_the_connection, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_break_wakes_who_reads_and_who_sleeps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_break_wakes_callers_without_requests, set_up_for_messages,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_link_that_is_down_can_be_broken_flushed_and_waited_for,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_broken_link_takes_another_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_memory_a_connection_is_not_taken, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_break_in_the_middle_of_everything_frees_nothing_too_early,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_leaves_an_answer_unread_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_leaves_nothing_unread_does_not_say_so, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(where_messages_may_come_there_is_always_something_unread,
                                        set_up_for_messages, tear_down),
        cmocka_unit_test_setup_teardown(who_passes_the_reading_on_leaves_nothing_unread, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_keeper_reads_for_those_who_have_left, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_keeper_reads_for_those_who_sleep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_keeper_writes_what_a_full_socket_left, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_keeper_is_told_when_the_socket_is_full, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_keeper_that_finds_nothing_to_read_goes_on, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_keeper_takes_nothing_from_a_caller_who_reads, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_keeper_may_take_what_it_has, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            where_messages_come_a_caller_relieves_the_keeper_and_reads_when_it_leaves,
            set_up_for_messages, tear_down),
        cmocka_unit_test_setup_teardown(the_keeper_keeps_the_descriptor_of_a_broken_connection,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_keeper_lets_go_of_a_broken_connection_for_the_next,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_keeper_notices_the_end, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
