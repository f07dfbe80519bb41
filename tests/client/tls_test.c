/*
 * TLS against real servers, with certificates made for this run: who is trusted, who is refused and
 * in which words, and that bytes go through. Peers in this process do what a server would not.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "net/transport.h"
#include "net/url.h"
#include "test_memory.h"
#include "tls_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SHORT_MS = 60, LONG_MS = 20000 };
enum { ECHO_SIZE = 256 * 1024, ECHO_COUNT = 24 };

/* ------------------------------------------------------------------------------------ servers */

static tcp_server here, elsewhere; /* named by their certificates; they run all the time */

static char *file(const char *name) {
    return certificate_file(name);
}

static int bind_any(unsigned *port, int backlog) {
    int fd = bind_any_port(port, backlog);
    assert_true(fd >= 0);
    return fd;
}

static tcp_server start_server(const char *certificate, const char *auth, const char *protocols) {
    tcp_server made = tls_server_start(certificate, auth, protocols);
    assert_non_null(made.server);
    return made;
}

static int start_all(void **state) {
    (void)state;
    assert_true(certificates_make());
    here = start_server("here", "no", NULL);
    elsewhere = start_server("elsewhere", "no", NULL);
    return 0;
}

static int stop_all(void **state) {
    (void)state;
    test_server_stop(here.server);
    test_server_stop(elsewhere.server);
    certificates_remove();
    return 0;
}

/* -------------------------------------------------------------------------------- connections */

static lk_status open_until(const char *host, unsigned port, const lki_tls_files *files,
                            int64_t deadline_us, int stop_fd, lki_transport **out,
                            lki_error *error) {
    char url[128];
    lki_endpoint endpoint;
    snprintf(url, sizeof url, "rediss://ann:hunter2@%s:%u", host, port);
    assert_int_equal(lki_url_read(url, NULL, &endpoint, error), LK_OK);
    lk_status status = lki_transport_open(&endpoint, files, deadline_us, stop_fd, out, error);
    if (status != LK_OK) {
        assert_int_equal(error->status, status);
        assert_null(strstr(error->text, "hunter2"));
    }
    assert_int_equal(ERR_peek_error(), 0);
    lki_endpoint_clear(&endpoint);
    return status;
}

static lk_status open_to(const char *host, unsigned port, const lki_tls_files *files,
                         lki_transport **out, lki_error *error) {
    return open_until(host, port, files, lki_after_ms(lki_now_us(), LONG_MS), -1, out, error);
}

static bool wait_to(const lki_transport *transport, bool write) {
    struct pollfd polled = {lki_transport_fd(transport), lki_transport_events(transport, write), 0};
    return poll(&polled, 1, LONG_MS) == 1;
}

/* 0, or LKI_BROKEN. */
static ssize_t write_all(lki_transport *transport, const char *bytes, size_t size,
                         lki_error *error) {
    while (size > 0) {
        ssize_t length = lki_transport_write(transport, bytes, size, error);
        if (length == LKI_BROKEN)
            return length;
        if (length == LKI_WOULD_BLOCK && !wait_to(transport, true))
            return lki_error_set(error, LK_INTERNAL, "no room to write"), LKI_BROKEN;
        bytes += length > 0 ? length : 0;
        size -= length > 0 ? (size_t)length : 0;
    }
    return 0;
}

static ssize_t read_all(lki_transport *transport, char *buffer, size_t size, lki_error *error) {
    while (size > 0) {
        ssize_t length = lki_transport_read(transport, buffer, size, error);
        if (length == LKI_BROKEN)
            return length;
        if (length == LKI_WOULD_BLOCK && !wait_to(transport, false))
            return lki_error_set(error, LK_INTERNAL, "nothing to read"), LKI_BROKEN;
        buffer += length > 0 ? length : 0;
        size -= length > 0 ? (size_t)length : 0;
    }
    return 0;
}

static bool ping(lki_transport *transport, lki_error *error) {
    char answer[7];
    return write_all(transport, "PING\r\n", 6, error) == 0 &&
           read_all(transport, answer, sizeof answer, error) == 0 &&
           memcmp(answer, "+PONG\r\n", sizeof answer) == 0;
}

static void assert_works(const char *host, unsigned port, const lki_tls_files *files) {
    lki_transport *transport = NULL;
    lki_error error = {0};
    if (open_to(host, port, files, &transport, &error) != LK_OK || !ping(transport, &error))
        fail_msg("%s:%u: %s", host, port, error.text);
    lki_transport_close(transport);
}

