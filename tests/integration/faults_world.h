/*
 * What the tests of faults share: a real server, clients before it, calls on threads of their own,
 * and waits that end. Include after cmocka.h.
 */
#ifndef TEST_FAULTS_WORLD_H
#define TEST_FAULTS_WORLD_H

#include "fake_server.h"
#include "latchkey.h"
#include "proxy.h"
#include "server.h"
#include "test_memory.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LONG_MS = 20000,      /* for what must happen; nothing waits that long when all is well */
    PATIENT_MS = 10000,   /* a command_timeout_ms that no test waits for */
    HASTY_MS = 300,       /* one that a test does wait for */
    PROGRAM_SECONDS = 200 /* nothing hangs: the program ends with a signal then */
};

static inline int64_t clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline void nap_ms(int ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

/* Waits until the condition holds, and fails the test if it never does. */
#define eventually(condition)                                 \
    do {                                                      \
        int64_t eventually_end_ms = clock_ms() + LONG_MS;     \
        while (!(condition)) {                                \
            if (clock_ms() > eventually_end_ms)               \
                fail_msg("never came to be: %s", #condition); \
            nap_ms(2);                                        \
        }                                                     \
    } while (0)

#define assert_status(call, status) check_status((call), (status), #call, __FILE__, __LINE__)

static inline void check_status(lk_status got, lk_status expected, const char *what,
                                const char *file, int line) {
    if (got == expected)
        return;
    print_error("%s is %s, not %s: %s\n", what, lk_status_name(got), lk_status_name(expected),
                got == LK_OK ? "" : lk_last_error());
    _fail(file, line);
}

/* The sentence about the last failure of this thread has these words in it, in any case. */
#define assert_said(words) check_said((words), __FILE__, __LINE__)

static inline void check_said(const char *words, const char *file, int line) {
    if (strcasestr(lk_last_error(), words))
        return;
    print_error("\"%s\" is not in: %s\n", words, lk_last_error());
    _fail(file, line);
}

/* ---- the server ---- */

static inline test_server *start_server(const char *const *options) {
    test_server *server = test_server_start(test_server_any(), options);
    assert_non_null(server);
    return server;
}

static inline redisContext *look_into(const test_server *server) {
    redisContext *eye = redisConnectUnix(test_server_socket(server));
    assert_non_null(eye);
    assert_int_equal(eye->err, 0);
    return eye;
}

/* Sends a command, and returns its integer; 0 when it answers something else that is no error. */
static inline long long ask(redisContext *eye, const char *command) {
    redisReply *reply = redisCommand(eye, command);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", command, reply->str);
    long long number = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
    freeReplyObject(reply);
    return number;
}

static inline bool is_empty(redisContext *eye) {
    return ask(eye, "DBSIZE") == 0;
}

/* ---- clients ---- */

/* On a busy machine a hasty client may find that connecting takes too long: it is opened again. */
static inline lk_client *open_with(const char *socket, lk_client_options options) {
    enum { TRIES = 30 };
    lk_client *client = NULL;
    char *url = test_print("unix://%s", socket);
    lk_status status = lk_open(url, &options, &client);
    for (int i = 1; status == LK_UNAVAILABLE && i < TRIES; i++)
        status = lk_open(url, &options, &client);
    assert_status(status, LK_OK);
    free(url);
    return client;
}

static inline lk_client *open_client(const char *socket, int64_t command_timeout_ms) {
    return open_with(socket, (lk_client_options){.command_timeout_ms = command_timeout_ms,
                                                 .connect_timeout_ms = command_timeout_ms});
}

static inline lk_lock *new_lock(lk_client *client, const char *name, int64_t lease_ms) {
    lk_lock *lock = NULL;
    lk_lock_options options = {.lease_ms = lease_ms};
    assert_status(lk_lock_new(client, name, &options, &lock), LK_OK);
    return lock;
}

static inline void count_loss(lk_lock *lock, void *arg) {
    (void)lock;
    atomic_fetch_add((atomic_int *)arg, 1);
}

static inline lk_lock *new_watched_lock(lk_client *client, const char *name, int64_t lease_ms,
                                        atomic_int *losses) {
    lk_lock *lock = NULL;
    lk_lock_options options = {.lease_ms = lease_ms, .on_lost = count_loss, .on_lost_arg = losses};
    assert_status(lk_lock_new(client, name, &options, &lock), LK_OK);
    return lock;
}

typedef struct {
    size_t holders, waiters;
    unsigned reads, writes; /* of the first holder */
    int64_t left_ms;
} glance;

static inline glance look_at(lk_client *client, const char *name) {
    lk_info *info = NULL;
    glance seen = {0};
    assert_status(lk_inspect(client, name, &info), LK_OK);
    seen.holders = info->holder_total;
    seen.waiters = info->waiter_total;
    if (info->holder_count) {
        seen.reads = info->holders[0].reads;
        seen.writes = info->holders[0].writes;
        seen.left_ms = info->holders[0].left_ms;
    }
    lk_info_free(info);
    return seen;
}

/* A connection for messages is there from the first wait on: so waits once. */
static inline void make_it_listen(lk_client *client, redisContext *eye) {
    lk_lock *holder = new_lock(client, "listening", 0), *waiter = new_lock(client, "listening", 0);
    assert_status(lk_wrlock(holder), LK_OK);
    assert_status(lk_acquire_async(waiter, LK_WRITE, -1, NULL, NULL), LK_OK);
    eventually(look_at(client, "listening").waiters == 1);
    assert_status(lk_wrunlock(holder), LK_OK);
    eventually(lk_valid(waiter));
    assert_status(lk_wrunlock(waiter), LK_OK);
    lk_lock_free(holder);
    lk_lock_free(waiter);
    eventually(is_empty(eye));
}

/* Teaches the server all scripts, so that each call from now on is one request. */
static inline void teach_scripts(lk_client *client, redisContext *eye) {
    lk_lock *lock = new_lock(client, "scripts", 0), *other = new_lock(client, "scripts", 0);
    make_it_listen(client, eye);
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_timedwrlock(other, 1), LK_TIMEOUT);
    assert_status(lk_renew(lock, 0), LK_OK);
    assert_status(lk_downgrade(lock), LK_OK);
    assert_int_equal(look_at(client, "scripts").reads, 1);
    assert_status(lk_force_release(client, "scripts", "nobody"), LK_NOT_HELD);
    assert_status(lk_rdunlock(lock), LK_OK);
    lk_lock_free(lock);
    lk_lock_free(other);
    assert_true(is_empty(eye));
}

/* ---- calls on threads of their own ---- */

typedef struct {
    lk_status (*run)(lk_lock *);
    lk_lock *lock;
    pthread_t thread;
    lk_status status;
    char said[512];
    atomic_bool over;
} call;

static inline void *run_call(void *context) {
    call *self = context;
    self->status = self->run(self->lock);
    if (self->status != LK_OK)
        snprintf(self->said, sizeof self->said, "%s", lk_last_error());
    atomic_store(&self->over, true);
    return NULL;
}

static inline void begin_call(call *self, lk_status (*run)(lk_lock *), lk_lock *lock) {
    *self = (call){.run = run, .lock = lock};
    assert_int_equal(pthread_create(&self->thread, NULL, run_call, self), 0);
}

/* Begins a wait to write, and returns when one waits for that name, as `looker` sees it. */
static inline void begin_wait(call *self, lk_lock *lock, lk_client *looker, const char *name) {
    begin_call(self, lk_wrlock, lock);
    eventually(look_at(looker, name).waiters == 1);
}

static inline lk_status end_call(call *self) {
    eventually(atomic_load(&self->over));
    pthread_join(self->thread, NULL);
    return self->status;
}

#define assert_call(call, expected)                                                   \
    do {                                                                              \
        lk_status assert_call_status = end_call(call);                                \
        if (assert_call_status != (expected))                                         \
            fail_msg("%s, not %s: %s", lk_status_name(assert_call_status), #expected, \
                     (call)->said);                                                   \
    } while (0)

/* ---- statuses of async calls ---- */

typedef struct {
    atomic_int calls;
    atomic_int status;
} outcome;

static inline void note_outcome(lk_lock *lock, lk_status status, void *arg) {
    outcome *self = arg;
    (void)lock;
    atomic_store(&self->status, (int)status);
    atomic_fetch_add(&self->calls, 1);
}

/* ---- the world of a program: one server, empty at the beginning of each test ---- */

static test_server *server;
static redisContext *eye; /* looks into the server, past everything between */

static inline int begin_world(void **state) {
    (void)state;
    alarm(PROGRAM_SECONDS);
    signal(SIGPIPE, SIG_IGN);
    server = start_server(NULL);
    eye = look_into(server);
    return 0;
}

static inline int end_world(void **state) {
    (void)state;
    redisFree(eye);
    test_server_stop(server);
    return 0;
}

static inline int empty_server(void **state) {
    (void)state;
    ask(eye, "FLUSHALL");
    return 0;
}

/* ---- what stands before that server ---- */

static inline proxy *start_proxy(void) {
    proxy *started = proxy_start(test_server_socket(server));
    assert_non_null(started);
    return started;
}

static inline fake_server *start_fake(void) {
    fake_server *started = fake_server_start(test_server_socket(server));
    assert_non_null(started);
    return started;
}

/* Until proxy_refuse(…, false). */
static inline void take_server_away(proxy *from) {
    proxy_refuse(from, true);
    proxy_cut_all(from, PROXY_ALL);
}

#endif
