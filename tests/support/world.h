/*
 * The world of a test that uses the public header: one real server for each program, empty when a
 * test begins, and everything that the test opens on it.
 *
 *     TEST(a_reader_excludes_writers) {
 *         lk_client *client = open_client();
 *         lk_lock *reader = new_lock(client, "a"), *writer = new_lock(client, "a");
 *         assert_ok(lk_rdlock(reader));
 *         assert_status(lk_trywrlock(writer), LK_BUSY);
 *     }
 *
 *     int main(int argc, char **argv) {
 *         return world_main(argc, argv);
 *     }
 *
 * TEST registers the test. Tests run in the order in which they stand in the file. TEST_WITH names
 * a function that opens what several tests share; it runs before the test.
 *
 * The world owns everything that its functions return: clients, locks, proxies, fake servers,
 * further servers, connections, answers, texts, and calls on other threads. It closes all of that
 * after each test, also when the test fails. Where closing is a part of the test, the test uses
 * close_client(), free_lock() or stop_fake(), and not the functions of the library. Clients and
 * locks that a test opens by the library itself stay the test's.
 *
 * Only the main thread asserts: cmocka cannot report a failure on another one. Threads and
 * processes note what they see, and the test judges it.
 */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H

#include "actor.h"
#include "fake_server.h"
#include "latchkey.h"
#include "proxy.h"
#include "server.h"
#include "test_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    LONG_MS = 20000,       /* for something that must happen; no test that passes waits so long */
    PATIENT_MS = 10000,    /* a command_timeout_ms that no test waits for */
    HASTY_MS = 300,        /* a command_timeout_ms that tests do wait for */
    POLL_MS = 2,           /* between two looks at a condition */
    PROGRAM_SECONDS = 230, /* a program that hangs ends by SIGALRM, so that its servers end too */
};

/* ------------------------------------------------------------------------------ tests */

typedef struct world_test {
    const char *name;
    void (*open)(void); /* may be NULL */
    void (*run)(void);
    struct world_test *next;
} world_test;

#define TEST(name) TEST_WITH(NULL, name)

#define TEST_WITH(open, name)                                         \
    static void name(void);                                           \
    __attribute__((constructor)) static void world_add_##name(void) { \
        static world_test self = {#name, open, name, NULL};           \
        world_add(&self);                                             \
    }                                                                 \
    static void name(void)

void world_add(world_test *);

/* Runs the registered tests in a world that `begin` makes; begin_world, or one of your own. */
int world_run(int (*begin)(void **state));

/* The same with begin_world. A program that was started as an actor is one instead (actor.h). */
int world_main(int argc, char **argv);

/* Fixtures of cmocka: the first two for a group of tests, the third for each test. */
int begin_world(void **state);
int end_world(void **state);
int empty_server(void **state);

/* Makes the world of a server that the caller has started. */
int begin_world_of(test_server *);

/* Run the function after this test, also when it fails; before or after all clients are closed. */
void run_before_closing(void (*)(void));
void run_after_closing(void (*)(void));

/* As test_print(); the world frees the text. */
char *world_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ------------------------------------------------------------------------------ time */

int64_t now_ms(void);
void sleep_us(int64_t us);
void sleep_ms(int64_t ms);

