/* What an open connection does. */
#include "transport_world.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/wait.h>

static void wait_to(const lki_transport *transport, bool write) {
    struct pollfd polled = {lki_transport_fd(transport), lki_transport_events(transport, write), 0};
    assert_int_equal(poll(&polled, 1, LONG_MS), 1);
}

/* -------------------------------------------------------------------------------------- bytes */

static void exchange(test_peer *peer) {
    int accepted;
    char buffer[16];
    lki_error error;
    lki_transport *transport = open_to(peer, &accepted);
    assert_int_equal(lki_transport_write(transport, "ask", 3, &error), 3);
    assert_int_equal(recv(accepted, buffer, sizeof buffer, 0), 3);
    assert_memory_equal(buffer, "ask", 3);
    assert_int_equal(send(accepted, "answer", 6, 0), 6);
    wait_to(transport, false);
    assert_int_equal(lki_transport_read(transport, buffer, sizeof buffer, &error), 6);
    assert_memory_equal(buffer, "answer", 6);
    lki_transport_close(transport);
    assert_int_equal(recv(accepted, buffer, sizeof buffer, 0), 0);
    close(accepted);
    stop(peer);
}

static void bytes_go_both_ways_over_tcp(void **state) {
    (void)state;
    test_peer peer = listen_on_tcp();
    exchange(&peer);
}

static void bytes_go_both_ways_over_a_unix_socket(void **state) {
    (void)state;
    test_peer peer = listen_on_path();
    exchange(&peer);
}

static void reading_nothing_would_block_and_waits_for_input(void **state) {
    (void)state;
    int accepted;
    char byte;
    lki_error error;
    test_peer peer = listen_on_tcp();
    lki_transport *transport = open_to(&peer, &accepted);
    assert_int_equal(lki_transport_read(transport, &byte, 1, &error), LKI_WOULD_BLOCK);
    assert_int_equal(lki_transport_events(transport, false), POLLIN);
    lki_transport_close(transport);
    close(accepted);
    stop(&peer);
}

