/*
 * A link on a Unix socket, and the other end of it in the hands of the test: callers are threads,
 * and the server is whatever the test reads and writes there.
 */
#ifndef LINK_WORLD_H
#define LINK_WORLD_H

#include "base/clock.h"
#include "base/memory.h"
#include "net/connection.h"
#include "net/link.h"
#include "net/resp.h"

#include "resp.h"
#include "unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { CALLS = 64, LONG_MS = 20000, SHORT_MS = 40, TEXT_MOST = 64 };

/* A request and the caller who waits for it. Under the monitor while it is on its way. */
typedef struct {
    lki_request request;
    lki_caller caller;
    char text[TEXT_MOST], answer[TEXT_MOST];
    unsigned completions;
    bool cut; /* completed with nothing */
    int64_t until_us;
    bool is_back;
    pthread_t thread;
} call;

/* It knows who holds it: a test that fails may still do so when it is torn down. */
static pthread_mutex_t monitor = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static lki_link line;
static unix_listener listener;
static int peer; /* the server's end of the connection */
static test_text peer_got;
static call calls[CALLS];

/* What the link told; under the monitor. */
static unsigned broken_count, unread_count, delivered_count, relieve_count, full_count, push_count;
static unsigned completed_before_broken;
static lki_error broken_error;
static char pushed[TEXT_MOST];

static inline void lock(void) {
    pthread_mutex_lock(&monitor);
}

static inline void unlock(void) {
    pthread_mutex_unlock(&monitor);
}

static inline int64_t after_ms(int64_t ms) {
    return lki_after_ms(lki_now_us(), ms);
}

/* -------------------------------------------------------------------------------- events, set up
 */

static inline void on_push(void *context, const redisReply *reply) {
    (void)context;
    push_count++;
    snprintf(pushed, sizeof pushed, "%s", reply->element[2]->str);
}

static inline void on_broken(void *context, const lki_error *error) {
    (void)context;
    broken_count++;
    broken_error = *error;
    for (size_t i = 0; i < CALLS; i++)
        completed_before_broken += calls[i].completions;
}

static inline void on_unread(void *context) {
    (void)context;
    unread_count++;
}

static inline void on_full(void *context) {
    (void)context;
    full_count++;
}

static inline void on_relieve(void *context) {
    (void)context;
    relieve_count++;
}

static inline lki_transport *connect_to_peer(void) {
    lki_endpoint endpoint = {.path = listener.path, .shown = listener.path};
    lki_tls_files no_tls = {0};
    lki_transport *transport = NULL;
    lki_error error;
    if (lki_transport_open(&endpoint, &no_tls, after_ms(LONG_MS), -1, NULL, &transport, &error) !=
        LK_OK)
        fail_msg("%s", error.text);
    peer = unix_listener_accept(&listener);
    assert_true(peer >= 0);
    return transport;
}

static inline void hang_up(void) {
    unix_close(peer);
    peer = -1;
    free(peer_got.bytes);
    peer_got = (test_text){0};
}

static inline void on_delivered(void *context) {
    (void)context;
    delivered_count++;
}

static inline void set_up_with(bool push) {
    lki_link_events events = {
        push ? on_push : NULL, on_delivered, on_broken, on_unread, on_relieve, on_full, NULL};
    lki_error error;
    for (size_t i = 0; i < CALLS; i++) {
        calls[i] = (call){0};
        lki_caller_init(&calls[i].caller);
    }
    broken_count = unread_count = relieve_count = full_count = push_count =
        completed_before_broken = 0;
    *pushed = 0;
    assert_true(unix_listener_open(&listener));
    assert_int_equal(lki_link_init(&line, &monitor, events, &error), LK_OK);
    assert_int_equal(lki_link_attach(&line, connect_to_peer()), LK_OK);
}

static inline int set_up(void **state) {
    (void)state;
    set_up_with(false);
    return 0;
}

static inline int set_up_for_messages(void **state) {
    (void)state;
    set_up_with(true);
    return 0;
}

static inline void break_line(void) {
    lki_error error;
    lki_error_set(&error, LK_CANCELED, "the test is over");
    lki_link_break(&line, &error);
}

static inline int tear_down(void **state) {
    (void)state;
    lock();
    break_line();
    lki_link_keeper_leave(&line);
    unlock();
    lki_link_free(&line);
    for (size_t i = 0; i < CALLS; i++)
        lki_caller_clear(&calls[i].caller);
    hang_up();
    unix_listener_close(&listener);
    return 0;
}

/* --------------------------------------------------------------------------------------- callers
 */

static inline void completed(lki_request *request, const redisReply *reply) {
    call *c = (call *)request;
    c->completions++;
    c->cut = !reply;
    if (reply && reply->str)
        snprintf(c->answer, sizeof c->answer, "%s", reply->str);
    else if (reply && reply->elements)
        snprintf(c->answer, sizeof c->answer, "%s...", reply->element[0]->str);
    c->caller.done = true;
    lki_caller_notify(&c->caller);
}

static inline void add_echo(lki_bytes *out, const char *text) {
    lki_resp_command(out, 2);
    lki_resp_text(out, "ECHO");
    lki_resp_text(out, text);
}