/* Waits until the condition holds, and fails the test if it does not in LONG_MS. */
#define eventually(condition)                           \
    do {                                                \
        int64_t eventually_end_ms = now_ms() + LONG_MS; \
        while (!(condition)) {                          \
            if (now_ms() > eventually_end_ms)           \
                fail_msg("never true: %s", #condition); \
            sleep_ms(POLL_MS);                          \
        }                                               \
    } while (0)

/* ------------------------------------------------------------------------------ statuses */

#define assert_status(call, wanted) check_status((call), (wanted), #call, __FILE__, __LINE__)
#define assert_ok(call) assert_status(call, LK_OK)

void check_status(lk_status got, lk_status wanted, const char *what, const char *file, int line);

/* The text has these words in it, or does not. */
#define assert_says(text, words) check_says((text), (words), true, __FILE__, __LINE__)
#define assert_says_not(text, words) check_says((text), (words), false, __FILE__, __LINE__)
/* The same of lk_last_error(). */
#define assert_said(words) assert_says(lk_last_error(), words)

void check_says(const char *text, const char *words, bool wanted, const char *file, int line);

/* ------------------------------------------------------------------------------ the server */

extern test_server *server;
extern char *server_url;
extern redisContext *probe; /* a connection to the server that does not use the library */

/*
 * Sends a command to the server, its words separated by single spaces. The answer must not be an
 * error. Returns its integer, or 0 if it has another type.
 */
long long ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
long long ask_at(redisContext *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the whole answer; the world frees it. */
redisReply *ask_reply(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sends the command after the test, also when it fails. */
void ask_at_end(const char *format, ...) __attribute__((format(printf, 1, 2)));

long long key_count(void);
bool is_empty(void);
void assert_nothing_left(void);
long long command_calls(const char *command); /* that the server has run */
size_t connections_named(const char *name);   /* that the server has */

/* Further servers, and what stands before the one of this world. */
test_server *start_server(const char *const *options);
redisContext *connect_to(const test_server *);
proxy *start_proxy(void);
fake_server *start_fake(void);
fake_server *start_lone_fake(void); /* without a real server behind it */
void stop_fake(fake_server *);
void take_server_away(proxy *); /* until proxy_refuse(…, false) */

/* ------------------------------------------------------------------------------ clients, locks */

lk_client *open_client(void);
lk_client *open_client_with(const lk_client_options *);
lk_client *open_client_at(const char *socket, int64_t command_timeout_ms);
lk_client *open_client_url(const char *url, const lk_client_options *);

lk_lock *new_lock(lk_client *, const char *name);
lk_lock *new_lock_with(lk_client *, const char *name, const lk_lock_options *);
lk_lock *new_leased_lock(lk_client *, const char *name, int64_t lease_ms);
lk_lock *new_policy_lock(lk_client *, const char *name, lk_policy);
/* Losses are counted in `losses`. */
lk_lock *new_watched_lock(lk_client *, const char *name, int64_t lease_ms, atomic_int *losses);

/* These also take clients and locks that the world does not own. */
void close_client(lk_client *);
void close_bounded(lk_client *); /* fails the test if the close hangs */
void free_lock(lk_lock *);
void free_locks(lk_lock *const *, size_t count);

/* By mode and time to wait; below 0: without a limit. */
lk_status lock_as(lk_lock *, lk_mode, int64_t wait_ms);
lk_status unlock_as(lk_lock *, lk_mode);

/* Makes the client wait once, so that it has its connection for messages. */
void make_it_listen(lk_client *);
/* The same, and the server knows all scripts then: each call from now on is one request. */
void teach_scripts(lk_client *);

/* ------------------------------------------------------------------------------ looking */

lk_info *inspect(lk_client *, const char *name); /* the world frees it */

typedef struct {
    size_t holders, waiters;
    unsigned reads, writes; /* of the first holder */
    int64_t left_ms;        /* of the first holder */
} glance;

glance look_at(lk_client *, const char *name);

/* Whether the server says that the handle holds. */
bool is_holder(lk_client *, const char *name, const lk_lock *);

/* ------------------------------------------------------------------------------ threads */

pthread_t thread_start(void *(*run)(void *), void *context);
void thread_join(pthread_t); /* fails the test if the thread hangs */

/* A call on a thread of its own. */
typedef struct {
    lk_lock *lock;
    lk_status (*run)(lk_lock *); /* or NULL: lock_as() with the next two */
    lk_mode mode;
    int64_t wait_ms;
    pthread_t thread;
    lk_status status;
    int64_t took_ms;
    char said[512]; /* lk_last_error() of that thread */
    atomic_bool over;
} call;

void begin_call(call *, lk_status (*run)(lk_lock *), lk_lock *);
void begin_lock(call *, lk_lock *, lk_mode, int64_t wait_ms);
/* Begins to lock, and returns when `looker` sees `place` waiters for that name. */
void begin_wait(call *, lk_lock *, lk_mode, lk_client *looker, const char *name, size_t place);
lk_status end_call(call *);

#define assert_call(call, wanted) check_call((call), (wanted), #call, __FILE__, __LINE__)

void check_call(call *, lk_status wanted, const char *name, const char *file, int line);

/* ------------------------------------------------------------------------------ callbacks */

/* Counts callbacks, and keeps the status of the last one. */
typedef struct {
    atomic_int count;
    _Atomic lk_status status;
    atomic_int with[LK_INTERNAL + 1]; /* by status */
} tally;

void tally_done(lk_lock *, lk_status, void *tally);
void count_loss(lk_lock *, void *losses); /* an atomic_int */

#endif