/* Refused while opening, with these words and the server's name in the sentence. */
static void assert_refused(const char *host, unsigned port, const lki_tls_files *files,
                           lk_status status, const char *words) {
    char shown[64];
    lki_transport *transport = NULL;
    lki_error error = {0};
    snprintf(shown, sizeof shown, "rediss://ann@%s:%u", host, port);
    assert_int_equal(open_to(host, port, files, &transport, &error), status);
    assert_null(transport);
    if (!strstr(error.text, words) || (status != LK_INVALID && !strstr(error.text, shown)))
        fail_msg("expected '%s' of %s in: %s", words, shown, error.text);
}

static lki_tls_files trusting(const char *name) {
    return (lki_tls_files){.ca = file(name)};
}

/* -------------------------------------------------------------------------- their certificate */

static void a_trusted_server_with_the_right_name_answers(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    assert_works("localhost", here.port, &files);
}

static void an_address_in_the_certificate_is_a_name_too(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    assert_works("127.0.0.1", here.port, &files);
}

static void a_folder_of_issuers_can_be_trusted(void **state) {
    (void)state;
    lki_tls_files files = trusting("hashed");
    assert_works("localhost", here.port, &files);
}

static void a_folder_without_hashed_names_is_explained(void **state) {
    (void)state;
    lki_tls_files files = trusting("plain");
    assert_refused("localhost", here.port, &files, LK_DENIED, "openssl rehash");
}

static void a_certificate_for_another_host_is_refused(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    assert_refused("localhost", elsewhere.port, &files, LK_DENIED, "hostname mismatch");
}

static void a_certificate_for_another_address_is_refused(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    assert_refused("127.0.0.1", elsewhere.port, &files, LK_DENIED, "IP address mismatch");
}

static void the_expected_name_can_be_another_than_the_host(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    files.server_name = "elsewhere.test";
    assert_works("127.0.0.1", elsewhere.port, &files);
    assert_refused("localhost", here.port, &files, LK_DENIED, "hostname mismatch");
}

static void a_name_that_would_match_everything_is_invalid(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    files.server_name = "";
    assert_refused("localhost", here.port, &files, LK_INVALID, "tls_server_name");
    files.server_name = ".test";
    assert_refused("localhost", elsewhere.port, &files, LK_INVALID, "tls_server_name");
}

static void a_certificate_of_an_unknown_issuer_is_refused(void **state) {
    (void)state;
    lki_tls_files files = trusting("other.crt");
    assert_refused("localhost", here.port, &files, LK_DENIED, "in certificate chain");
}

static void only_the_issuers_of_the_system_are_trusted_by_default(void **state) {
    (void)state;
    lki_tls_files files = {0};
    assert_refused("localhost", here.port, &files, LK_DENIED, "set tls_ca");
    assert_refused("localhost", here.port, NULL, LK_DENIED, "set tls_ca");
}

static void an_expired_certificate_is_refused(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    tcp_server expired = start_server("expired", "no", NULL);
    assert_refused("localhost", expired.port, &files, LK_DENIED, "certificate has expired");
    test_server_stop(expired.server);
}

/* ---------------------------------------------------------------------------- our certificate */

static const char *const protocols[] = {"TLSv1.2", "TLSv1.3"};

static void a_server_gets_the_certificate_that_it_demands(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        tcp_server strict = start_server("here", "yes", protocols[i]);
        lki_tls_files files = trusting("ca.crt");
        files.cert = file("client.crt");
        files.key = file("client.key");
        assert_works("localhost", strict.port, &files);
        test_server_stop(strict.server);
    }
}

static void the_key_may_be_in_the_file_of_the_certificate(void **state) {
    (void)state;
    tcp_server strict = start_server("here", "yes", NULL);
    lki_tls_files files = trusting("ca.crt");
    files.cert = file("client.both");
    assert_works("localhost", strict.port, &files);
    test_server_stop(strict.server);
}

/* In TLS 1.3 the refusal comes after the handshake, as the answer to what was written first. */
static void assert_we_are_refused(const lki_tls_files *files, const char *words) {
    for (int i = 0; i < 2; i++) {
        lki_transport *transport = NULL;
        lki_error error = {0};
        tcp_server strict = start_server("here", "yes", protocols[i]);
        if (open_to("localhost", strict.port, files, &transport, &error) == LK_OK)
            assert_false(ping(transport, &error));
        if (error.status != LK_DENIED || !strstr(error.text, words))
            fail_msg("%s: %s", protocols[i], error.text);
        lki_transport_close(transport);
        test_server_stop(strict.server);
    }
}