/* Puts the request behind the others; with the monitor. */
static inline call *submit(size_t which, const char *text) {
    call *c = &calls[which];
    snprintf(c->text, sizeof c->text, "%s", text);
    c->request.complete = completed;
    add_echo(lki_link_begin(&line), text);
    if (lki_link_commit(&line, &c->request, lki_now_us()) != LK_OK)
        abort();
    return c;
}

static inline void *run_call(void *context) {
    call *c = context;
    lock();
    lki_link_wait(&line, &c->caller, c->until_us);
    c->is_back = true;
    unlock();
    return NULL;
}

/* A thread that waits for the answer to its request, which is committed before this returns. */
static inline void start_call(size_t which, const char *text, int64_t ms) {
    lock();
    submit(which, text)->until_us = after_ms(ms);
    unlock();
    assert_int_equal(pthread_create(&calls[which].thread, NULL, run_call, &calls[which]), 0);
}

static inline void join_call(size_t which) {
    pthread_join(calls[which].thread, NULL);
}

static inline void assert_answered(size_t which, const char *answer) {
    assert_int_equal(calls[which].completions, 1);
    assert_false(calls[which].cut);
    assert_string_equal(calls[which].answer, answer);
}

static inline void assert_cut(size_t which) {
    assert_int_equal(calls[which].completions, 1);
    assert_true(calls[which].cut);
}

static inline void assert_on_its_way(size_t which) {
    assert_int_equal(calls[which].completions, 0);
}

static inline void wait_until(bool (*holds)(void)) {
    int64_t deadline_us = after_ms(LONG_MS);
    for (;;) {
        lock();
        bool held = holds();
        unlock();
        if (held)
            return;
        assert_true(lki_now_us() < deadline_us);
        sched_yield();
    }
}

/* And is in I/O, as the monitor is free. */
static inline bool somebody_drives(void) {
    return line.connection && line.connection->driver;
}

static inline bool somebody_sleeps(void) {
    return line.sleepers && line.sleepers->asleep;
}

/* Call 0 drives, and call 1 sleeps beside it. */
static inline bool first_drives(void) {
    return somebody_drives() || calls[0].is_back;
}

static inline bool second_waits(void) {
    return somebody_sleeps() || line.connection->driver == &calls[1].caller || calls[1].is_back;
}

/* On a machine that stands still, the time of one may be up before the other is there. */
static inline void start_driver_and_sleeper(int64_t driver_ms, int64_t sleeper_ms) {
    start_call(0, "a", driver_ms);
    wait_until(first_drives);
    start_call(1, "b", sleeper_ms);
    wait_until(second_waits);
}

/* ------------------------------------------------------------------------------------- the peer */

static inline void peer_wait(short events) {
    struct pollfd polled = {peer, events, 0};
    assert_int_equal(poll(&polled, 1, LONG_MS), 1);
}

static inline void peer_send_bytes(const char *bytes, size_t length) {
    test_text text = {0};
    test_text_add(&text, bytes, length);
    while (text.length) {
        peer_wait(POLLOUT);
        assert_true(unix_send(peer, &text, text.length));
    }
    free(text.bytes);
}

static inline void peer_send(const char *text) {
    peer_send_bytes(text, strlen(text));
}

/* Takes the next command off what came; its second word begins with this text. */
static inline void peer_expect(const char *text) {
    resp_command command;
    size_t length;
    while (!(length = resp_command_read(&command, peer_got.bytes, peer_got.length))) {
        peer_wait(POLLIN);
        assert_true(unix_receive(peer, &peer_got));
    }
    assert_true(length != RESP_BROKEN);
    assert_int_equal(command.count, 2);
    assert_string_equal(command.words[0], "ECHO");
    if (strncmp(command.words[1], text, strlen(text)) != 0)
        fail_msg("%.20s came in the place of %s", command.words[1], text);
    resp_command_clear(&command);
    unix_text_cut(&peer_got, length);
}

/* A server that answers each command with its second word, and reads nothing while it writes. */
static inline void *echo_all(void *context) {
    int fd = *(const int *)context;
    test_text got = {0};
    for (;;) {
        char bytes[4096];
        resp_command command;
        size_t length;
        ssize_t received = recv(fd, bytes, sizeof bytes, 0);
        if (received <= 0)
            break;
        test_text_add(&got, bytes, (size_t)received);
        while ((length = resp_command_read(&command, got.bytes, got.length)) != 0) {
            test_text reply = {0};
            resp_add_bulk(&reply, command.words[1], strlen(command.words[1]));
            for (size_t sent = 0; sent < reply.length;) {
                ssize_t now = send(fd, reply.bytes + sent, reply.length - sent, MSG_NOSIGNAL);
                if (now < 0)
                    break;
                sent += (size_t)now;
            }
            free(reply.bytes);
            resp_command_clear(&command);
            unix_text_cut(&got, length);
        }
    }
    free(got.bytes);
    return NULL;
}

static inline pthread_t start_echo(void) {
    pthread_t thread;
    assert_int_equal(fcntl(peer, F_SETFL, 0), 0); /* it may block */
    assert_int_equal(pthread_create(&thread, NULL, echo_all, &peer), 0);
    return thread;
}

/* Ends the connection, and with it the server. */
static inline void stop_echo(pthread_t thread) {
    shutdown(peer, SHUT_RDWR);
    pthread_join(thread, NULL);
}

#endif
