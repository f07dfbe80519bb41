/*
 * Locks over TCP and TLS, with users, passwords and databases: whatever the way to the server, the
 * lock is the same. Which certificates are refused, and in which words, is in client/tls_test.c.
 */
#include "latchkey.h"
#include "test_memory.h"
#include "tls_server.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 8, ROUNDS = 60 };

static tcp_server secure, guarded, plain;

/* By the server's own socket; a server that asks for a password from the start looks dead. */
static bool tell(const test_server *server, const char *command) {
    redisContext *context = redisConnectUnix(test_server_socket(server));
    redisReply *reply = context && !context->err ? redisCommand(context, command) : NULL;
    bool done = reply && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    redisFree(context);
    return done;
}

static int start_all(void **state) {
    (void)state;
    assert_true(certificates_make());
    secure = tls_server_start("here", "no", NULL);
    guarded = tls_server_start("here", "yes", NULL);
    plain = plain_server_start(NULL);
    assert_true(secure.server && guarded.server && plain.server);
    assert_true(tell(plain.server, "ACL SETUSER ann on >pearls ~lk:* &lk:* +@all"));
    assert_true(tell(plain.server, "CONFIG SET requirepass swordfish"));
    return 0;
}

static int stop_all(void **state) {
    (void)state;
    test_server_stop(secure.server);
    test_server_stop(guarded.server);
    test_server_stop(plain.server);
    certificates_remove();
    return 0;
}

static lk_status open_at(const lk_client_options *options, lk_client **out, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static lk_status open_at(const lk_client_options *options, lk_client **out, const char *format,
                         ...) {
    char url[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(url, sizeof url, format, arguments);
    va_end(arguments);
    return lk_open(url, options, out);
}

/* ------------------------------------------------------------------------------ many threads */

typedef struct {
    lk_client *client;
    int *counter; /* plain: two writers at once would show */
    lk_status worst;
    pthread_t thread;
} worker;

static void *count_up(void *context) {
    worker *self = context;
    lk_lock *lock;
    self->worst = lk_lock_new(self->client, "counter", NULL, &lock);
    for (int i = 0; i < ROUNDS && self->worst == LK_OK; i++) {
        self->worst = lk_wrlock(lock);
        if (self->worst == LK_OK) {
            ++*self->counter;
            self->worst = lk_wrunlock(lock);
        }
    }
    lk_lock_free(lock);
    return NULL;
}

/* Contended and pipelined: threads read and write one connection, and wait at the other. */
static void count_with_many_threads(lk_client *client) {
    worker workers[THREADS];
    int counter = 0;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.client = client, .counter = &counter};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, count_up, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].worst, LK_OK);
    }
    assert_int_equal(counter, THREADS * ROUNDS);
}

typedef struct {
    pthread_barrier_t *start;
    const lk_client_options *options;
    lk_status status;
    pthread_t thread;
} opener;

static void *open_over_tls(void *context) {
    opener *self = context;
    lk_client *client = NULL;
    pthread_barrier_wait(self->start);
    self->status = open_at(self->options, &client, "rediss://localhost:%u", secure.port);
    if (self->status == LK_OK)
        lk_close(client);
    return NULL;
}

