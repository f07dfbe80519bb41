/*
 * Locks over TCP and TLS, with users, passwords and databases. client/tls_test.c tests which
 * certificates are refused, and the texts of the errors.
 */
#include "tls_server.h"
#include "world.h"

#include <sys/socket.h>

enum { THREADS = 8, ROUNDS = 60 };

static tcp_server secure, guarded, plain;

/* The password is set later: test_server_start() could not talk to a server that has one. */
static int start_all(void **state) {
    (void)state;
    assert_true(certificates_make());
    secure = tls_server_start("here", "no", NULL);
    guarded = tls_server_start("here", "yes", NULL);
    plain = plain_server_start(NULL);
    assert_true(secure.server && guarded.server && plain.server);
    redisContext *inside = connect_to(plain.server);
    ask_at(inside, "ACL SETUSER ann on >pearls ~lk:* &lk:* +@all");
    ask_at(inside, "CONFIG SET requirepass swordfish");
    return begin_world_of(secure.server);
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

/* The threads share one connection for commands, and one for messages. */
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
    const char *url;
    const lk_client_options *options;
    lk_status status;
    pthread_t thread;
} opener;

static void *open_over_tls(void *context) {
    opener *self = context;
    lk_client *client = NULL;
    pthread_barrier_wait(self->start);
    self->status = lk_open(self->url, self->options, &client);
    if (self->status == LK_OK)
        lk_close(client);
    return NULL;
}

