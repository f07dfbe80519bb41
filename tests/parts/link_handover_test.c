/* A connection that comes with bytes which were read before: nobody waits for them in vain. */
#include "link_world.h"

#define PUSH "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nhello\r\n"

/* Puts the link on a new connection, on which these bytes were read too much. */
static void attach_with(const char *bytes) {
    lki_error error;
    lock();
    break_line();
    hang_up();
    lki_transport *transport = connect_to_peer();
    assert_int_equal(lki_transport_put_back(transport, bytes, strlen(bytes), &error), LK_OK);
    assert_int_equal(lki_link_attach(&line, transport), LK_OK);
    unlock();
    broken_count = 0;
}

static bool is_pushed(void) {
    return push_count == 1;
}

static void a_caller_who_drives_gets_them_without_waiting(void **state) {
    (void)state;
    attach_with(PUSH);
    start_call(0, "a", LONG_MS);
    wait_until(is_pushed);
    peer_expect("a");
    peer_send("+x\r\n");
    join_call(0);
    assert_answered(0, "x");
    assert_string_equal(pushed, "hello");
    assert_int_equal(broken_count, 0);
}

static void the_keeper_gets_them_without_waiting(void **state) {
    (void)state;
    struct pollfd polled = {0};
    attach_with(PUSH);
    lock();
    assert_true(lki_link_keeper_take(&line));
    polled.fd = lki_link_keeper_fd(&line, &polled.events);
    assert_int_equal(poll(&polled, 1, LONG_MS), 1);
    lki_link_keeper_read(&line);
    assert_int_equal(push_count, 1);
    polled.fd = lki_link_keeper_fd(&line, &polled.events);
    assert_int_equal(poll(&polled, 1, 0), 0); /* and once is enough */
    unlock();
}

static void a_message_that_began_among_them_is_whole(void **state) {
    (void)state;
    static const char push[] = PUSH;
    char begin[sizeof push];
    snprintf(begin, sizeof begin, "%.*s", 20, push);
    attach_with(begin);
    start_call(0, "a", LONG_MS);
    peer_expect("a");
    peer_send(push + 20);
    peer_send("+x\r\n");
    join_call(0);
    assert_answered(0, "x");
    assert_int_equal(push_count, 1);
    assert_string_equal(pushed, "hello");
    assert_int_equal(broken_count, 0);
}

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_for_messages, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        LINK_TEST(a_caller_who_drives_gets_them_without_waiting),
        LINK_TEST(the_keeper_gets_them_without_waiting),
        LINK_TEST(a_message_that_began_among_them_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