/* The first to use TLS in this process: it is loaded under them. */
static void many_threads_may_be_the_first_to_use_tls(void **state) {
    (void)state;
    lk_client_options options = {.tls_ca = certificate_file("ca.crt")};
    opener openers[THREADS];
    pthread_barrier_t start;
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        openers[i] = (opener){.start = &start, .options = &options};
        assert_int_equal(pthread_create(&openers[i].thread, NULL, open_over_tls, &openers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(openers[i].thread, NULL);
        assert_int_equal(openers[i].status, LK_OK);
    }
    pthread_barrier_destroy(&start);
}

static void locks_work_over_tls(void **state) {
    (void)state;
    lk_client_options options = {.tls_ca = certificate_file("ca.crt")};
    lk_client *client;
    assert_int_equal(open_at(&options, &client, "rediss://localhost:%u", secure.port), LK_OK);
    count_with_many_threads(client);
    lk_close(client);
}

static void locks_work_over_tcp(void **state) {
    (void)state;
    lk_client *client;
    assert_int_equal(open_at(NULL, &client, "redis://:swordfish@127.0.0.1:%u", plain.port), LK_OK);
    count_with_many_threads(client);
    lk_close(client);
}

static void a_client_shows_its_certificate(void **state) {
    (void)state;
    lk_client_options options = {.tls_ca = certificate_file("ca.crt"),
                                 .tls_cert = certificate_file("client.crt"),
                                 .tls_key = certificate_file("client.key")};
    lk_client *client;
    assert_int_equal(open_at(&options, &client, "rediss://127.0.0.1:%u", guarded.port), LK_OK);
    count_with_many_threads(client);
    lk_close(client);
}

static void a_client_without_the_certificate_it_needs_is_denied(void **state) {
    (void)state;
    lk_client_options options = {.tls_ca = certificate_file("ca.crt")};
    lk_client *client = NULL;
    assert_int_equal(open_at(&options, &client, "rediss://127.0.0.1:%u", guarded.port), LK_DENIED);
    assert_null(client);
    assert_non_null(strstr(lk_last_error(), "certificate"));
}

static void a_server_that_nobody_vouches_for_is_denied(void **state) {
    (void)state;
    lk_client_options options = {.tls_ca = certificate_file("other.crt")};
    lk_client *client = NULL;
    assert_int_equal(open_at(&options, &client, "rediss://localhost:%u", secure.port), LK_DENIED);
    assert_int_equal(open_at(NULL, &client, "rediss://localhost:%u", secure.port), LK_DENIED);
    options = (lk_client_options){.tls_ca = certificate_file("ca.crt"),
                                  .tls_server_name = "elsewhere.test"};
    assert_int_equal(open_at(&options, &client, "rediss://localhost:%u", secure.port), LK_DENIED);
    assert_null(client);
}

/* ------------------------------------------------------------------------------ the wrong port */

enum { BRIEF_MS = 300 };

/* Both ways to a server refuse it, with this hint. */
static void assert_hint(const char *hint, const char *format, unsigned port) {
    lk_client_options options = {.connect_timeout_ms = BRIEF_MS};
    lk_client *client;
    lk_facts *facts;
    char url[256];
    snprintf(url, sizeof url, format, port);
    assert_int_equal(lk_open(url, &options, &client), LK_UNAVAILABLE);
    if (!strstr(lk_last_error(), hint))
        fail_msg("lk_open: %s", lk_last_error());
    assert_int_equal(lk_examine(url, &options, &facts), LK_UNAVAILABLE);
    if (!strstr(lk_last_error(), hint))
        fail_msg("lk_examine: %s", lk_last_error());
}

static void a_plain_url_to_a_port_of_tls_hints_at_tls(void **state) {
    (void)state;
    assert_hint("the server may expect TLS: try rediss://", "redis://localhost:%u", secure.port);
    assert_hint("the server may expect TLS: try rediss://", "redis://:x@127.0.0.1:%u", secure.port);
    assert_hint("the server may expect TLS: try rediss://", "redis://127.0.0.1:%u/2", guarded.port);
}

static void a_url_with_tls_to_a_plain_port_hints_at_none(void **state) {
    (void)state;
    assert_hint("try redis://", "rediss://localhost:%u", plain.port);
}

/* A server at `door` that says the same to everybody, at once or when it was spoken to. */
typedef struct {
    int door;
    const char *words;
    size_t length;
    bool listens;
    pthread_t thread;
} speaker;

static void *speak(void *context) {
    speaker *self = context;
    char heard[256];
    for (int fd; (fd = accept(self->door, NULL, NULL)) >= 0; close(fd)) {
        if (self->listens && recv(fd, heard, sizeof heard, 0) <= 0)
            continue;
        if (self->length)
            send(fd, self->words, self->length, MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        while (recv(fd, heard, sizeof heard, 0) > 0)
            continue;
    }
    return NULL;
}

static void speaker_start(speaker *self, unsigned *port) {
    self->door = bind_any_port(port, 4);
    assert_true(self->door >= 0);
    assert_int_equal(pthread_create(&self->thread, NULL, speak, self), 0);
}

static void speaker_end(speaker *self) {
    shutdown(self->door, SHUT_RDWR);
    pthread_join(self->thread, NULL);
    close(self->door);
}

static void an_alert_of_tls_hints_at_tls(void **state) {
    (void)state;
    static const char alert[] = {0x15, 3, 3, 0, 2, 2, 70};
    for (int listens = 0; listens < 2; listens++) {
        speaker server = {.words = alert, .length = sizeof alert, .listens = listens};
        unsigned port;
        speaker_start(&server, &port);
        assert_hint("the server expects TLS on this port; try rediss://", "redis://127.0.0.1:%u",
                    port);
        speaker_end(&server);
    }
}

static void a_server_that_hangs_up_at_once_may_want_tls(void **state) {
    (void)state;
    speaker server = {.words = "", .listens = true};
    unsigned port;
    speaker_start(&server, &port);
    assert_hint("has closed the connection; the server may expect TLS: try rediss://",
                "redis://127.0.0.1:%u", port);
    speaker_end(&server);
}

static void a_server_that_has_answered_does_not_want_tls(void **state) {
    (void)state;
    speaker server = {.words = "+OK\r\n", .length = 5, .listens = true};
    unsigned port;
    lk_client *client;
    speaker_start(&server, &port);
    assert_int_equal(open_at(NULL, &client, "redis://127.0.0.1:%u", port), LK_UNAVAILABLE);
    assert_non_null(strstr(lk_last_error(), "has closed the connection"));
    assert_null(strstr(lk_last_error(), "TLS"));
    speaker_end(&server);
}

/* ------------------------------------------------------------------------------ who, and where */

static void a_user_of_the_acl_works_with_its_password(void **state) {
    (void)state;
    lk_client *client;
    assert_int_equal(open_at(NULL, &client, "valkey://ann:pearls@localhost:%u", plain.port), LK_OK);
    count_with_many_threads(client);
    lk_close(client);
    client = NULL;
    assert_int_equal(open_at(NULL, &client, "redis://ann:swine@localhost:%u", plain.port),
                     LK_DENIED);
    assert_null(strstr(lk_last_error(), "swine"));
    assert_non_null(strstr(lk_last_error(), "ann@localhost"));
}

static void databases_have_locks_of_their_own(void **state) {
    (void)state;
    lk_client *clients[2];
    lk_lock *locks[2];
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            open_at(NULL, &clients[i], "redis://:swordfish@localhost:%u/%u", plain.port, 3 * i),
            LK_OK);
        assert_int_equal(lk_lock_new(clients[i], "x", NULL, &locks[i]), LK_OK);
        assert_int_equal(lk_trywrlock(locks[i]), LK_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lk_wrunlock(locks[i]), LK_OK);
        lk_lock_free(locks[i]);
        lk_close(clients[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_may_be_the_first_to_use_tls),
        cmocka_unit_test(locks_work_over_tls),
        cmocka_unit_test(locks_work_over_tcp),
        cmocka_unit_test(a_client_shows_its_certificate),
        cmocka_unit_test(a_client_without_the_certificate_it_needs_is_denied),
        cmocka_unit_test(a_server_that_nobody_vouches_for_is_denied),
        cmocka_unit_test(a_plain_url_to_a_port_of_tls_hints_at_tls),
        cmocka_unit_test(a_url_with_tls_to_a_plain_port_hints_at_none),
        cmocka_unit_test(an_alert_of_tls_hints_at_tls),
        cmocka_unit_test(a_server_that_hangs_up_at_once_may_want_tls),
        cmocka_unit_test(a_server_that_has_answered_does_not_want_tls),
        cmocka_unit_test(a_user_of_the_acl_works_with_its_password),
        cmocka_unit_test(databases_have_locks_of_their_own),
    };
    return cmocka_run_group_tests(tests, start_all, stop_all);
}