/* The first use of TLS in this process: several threads load it at once. */
TEST(many_threads_may_be_the_first_to_use_tls) {
    lk_client_options options = {.tls_ca = certificate_file("ca.crt")};
    char *url = world_print("rediss://localhost:%u", secure.port);
    opener openers[THREADS];
    pthread_barrier_t start;
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        openers[i] = (opener){.start = &start, .url = url, .options = &options};
        assert_int_equal(pthread_create(&openers[i].thread, NULL, open_over_tls, &openers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(openers[i].thread, NULL);
        assert_int_equal(openers[i].status, LK_OK);
    }
    pthread_barrier_destroy(&start);
}

TEST(locks_work_over_tls) {
    lk_client_options options = {.tls_ca = certificate_file("ca.crt")};
    lk_client *client =
        open_client_url(world_print("rediss://localhost:%u", secure.port), &options);
    count_with_many_threads(client);
}

TEST(locks_work_over_tcp) {
    lk_client *client =
        open_client_url(world_print("redis://:swordfish@127.0.0.1:%u", plain.port), NULL);
    count_with_many_threads(client);
}

TEST(a_client_shows_its_certificate) {
    lk_client_options options = {.tls_ca = certificate_file("ca.crt"),
                                 .tls_cert = certificate_file("client.crt"),
                                 .tls_key = certificate_file("client.key")};
    lk_client *client =
        open_client_url(world_print("rediss://127.0.0.1:%u", guarded.port), &options);
    count_with_many_threads(client);
}

TEST(a_client_without_the_certificate_it_needs_is_denied) {
    lk_client_options options = {.tls_ca = certificate_file("ca.crt")};
    lk_client *client = NULL;
    assert_status(lk_open(world_print("rediss://127.0.0.1:%u", guarded.port), &options, &client),
                  LK_DENIED);
    assert_null(client);
    assert_said("certificate");
}

TEST(a_server_that_nobody_vouches_for_is_denied) {
    lk_client_options options = {.tls_ca = certificate_file("other.crt")};
    lk_client *client = NULL;
    assert_status(lk_open(world_print("rediss://localhost:%u", secure.port), &options, &client),
                  LK_DENIED);
    assert_status(lk_open(world_print("rediss://localhost:%u", secure.port), NULL, &client),
                  LK_DENIED);
    options = (lk_client_options){.tls_ca = certificate_file("ca.crt"),
                                  .tls_server_name = "elsewhere.test"};
    assert_status(lk_open(world_print("rediss://localhost:%u", secure.port), &options, &client),
                  LK_DENIED);
    assert_null(client);
}

/* ------------------------------------------------------------------------------ the wrong port */

/* lk_open() and lk_examine() fail with this hint, by the answer of the server or by the timeout. */
static void assert_hint_within(int64_t connect_timeout_ms, const char *hint, const char *format,
                               unsigned port) {
    lk_client_options options = {.connect_timeout_ms = connect_timeout_ms};
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

static void assert_hint(const char *hint, const char *format, unsigned port) {
    assert_hint_within(PATIENT_MS, hint, format, port);
}

TEST(a_plain_url_to_a_port_of_tls_hints_at_tls) {
    assert_hint("the server may expect TLS: try rediss://", "redis://localhost:%u", secure.port);
    assert_hint("the server may expect TLS: try rediss://", "redis://:x@127.0.0.1:%u", secure.port);
    assert_hint("the server may expect TLS: try rediss://", "redis://127.0.0.1:%u/2", guarded.port);
}

/* A plain server does not answer the first words of TLS, so this waits for the timeout. */
TEST(a_url_with_tls_to_a_plain_port_hints_at_none) {
    enum { WAITED_MS = 2000 }; /* enough to load the TLS library, to connect and to begin */
    assert_hint_within(WAITED_MS, "try redis://", "rediss://localhost:%u", plain.port);
}

/* A server that sends the same bytes to every client, at once or after the first request. */
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

TEST(an_alert_of_tls_hints_at_tls) {
    static const char alert[] = {0x15, 3, 3, 0, 2, 2, 70};
    for (int listens = 0; listens < 2; listens++) {
        speaker speaking = {.words = alert, .length = sizeof alert, .listens = listens};
        unsigned port;
        speaker_start(&speaking, &port);
        assert_hint("the server expects TLS on this port; try rediss://", "redis://127.0.0.1:%u",
                    port);
        speaker_end(&speaking);
    }
}

TEST(a_server_that_hangs_up_at_once_may_want_tls) {
    speaker speaking = {.words = "", .listens = true};
    unsigned port;
    speaker_start(&speaking, &port);
    assert_hint("has closed the connection; the server may expect TLS: try rediss://",
                "redis://127.0.0.1:%u", port);
    speaker_end(&speaking);
}

TEST(a_server_that_has_answered_does_not_want_tls) {
    speaker speaking = {.words = "+OK\r\n", .length = 5, .listens = true};
    unsigned port;
    lk_client *client;
    speaker_start(&speaking, &port);
    assert_status(lk_open(world_print("redis://127.0.0.1:%u", port), NULL, &client),
                  LK_UNAVAILABLE);
    assert_said("has closed the connection");
    assert_says_not(lk_last_error(), "TLS");
    speaker_end(&speaking);
}

/* ------------------------------------------------------------------------------ who, and where */

TEST(a_user_of_the_acl_works_with_its_password) {
    lk_client *client =
        open_client_url(world_print("valkey://ann:pearls@localhost:%u", plain.port), NULL);
    count_with_many_threads(client);
    client = NULL;
    assert_status(lk_open(world_print("redis://ann:swine@localhost:%u", plain.port), NULL, &client),
                  LK_DENIED);
    assert_says_not(lk_last_error(), "swine");
    assert_said("ann@localhost");
}

TEST(databases_have_locks_of_their_own) {
    lk_lock *locks[2];
    for (unsigned i = 0; i < 2; i++) {
        char *url = world_print("redis://:swordfish@localhost:%u/%u", plain.port, 3 * i);
        locks[i] = new_lock(open_client_url(url, NULL), "x");
        assert_ok(lk_trywrlock(locks[i]));
    }
    for (int i = 0; i < 2; i++)
        assert_ok(lk_wrunlock(locks[i]));
}

int main(void) {
    int failed = world_run(start_all);
    test_server_stop(guarded.server);
    test_server_stop(plain.server);
    certificates_remove();
    return failed;
}