static void a_client_without_a_certificate_is_told_to_set_one(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    assert_we_are_refused(&files, "set tls_cert");
}

static void a_client_with_a_certificate_of_a_stranger_is_told_so(void **state) {
    (void)state;
    lki_tls_files files = trusting("ca.crt");
    files.cert = file("stranger.crt");
    files.key = file("stranger.key");
    assert_we_are_refused(&files, "must trust the issuer of tls_cert");
}

static void a_write_that_notices_the_refusal_first_tells_it_too(void **state) {
    (void)state;
    ssize_t length;
    lki_transport *transport = NULL;
    lki_error error = {0};
    lki_tls_files files = trusting("ca.crt");
    tcp_server strict = start_server("here", "yes", "TLSv1.3");
    assert_int_equal(open_to("localhost", strict.port, &files, &transport, &error), LK_OK);
    assert_true(wait_to(transport, false));
    do {
        length = lki_transport_write(transport, "PING\r\n", 6, &error);
    } while (length > 0);
    assert_int_equal(length, LKI_BROKEN);
    assert_int_equal(error.status, LK_DENIED);
    lki_transport_close(transport);
    test_server_stop(strict.server);
}

/* -------------------------------------------------------------------------------------- files */

static void a_missing_file_is_invalid_and_named(void **state) {
    (void)state;
    lki_tls_files files = trusting("missing.crt");
    assert_refused("localhost", here.port, &files, LK_INVALID, file("missing.crt"));
    files = (lki_tls_files){.ca = file("ca.crt"), .cert = file("missing.crt")};
    assert_refused("localhost", here.port, &files, LK_INVALID, file("missing.crt"));
    assert_refused("localhost", here.port, &files, LK_INVALID, "No such file");
    files.cert = file("client.crt");
    files.key = file("missing.key");
    assert_refused("localhost", here.port, &files, LK_INVALID, file("missing.key"));
}

static void a_file_of_something_else_is_invalid_and_named(void **state) {
    (void)state;
    lki_tls_files files = trusting("garbage");
    assert_refused("localhost", here.port, &files, LK_INVALID, file("garbage"));
    files = (lki_tls_files){.ca = file("ca.crt"), .cert = file("garbage")};
    assert_refused("localhost", here.port, &files, LK_INVALID, file("garbage"));
}

static void a_key_that_does_not_fit_is_invalid(void **state) {
    (void)state;
    lki_tls_files files = {
        .ca = file("ca.crt"), .cert = file("client.crt"), .key = file("here.key")};
    assert_refused("localhost", here.port, &files, LK_INVALID, "tls_key, the file");
    files.key = NULL;
    assert_refused("localhost", here.port, &files, LK_INVALID, "key that belongs to tls_cert");
}

static void a_locked_key_is_invalid_and_nobody_is_asked_for_a_passphrase(void **state) {
    (void)state;
    lki_tls_files files = {
        .ca = file("ca.crt"), .cert = file("client.crt"), .key = file("client.locked")};
    assert_refused("localhost", here.port, &files, LK_INVALID, file("client.locked"));
}

static void a_key_without_a_certificate_is_invalid(void **state) {
    (void)state;
    lki_tls_files files = {.ca = file("ca.crt"), .key = file("client.key")};
    assert_refused("localhost", here.port, &files, LK_INVALID, "tls_cert");
}

static void files_are_read_before_anybody_is_connected(void **state) {
    (void)state;
    unsigned port;
    int nobody = bind_any(&port, 0);
    lki_tls_files files = trusting("missing.crt");
    assert_refused("localhost", port, &files, LK_INVALID, file("missing.crt"));
    files = trusting("ca.crt");
    assert_refused("localhost", port, &files, LK_UNAVAILABLE, "Connection refused");
    close(nobody);
}

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
                   "TLS handshake is not answered in time");
    assert_true(lki_now_us() - start_us >= SHORT_MS * 1000);
}

static void the_deadline_ends_a_handshake_that_trickles(void **state) {
    (void)state;
    assert_strange(trickle, lki_after_ms(lki_now_us(), SHORT_MS), LK_UNAVAILABLE,
                   "TLS handshake is not answered in time");
}

