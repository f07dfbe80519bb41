/*
 * TLS that must write in order to read: the server asks for new keys, and our part of that meets a
 * send buffer which is full. Whoever waits then must not wait for what will not come.
 */
#include "net/link.h"
#include "tls_world.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How many of our next writes find the buffer full. The server's do not come by here. */
static _Atomic int full;

/* In the place of the C library's. */
ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    if (full > 0 && flags & MSG_NOSIGNAL) {
        full--;
        errno = EAGAIN;
        return -1;
    }
    return syscall(SYS_sendto, fd, bytes, size, flags, NULL, 0);
}

/* ------------------------------------------------------------------------------------ a server */

static struct {
    int listening, turn; /* an eventfd: the server says one thing for each count */
    unsigned port;
    pthread_t thread;
} peer;

static void await_turn(void) {
    uint64_t count;
    while (read(peer.turn, &count, sizeof count) != sizeof count) {}
}

static void next_turn(void) {
    static const uint64_t one = 1;
    assert_int_equal(write(peer.turn, &one, sizeof one), sizeof one);
}

/* Asks for new keys and says A; then, at the next turn, B; and leaves at the one after that. */
static void *serve(void *context) {
    SSL_CTX *own = context;
    SSL *ssl = SSL_new(own);
    int fd = accept4(peer.listening, NULL, NULL, SOCK_CLOEXEC);
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) {
        SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(ssl);
        SSL_write(ssl, "+A\r\n", 4);
        await_turn();
        SSL_write(ssl, "+B\r\n", 4);
        await_turn();
    }
    SSL_free(ssl);
    close(fd);
    SSL_CTX_free(own);
    return NULL;
}

static lki_transport *connect_to_peer(void) {
    lki_transport *transport = NULL;
    lki_error error = {0};
    lki_tls_files files = trusting("ca.crt");
    SSL_CTX *own = SSL_CTX_new(TLS_server_method());
    assert_true(own && SSL_CTX_use_certificate_chain_file(own, file("here.crt")) == 1 &&
                SSL_CTX_use_PrivateKey_file(own, file("here.key"), SSL_FILETYPE_PEM) == 1);
    peer.turn = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    peer.listening = bind_any(&peer.port, 1);
    assert_int_equal(pthread_create(&peer.thread, NULL, serve, own), 0);
    if (open_to("localhost", peer.port, &files, &transport, &error) != LK_OK)
        fail_msg("%s", error.text);
    return transport;
}

static void end_peer(void) {
    next_turn();
    pthread_join(peer.thread, NULL);
    close(peer.listening);
    close(peer.turn);
}

/* -------------------------------------------------------------------------------- the tests */

static void a_write_that_gets_through_lets_reads_wait_for_input_again(void **state) {
    (void)state;
    char buffer[4];
    lki_error error = {0};
    lki_transport *transport = connect_to_peer();
    assert_int_equal(read_all(transport, buffer, sizeof buffer, &error), 0);
    full = 2;
    assert_int_equal(lki_transport_write(transport, "x", 1, &error), LKI_WOULD_BLOCK);
    assert_int_equal(lki_transport_read(transport, buffer, 1, &error), LKI_WOULD_BLOCK);
    assert_int_equal(lki_transport_events(transport, false), POLLOUT);
    assert_int_equal(lki_transport_write(transport, "x", 1, &error), 1);
    assert_int_equal(lki_transport_events(transport, false), POLLIN);
    next_turn();
    assert_int_equal(read_all(transport, buffer, sizeof buffer, &error), 0);
    assert_memory_equal(buffer, "+B\r\n", sizeof buffer);
    lki_transport_close(transport);
    end_peer();
}

static lki_caller caller;
static unsigned answers;

static void answered(lki_request *request, const redisReply *reply) {
    (void)request;
    answers += reply != NULL;
    caller.done = true;
    lki_caller_notify(&caller);
}

static void ignore(void *context) {
    (void)context;
}

static void ignore_end(void *context, const lki_error *error) {
    (void)context, (void)error;
}

static void ask(lki_link *link, lki_request *request) {
    request->complete = answered;
    lki_bytes_add(lki_link_begin(link), "PING\r\n", 6);
    assert_int_equal(lki_link_commit(link, request, lki_now_us()), LK_OK);
    caller.done = false;
}

/* A link on that connection, with the monitor held. */
static lki_link link_here;
static pthread_mutex_t monitor = PTHREAD_MUTEX_INITIALIZER;

static void attach(lki_transport *transport) {
    lki_link_events events = {.delivered = ignore,
                              .broken = ignore_end,
                              .unread = ignore,
                              .relieve = ignore,
                              .full = ignore};
    lki_error error = {0};
    lki_caller_init(&caller);
    answers = 0;
    assert_int_equal(lki_link_init(&link_here, &monitor, events, &error), LK_OK);
    pthread_mutex_lock(&monitor);
    assert_int_equal(lki_link_attach(&link_here, transport), LK_OK);
}

static void detach(void) {
    lki_error error;
    lki_error_set(&error, LK_CANCELED, "the test is over");
    lki_link_break(&link_here, &error);
    pthread_mutex_unlock(&monitor);
    lki_link_free(&link_here);
    lki_caller_clear(&caller);
}

static void a_driver_whose_read_waits_for_room_reads_when_there_is_some(void **state) {
    (void)state;
    lki_request requests[2];
    lki_transport *transport = connect_to_peer();
    attach(transport);
    ask(&link_here, &requests[0]);
    lki_link_wait(&link_here, &caller, lki_after_ms(lki_now_us(), LONG_MS));
    assert_int_equal(answers, 1); /* and with it came the wish for new keys */
    ask(&link_here, &requests[1]);
    next_turn();
    assert_true(wait_to(transport, false)); /* so that the driver reads before it writes again */
    full = 3;                               /* before waiting, before driving, and in the read */
    lki_link_wait(&link_here, &caller, lki_after_ms(lki_now_us(), LONG_MS / 4));
    assert_int_equal(answers, 2);
    detach();
    end_peer();
}

/* What the greeting read too much is not in the socket any more, and there is always room. */
static void a_driver_reads_what_was_put_back_without_waiting(void **state) {
    (void)state;
    char buffer[4];
    lki_request request;
    lki_error error = {0};
    lki_transport *transport = connect_to_peer();
    assert_int_equal(read_all(transport, buffer, sizeof buffer, &error), 0);
    assert_int_equal(lki_transport_put_back(transport, buffer, sizeof buffer, &error), LK_OK);
    attach(transport);
    ask(&link_here, &request);
    lki_link_wait(&link_here, &caller, lki_after_ms(lki_now_us(), LONG_MS / 4));
    assert_int_equal(answers, 1);
    detach();
    next_turn();
    end_peer();
}

static int make(void **state) {
    (void)state;
    return certificates_make() ? 0 : -1;
}

static int unmake(void **state) {
    (void)state;
    certificates_remove();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_that_gets_through_lets_reads_wait_for_input_again),
        cmocka_unit_test(a_driver_whose_read_waits_for_room_reads_when_there_is_some),
        cmocka_unit_test(a_driver_reads_what_was_put_back_without_waiting),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
