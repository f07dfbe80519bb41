/*
 * Bytes over TLS, once it is there: both ways at a time, more than fits, none at all, and from a
 * server that is gone.
 */
#include "test_memory.h"
#include "tls_world.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ECHO_SIZE = 256 * 1024, ECHO_COUNT = 24 };

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
        lki_transport_close_after_fork(transport);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(ping(transport, &error));
    lki_transport_close(transport);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_reads_while_another_writes),
        cmocka_unit_test(a_write_that_did_not_fit_goes_on_from_another_place),
        cmocka_unit_test(reading_nothing_would_block_and_waits_for_input),
        cmocka_unit_test(a_server_that_dies_breaks_reads_and_writes_without_a_signal),
        cmocka_unit_test(a_connection_that_a_child_dropped_goes_on_in_the_parent),
    };
    return cmocka_run_group_tests(tests, start_here, stop_here);
}