static void the_stop_descriptor_breaks_off_a_handshake(void **state) {
    (void)state;
    assert_strange(stop_the_other, LKI_NEVER, LK_CANCELED, "broken off");
}

static void a_peer_that_hangs_up_in_the_handshake_is_told_plainly(void **state) {
    (void)state;
    assert_strange(hang_up, lki_after_ms(lki_now_us(), LONG_MS), LK_UNAVAILABLE,
                   "in the TLS handshake");
}

/* -------------------------------------------------------------------------------------- bytes */

typedef struct {
    lki_transport *transport;
    const char *request;
    size_t size;
    lki_error error;
    ssize_t result;
} writing;

static void *write_many(void *argument) {
    writing *job = argument;
    for (int i = 0; i < ECHO_COUNT && job->result == 0; i++)
        job->result = write_all(job->transport, job->request, job->size, &job->error);
    return NULL;
}

/* An ECHO of that many bytes, and the answer to it. */
static void make_echo(int size, test_text *request, test_text *answer) {
    test_text_print(answer, "$%d\r\n", size);
    for (int i = 0; i < size; i++)
        test_text_add(answer, &(char){(char)(i * 7 + i / 251)}, 1);
    test_text_add(answer, "\r\n", 2);
    test_text_print(request, "*2\r\n$4\r\nECHO\r\n");
    test_text_add(request, answer->bytes, answer->length);
}

static void assert_answered(lki_transport *transport, const test_text *answer) {
    lki_error error = {0};
    char *got = test_alloc(answer->length, 1);
    if (read_all(transport, got, answer->length, &error) != 0)
        fail_msg("%s", error.text);
    assert_memory_equal(got, answer->bytes, answer->length);
    free(got);
}

static void one_thread_reads_while_another_writes(void **state) {
    (void)state;
    pthread_t thread;
    writing job = {0};
    lki_error error = {0};
    lki_tls_files files = trusting("ca.crt");
    test_text answer = {0}, request = {0};
    make_echo(ECHO_SIZE, &request, &answer);
    assert_int_equal(open_to("localhost", here.port, &files, &job.transport, &error), LK_OK);
    job.request = request.bytes;
    job.size = request.length;
    assert_int_equal(pthread_create(&thread, NULL, write_many, &job), 0);
    for (int i = 0; i < ECHO_COUNT; i++)
        assert_answered(job.transport, &answer);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(job.result, 0);
    lki_transport_close(job.transport);
    free(answer.bytes);
    free(request.bytes);
}

static void a_write_that_did_not_fit_goes_on_from_another_place(void **state) {
    (void)state;
    ssize_t length = 0;
    size_t done = 0;
    lki_transport *transport = NULL;
    lki_error error = {0};
    lki_tls_files files = trusting("ca.crt");
    test_text answer = {0}, request = {0};
    make_echo(ECHO_COUNT * ECHO_SIZE, &request, &answer);
    assert_int_equal(open_to("localhost", here.port, &files, &transport, &error), LK_OK);
    assert_int_equal(kill(test_server_pid(here.server), SIGSTOP), 0);
    while (length >= 0) {
        done += (size_t)length;
        assert_true(done < request.length);
        length =
            lki_transport_write(transport, request.bytes + done, request.length - done, &error);
    }
    assert_int_equal(kill(test_server_pid(here.server), SIGCONT), 0);
    assert_int_equal(length, LKI_WOULD_BLOCK);
    char *rest = test_copy(request.bytes + done, request.length - done);
    assert_int_equal(write_all(transport, rest, request.length - done, &error), 0);
    assert_answered(transport, &answer);
    lki_transport_close(transport);
    free(rest);
    free(answer.bytes);
    free(request.bytes);
}

static void reading_nothing_would_block_and_waits_for_input(void **state) {
    (void)state;
    char byte;
    lki_transport *transport = NULL;
    lki_error error = {0};
    lki_tls_files files = trusting("ca.crt");
    assert_int_equal(open_to("localhost", here.port, &files, &transport, &error), LK_OK);
    assert_true(ping(transport, &error));
    assert_int_equal(lki_transport_read(transport, &byte, 1, &error), LKI_WOULD_BLOCK);
    assert_int_equal(lki_transport_events(transport, false), POLLIN);
    assert_int_equal(lki_transport_events(transport, true), POLLOUT);
    lki_transport_close(transport);
}