static void writing_would_block_until_the_peer_reads(void **state) {
    (void)state;
    static char bytes[65536];
    int accepted;
    ssize_t length;
    lki_error error;
    test_peer peer = listen_on_path();
    lki_transport *transport = open_to(&peer, &accepted);
    do {
        length = lki_transport_write(transport, bytes, sizeof bytes, &error);
    } while (length > 0);
    assert_int_equal(length, LKI_WOULD_BLOCK);
    assert_int_equal(lki_transport_events(transport, true), POLLOUT);
    while (recv(accepted, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {}
    wait_to(transport, true);
    assert_true(lki_transport_write(transport, bytes, sizeof bytes, &error) > 0);
    lki_transport_close(transport);
    close(accepted);
    stop(&peer);
}

static void the_end_of_the_stream_is_broken_and_says_who_ended_it(void **state) {
    (void)state;
    int accepted;
    char byte;
    lki_error error = {0};
    test_peer peer = listen_on_tcp();
    lki_transport *transport = open_to(&peer, &accepted);
    close(accepted);
    wait_to(transport, false);
    assert_int_equal(lki_transport_read(transport, &byte, 1, &error), LKI_BROKEN);
    assert_int_equal(error.status, LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "redis://127.0.0.1:"));
    assert_non_null(strstr(error.text, "closed"));
    lki_transport_close(transport);
    stop(&peer);
}

static void writing_to_a_peer_that_closed_is_broken_and_no_signal(void **state) {
    (void)state;
    int accepted;
    ssize_t length;
    lki_error error = {0};
    test_peer peer = listen_on_path();
    signal(SIGPIPE, SIG_DFL); /* it may be ignored by whoever started this */
    lki_transport *transport = open_to(&peer, &accepted);
    close(accepted);
    do {
        length = lki_transport_write(transport, "x", 1, &error);
    } while (length > 0);
    assert_int_equal(length, LKI_BROKEN);
    assert_int_equal(error.status, LK_UNAVAILABLE);
    lki_transport_close(transport);
    stop(&peer);
}

/* ------------------------------------------------------------------------------------ sockets */

static int option_of(const lki_transport *transport, int level, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    assert_int_equal(getsockopt(lki_transport_fd(transport), level, name, &value, &length), 0);
    return value;
}

static void a_tcp_connection_neither_delays_nor_lingers(void **state) {
    (void)state;
    int accepted;
    test_peer peer = listen_on_tcp();
    lki_transport *transport = open_to(&peer, &accepted);
    assert_int_equal(option_of(transport, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option_of(transport, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_true(option_of(transport, IPPROTO_TCP, TCP_USER_TIMEOUT) > 0);
    lki_transport_close(transport);
    close(accepted);
    stop(&peer);
}

static void a_descriptor_is_not_inherited(void **state) {
    (void)state;
    int accepted;
    test_peer peer = listen_on_tcp();
    lki_transport *transport = open_to(&peer, &accepted);
    assert_true(fcntl(lki_transport_fd(transport), F_GETFD) & FD_CLOEXEC);
    lki_transport_close(transport);
    close(accepted);
    stop(&peer);
}

static lk_status open_seen(const test_peer *peer, int64_t ms, _Atomic int *fd_seen,
                           lki_transport **out) {
    lki_endpoint endpoint;
    lki_error error;
    assert_int_equal(lki_url_read(peer->url, NULL, &endpoint, &error), LK_OK);
    lk_status status = lki_transport_open(&endpoint, NULL, lki_after_ms(lki_now_us(), ms), -1,
                                          fd_seen, out, &error);
    lki_endpoint_clear(&endpoint);
    return status;
}

static void a_descriptor_is_seen_as_long_as_it_is_open(void **state) {
    (void)state;
    _Atomic int fd_seen = -1;
    lki_transport *transport = NULL;
    test_peer good = listen_on_tcp(), silent = listen_on_tcp();
    fill(&silent);
    assert_int_equal(open_seen(&good, LONG_MS, &fd_seen, &transport), LK_OK);
    assert_int_equal(fd_seen, lki_transport_fd(transport));
    lki_transport_close(transport);
    assert_int_equal(open_seen(&silent, SHORT_MS, &fd_seen, &transport), LK_UNAVAILABLE);
    assert_int_equal(fd_seen, -1);
    stop(&good);
    stop(&silent);
}

static void a_dropped_connection_is_closed_in_the_child_alone(void **state) {
    (void)state;
    int accepted, status;
    char byte;
    lki_error error;
    test_peer peer = listen_on_tcp();
    lki_transport *transport = open_to(&peer, &accepted);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = lki_transport_fd(transport);
        lki_transport_close_after_fork(transport);
        _exit(fcntl(fd, F_GETFD) == -1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lki_transport_write(transport, "x", 1, &error), 1);
    assert_int_equal(recv(accepted, &byte, 1, 0), 1);
    lki_transport_close(transport);
    close(accepted);
    stop(&peer);
}

static void closing_nothing_is_fine(void **state) {
    (void)state;
    lki_transport_close(NULL);
    lki_transport_close_after_fork(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways_over_tcp),
        cmocka_unit_test(bytes_go_both_ways_over_a_unix_socket),
        cmocka_unit_test(reading_nothing_would_block_and_waits_for_input),
        cmocka_unit_test(writing_would_block_until_the_peer_reads),
        cmocka_unit_test(the_end_of_the_stream_is_broken_and_says_who_ended_it),
        cmocka_unit_test(writing_to_a_peer_that_closed_is_broken_and_no_signal),
        cmocka_unit_test(a_tcp_connection_neither_delays_nor_lingers),
        cmocka_unit_test(a_descriptor_is_not_inherited),
        cmocka_unit_test(a_descriptor_is_seen_as_long_as_it_is_open),
        cmocka_unit_test(a_dropped_connection_is_closed_in_the_child_alone),
        cmocka_unit_test(closing_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
