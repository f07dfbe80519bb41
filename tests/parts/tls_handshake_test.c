/*
 * The TLS handshake when it does not go well: with peers in this process that do what a server
 * would not, and without memory.
 */
#include "base/memory.h"
#include "tls_world.h"

#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SHORT_MS = 60 };

/* ------------------------------------------------------------------------------ strange peers */

/* What a peer does with the one connection that it accepts, once it has read something there. */
typedef struct {
    int listening, stop_fd;
    void (*act)(int fd, int stop_fd);
} strange_peer;

static void *be_strange(void *argument) {
    const strange_peer *peer = argument;
    char buffer[4096];
    int fd = accept4(peer->listening, NULL, NULL, SOCK_CLOEXEC);
    if (recv(fd, buffer, sizeof buffer, 0) > 0)
        peer->act(fd, peer->stop_fd);
    close(fd);
    return NULL;
}

/* Opens to such a peer; the sentence has these words in it. */
static void assert_strange(void (*act)(int, int), int64_t deadline_us, lk_status status,
                           const char *words) {
    unsigned port;
    int stop[2];
    pthread_t thread;
    lki_transport *transport = NULL;
    lki_error error = {0};
    lki_tls_files files = trusting("ca.crt");
    assert_int_equal(pipe(stop), 0);
    strange_peer peer = {bind_any(&port, 1), stop[1], act};
    assert_int_equal(pthread_create(&thread, NULL, be_strange, &peer), 0);
    assert_int_equal(
        open_until("127.0.0.1", port, &files, deadline_us, stop[0], &transport, &error), status);
    if (!strstr(error.text, words))
        fail_msg("expected '%s' in: %s", words, error.text);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close(peer.listening);
    close(stop[0]);
    close(stop[1]);
}

static void wait_for_the_end(int fd) {
    char buffer[4096];
    while (recv(fd, buffer, sizeof buffer, 0) > 0) {}
}

static void answer_plainly(int fd, int stop_fd) {
    static const char answer[] = "-ERR unknown command\r\n";
    (void)stop_fd;
    send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL);
    wait_for_the_end(fd);
}

static void say_nothing(int fd, int stop_fd) {
    (void)stop_fd;
    wait_for_the_end(fd);
}

static void stop_the_other(int fd, int stop_fd) {
    assert_int_equal(write(stop_fd, "x", 1), 1);
    wait_for_the_end(fd);
}

static void hang_up(int fd, int stop_fd) {
    (void)fd, (void)stop_fd;
}

/* A record of 16 KB, a byte each millisecond. */
static void trickle(int fd, int stop_fd) {
    static const char head[] = {22, 3, 3, 64, 0, 2, 0, 63, 0};
    (void)stop_fd;
    send(fd, head, sizeof head, MSG_NOSIGNAL);
    while (send(fd, "", 1, MSG_NOSIGNAL) == 1)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void a_port_without_tls_is_told_plainly(void **state) {
    (void)state;
    assert_strange(answer_plainly, lki_after_ms(lki_now_us(), LONG_MS), LK_UNAVAILABLE,
                   "does not speak TLS");
}

static void the_deadline_ends_a_handshake_that_nobody_answers(void **state) {
    (void)state;
    int64_t start_us = lki_now_us();
    assert_strange(say_nothing, lki_after_ms(start_us, SHORT_MS), LK_UNAVAILABLE,
                   "did not answer the TLS handshake in time");
    assert_true(lki_now_us() - start_us >= SHORT_MS * 1000);
}

static void the_deadline_ends_a_handshake_that_trickles(void **state) {
    (void)state;
    assert_strange(trickle, lki_after_ms(lki_now_us(), SHORT_MS), LK_UNAVAILABLE,
                   "did not answer the TLS handshake in time");
}

static void the_stop_descriptor_breaks_off_a_handshake(void **state) {
    (void)state;
    assert_strange(stop_the_other, LKI_NEVER, LK_CANCELED, "was stopped");
}

static void a_peer_that_hangs_up_in_the_handshake_is_told_plainly(void **state) {
    (void)state;
    assert_strange(hang_up, lki_after_ms(lki_now_us(), LONG_MS), LK_UNAVAILABLE,
                   "in the TLS handshake");
}

/* -------------------------------------------------------------------------------------- memory */

static int allocations, refused_one;

static bool refuses(void) {
    return ++allocations == refused_one;
}

static void each_allocation_of_opening_may_fail(void **state) {
    (void)state;
    char url[64];
    lki_transport *transport = NULL;
    lki_error error = {0};
    lki_endpoint endpoint;
    lki_tls_files files = trusting("hashed");
    snprintf(url, sizeof url, "rediss://localhost:%u", here.port);
    assert_int_equal(lki_url_read(url, NULL, &endpoint, &error), LK_OK);
    for (refused_one = 1; !transport; refused_one++) {
        allocations = 0;
        lki_memory_refuse(refuses);
        lk_status status = lki_transport_open(
            &endpoint, &files, lki_after_ms(lki_now_us(), LONG_MS), -1, NULL, &transport, &error);
        lki_memory_refuse(NULL);
        assert_int_equal(status, allocations >= refused_one ? LK_NOMEM : LK_OK);
    }
    assert_true(refused_one > 5);
    lki_transport_close(transport);
    lki_endpoint_clear(&endpoint);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_without_tls_is_told_plainly),
        cmocka_unit_test(the_deadline_ends_a_handshake_that_nobody_answers),
        cmocka_unit_test(the_deadline_ends_a_handshake_that_trickles),
        cmocka_unit_test(the_stop_descriptor_breaks_off_a_handshake),
        cmocka_unit_test(a_peer_that_hangs_up_in_the_handshake_is_told_plainly),
        cmocka_unit_test(each_allocation_of_opening_may_fail),
    };
    return cmocka_run_group_tests(tests, start_here, stop_here);
}