static void a_server_that_dies_breaks_reads_and_writes_without_a_signal(void **state) {
    (void)state;
    char byte;
    ssize_t length;
    lki_transport *transport = NULL;
    lki_error error = {0};
    lki_tls_files files = trusting("ca.crt");
    tcp_server mortal = start_server("here", "no", NULL);
    signal(SIGPIPE, SIG_DFL); /* it may be ignored by whoever started this */
    assert_int_equal(open_to("localhost", mortal.port, &files, &transport, &error), LK_OK);
    assert_true(ping(transport, &error));
    test_server_stop(mortal.server);
    assert_true(wait_to(transport, false));
    assert_int_equal(lki_transport_read(transport, &byte, 1, &error), LKI_BROKEN);
    assert_int_equal(error.status, LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "has closed the connection"));
    do {
        length = lki_transport_write(transport, "x", 1, &error);
    } while (length > 0);
    assert_int_equal(length, LKI_BROKEN);
    lki_transport_close(transport);
}

static void a_connection_that_a_child_dropped_goes_on_in_the_parent(void **state) {
    (void)state;
    int status;
    lki_transport *transport = NULL;
    lki_error error = {0};
    lki_tls_files files = trusting("ca.crt");
    assert_int_equal(open_to("localhost", here.port, &files, &transport, &error), LK_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        lki_transport_drop(transport);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(ping(transport, &error));
    lki_transport_close(transport);
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
            &endpoint, &files, lki_after_ms(lki_now_us(), LONG_MS), -1, &transport, &error);
        lki_memory_refuse(NULL);
        assert_int_equal(status, allocations >= refused_one ? LK_NOMEM : LK_OK);
    }
    assert_true(refused_one > 5);
    lki_transport_close(transport);
    lki_endpoint_clear(&endpoint);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trusted_server_with_the_right_name_answers),
        cmocka_unit_test(an_address_in_the_certificate_is_a_name_too),
        cmocka_unit_test(a_folder_of_issuers_can_be_trusted),
        cmocka_unit_test(a_folder_without_hashed_names_is_explained),
        cmocka_unit_test(a_certificate_for_another_host_is_refused),
        cmocka_unit_test(a_certificate_for_another_address_is_refused),
        cmocka_unit_test(the_expected_name_can_be_another_than_the_host),
        cmocka_unit_test(a_name_that_would_match_everything_is_invalid),
        cmocka_unit_test(a_certificate_of_an_unknown_issuer_is_refused),
        cmocka_unit_test(only_the_issuers_of_the_system_are_trusted_by_default),
        cmocka_unit_test(an_expired_certificate_is_refused),
        cmocka_unit_test(a_server_gets_the_certificate_that_it_demands),
        cmocka_unit_test(the_key_may_be_in_the_file_of_the_certificate),
        cmocka_unit_test(a_client_without_a_certificate_is_told_to_set_one),
        cmocka_unit_test(a_client_with_a_certificate_of_a_stranger_is_told_so),
        cmocka_unit_test(a_write_that_notices_the_refusal_first_tells_it_too),
        cmocka_unit_test(a_missing_file_is_invalid_and_named),
        cmocka_unit_test(a_file_of_something_else_is_invalid_and_named),
        cmocka_unit_test(a_key_that_does_not_fit_is_invalid),
        cmocka_unit_test(a_locked_key_is_invalid_and_nobody_is_asked_for_a_passphrase),
        cmocka_unit_test(a_key_without_a_certificate_is_invalid),
        cmocka_unit_test(files_are_read_before_anybody_is_connected),
        cmocka_unit_test(a_port_without_tls_is_told_plainly),
        cmocka_unit_test(the_deadline_ends_a_handshake_that_nobody_answers),
        cmocka_unit_test(the_deadline_ends_a_handshake_that_trickles),
        cmocka_unit_test(the_stop_descriptor_breaks_off_a_handshake),
        cmocka_unit_test(a_peer_that_hangs_up_in_the_handshake_is_told_plainly),
        cmocka_unit_test(one_thread_reads_while_another_writes),
        cmocka_unit_test(a_write_that_did_not_fit_goes_on_from_another_place),
        cmocka_unit_test(reading_nothing_would_block_and_waits_for_input),
        cmocka_unit_test(a_server_that_dies_breaks_reads_and_writes_without_a_signal),
        cmocka_unit_test(a_connection_that_a_child_dropped_goes_on_in_the_parent),
        cmocka_unit_test(each_allocation_of_opening_may_fail),
    };
    return cmocka_run_group_tests(tests, start_all, stop_all);
}
