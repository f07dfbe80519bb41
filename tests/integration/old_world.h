/*
 * What the tests of the public header share: one server for each program, clients and handles on
 * it, threads and processes that take locks, and waiting for what must come true.
 *
 * Nothing is asserted outside the main thread of the test, where cmocka could not report it:
 * threads and other processes say what they saw, and the test judges it.
 */
#ifndef INTEGRATION_WORLD_H
#define INTEGRATION_WORLD_H

#include "latchkey.h"
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
#include <spawn.h>
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

enum { WORLD_PATIENCE_MS = 10000, WORLD_POLL_MS = 2, WORLD_STACK = 256 * 1024 };

static test_server *world_server;
static char *world_url;
static redisContext *world_peek; /* to look into the server, beside the library */

/* ------------------------------------------------------------------------------ time */

static inline int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline void pause_us(int64_t us) {
    nanosleep(&(struct timespec){us / 1000000, (long)(us % 1000000) * 1000}, NULL);
}

static inline void pause_ms(int64_t ms) {
    pause_us(ms * 1000);
}

/* Waits until it is so. */
#define assert_eventually(condition)                                   \
    do {                                                               \
        int64_t world_end_ms = now_ms() + WORLD_PATIENCE_MS;           \
        while (!(condition)) {                                         \
            if (now_ms() > world_end_ms)                               \
                fail_msg("has not come to pass in time: " #condition); \
            pause_ms(WORLD_POLL_MS);                                   \
        }                                                              \
    } while (0)

/* ------------------------------------------------------------------------------ statuses */

static inline void world_check(lk_status got, lk_status wanted, const char *call, const char *file,
                               int line) {
    if (got == wanted)
        return;
    print_error("%s: %s and not %s: %s\n", call, lk_status_name(got), lk_status_name(wanted),
                got == LK_OK ? "" : lk_last_error());
    _fail(file, line);
}

#define assert_status(call, wanted) world_check((call), (wanted), #call, __FILE__, __LINE__)
#define assert_ok(call) assert_status(call, LK_OK)

static inline void assert_says(const char *sentence, const char *words) {
    if (!strstr(sentence, words))
        fail_msg("\"%s\" does not say \"%s\"", sentence, words);
}

static inline void assert_says_not(const char *sentence, const char *words) {
    if (strstr(sentence, words))
        fail_msg("\"%s\" says \"%s\"", sentence, words);
}

/* ------------------------------------------------------------------------------ the server */

static inline redisReply *world_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One command; its words are separated by single spaces. To be freed. */
static inline redisReply *world_ask(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(world_peek, format, arguments);
    va_end(arguments);
    if (!reply)
        fail_msg("the server does not answer: %s", world_peek->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", format, reply->str);
    return reply;
}

#define world_do(...) freeReplyObject(world_ask(__VA_ARGS__))

static inline long long world_key_count(void) {
    redisReply *reply = world_ask("DBSIZE");
    long long count = reply->integer;
    freeReplyObject(reply);
    return count;
}

/* How often the server has run a command. */
static inline long long world_calls(const char *command) {
    redisReply *reply = world_ask("INFO commandstats");
    char *wanted = test_print("cmdstat_%s:calls=", command);
    const char *found = strstr(reply->str, wanted);
    long long calls = found ? strtoll(found + strlen(wanted), NULL, 10) : 0;
    free(wanted);
    freeReplyObject(reply);
    return calls;
}

/* How many connections have this name. */
static inline size_t world_connections(const char *name) {
    redisReply *reply = world_ask("CLIENT LIST");
    char *wanted = test_print(" name=%s ", name);
    size_t count = 0;
    for (const char *at = reply->str; (at = strstr(at, wanted)); at++)
        count++;
    free(wanted);
    freeReplyObject(reply);
    return count;
}

/* Of the group of tests. */
static inline int world_open(void **state) {
    (void)state;
    world_server = test_server_start(test_server_any(), NULL);
    if (!world_server)
        return -1;
    world_url = test_print("unix://%s", test_server_socket(world_server));
    world_peek = redisConnectUnix(test_server_socket(world_server));
    return world_peek && !world_peek->err ? 0 : -1;
}

static inline int world_close(void **state) {
    (void)state;
    redisFree(world_peek);
    test_server_stop(world_server);
    free(world_url);
    return 0;
}

/* Of each test: it finds an empty server, and the password and URL of nobody. */
static inline int world_begin(void **state) {
    (void)state;
    unsetenv("LATCHKEY_URL");
    unsetenv("LATCHKEY_PASSWORD");
    world_do("FLUSHALL");
    return 0;
}

#define world_test(function) cmocka_unit_test_setup(function, world_begin)

/* ------------------------------------------------------------------------------ clients */

static inline lk_client *open_with(const lk_client_options *options) {
    lk_client *client = NULL;
    assert_ok(lk_open(world_url, options, &client));
    return client;
}

static inline lk_client *open_client(void) {
    return open_with(NULL);
}

static inline lk_lock *handle_with(lk_client *client, const char *name,
                                   const lk_lock_options *options) {
    lk_lock *lock = NULL;
    assert_ok(lk_lock_new(client, name, options, &lock));
    return lock;
}

static inline lk_lock *handle_of(lk_client *client, const char *name) {
    return handle_with(client, name, NULL);
}

static inline lk_lock *handle_leased(lk_client *client, const char *name, int64_t lease_ms) {
    return handle_with(client, name, &(lk_lock_options){.lease_ms = lease_ms});
}

static inline lk_lock *handle_under(lk_client *client, const char *name, lk_policy policy) {
    return handle_with(client, name, &(lk_lock_options){.policy = policy});
}

static inline void free_handles(lk_lock *const *locks, size_t count) {
    for (size_t i = 0; i < count; i++)
        lk_lock_free(locks[i]);
}

/* ------------------------------------------------------------------------------ looking */

static inline lk_info *look(lk_client *client, const char *name) {
    lk_info *info = NULL;
    assert_ok(lk_inspect(client, name, &info));
    return info;
}

static inline size_t waiter_total(lk_client *client, const char *name) {
    lk_info *info = look(client, name);
    size_t total = info->waiter_total;
    lk_info_free(info);
    return total;
}

static inline size_t holder_total(lk_client *client, const char *name) {
    lk_info *info = look(client, name);
    size_t total = info->holder_total;
    lk_info_free(info);
    return total;
}

/* Whether the handle holds, by the word of the server. */
static inline bool is_holder(lk_client *client, const char *name, const lk_lock *lock) {
    lk_info *info = look(client, name);
    bool found = false;
    for (size_t i = 0; i < info->holder_count; i++)
        found = found || strcmp(info->holders[i].owner, lk_owner(lock)) == 0;
    lk_info_free(info);
    return found;
}

static inline void assert_nothing_left(void) {
    assert_int_equal(world_key_count(), 0);
}

/* ------------------------------------------------------------------------------ threads */

/* A thread that makes one call that takes a lock. */
typedef struct {
    pthread_t thread;
    lk_lock *lock;
    lk_mode mode;
    int64_t wait_ms; /* below 0: as long as it takes */
    lk_status status;
    int64_t took_ms;
    char error[512];
    atomic_bool over;
} taker;

static inline lk_status take(lk_lock *lock, lk_mode mode, int64_t wait_ms) {
    if (wait_ms < 0)
        return mode == LK_READ ? lk_rdlock(lock) : lk_wrlock(lock);
    return mode == LK_READ ? lk_timedrdlock(lock, wait_ms) : lk_timedwrlock(lock, wait_ms);
}

static inline lk_status give(lk_lock *lock, lk_mode mode) {
    return mode == LK_READ ? lk_rdunlock(lock) : lk_wrunlock(lock);
}

static inline void *taker_run(void *context) {
    taker *self = context;
    int64_t began_ms = now_ms();
    self->status = take(self->lock, self->mode, self->wait_ms);
    self->took_ms = now_ms() - began_ms;
    snprintf(self->error, sizeof self->error, "%s", lk_last_error());
    atomic_store(&self->over, true);
    return NULL;
}

static inline pthread_t thread_start(void *(*run)(void *), void *context) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WORLD_STACK);
    int fault = pthread_create(&thread, &attributes, run, context);
    pthread_attr_destroy(&attributes);
    if (fault)
        fail_msg("pthread_create: %s", strerror(fault));
    return thread;
}

static inline void thread_join(pthread_t thread) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 3 * WORLD_PATIENCE_MS / 1000;
    if (pthread_timedjoin_np(thread, NULL, &end) != 0)
        fail_msg("a thread hangs");
}

static inline void taker_start(taker *self, lk_lock *lock, lk_mode mode, int64_t wait_ms) {
    memset(self, 0, sizeof *self);
    self->lock = lock;
    self->mode = mode;
    self->wait_ms = wait_ms;
    self->thread = thread_start(taker_run, self);
}

static inline lk_status taker_join(taker *self) {
    thread_join(self->thread);
    return self->status;
}

/* Starts it, and returns when it stands in the queue as number `place` of it. */
static inline void taker_queue(taker *self, lk_lock *lock, lk_mode mode, lk_client *looker,
                               const char *name, size_t place) {
    taker_start(self, lock, mode, -1);
    assert_eventually(waiter_total(looker, name) == place);
}

/* ------------------------------------------------------------------------------ callbacks */

/* Counts callbacks, and keeps what the last one said. */
typedef struct {
    atomic_int count, losses;
    _Atomic lk_status status; /* of the last one */
    atomic_int with[LK_INTERNAL + 1];
} tally;

static inline void tally_done(lk_lock *lock, lk_status status, void *arg) {
    tally *self = arg;
    (void)lock;
    atomic_store(&self->status, status);
    atomic_fetch_add(&self->with[status], 1);
    atomic_fetch_add(&self->count, 1);
}

static inline void tally_lost(lk_lock *lock, void *arg) {
    tally *self = arg;
    (void)lock;
    atomic_fetch_add(&self->losses, 1);
}

/* ------------------------------------------------------------------------------ processes */

/*
 * Another process, with a client of its own and up to ACTOR_HANDLES handles. It is told what to do
 * line by line, and answers each order with `<handle> <released> <status> <fence> <abandoned>`
 * when that is done. It is this program once more, started with "--actor", and ends when its input
 * does.
 */
enum { ACTOR_HANDLES = 32, ACTOR_LINE = 1024 };

typedef struct {
    pid_t pid;
    int orders;
    FILE *answers;
} actor;

typedef struct {
    int handle;
    bool released; /* it is the answer to an unlock */
    lk_status status;
    uint64_t fence;
    bool abandoned;
} actor_answer;

static inline void actor_report(int handle, bool released, lk_status status, const lk_lock *lock) {
    char line[128];
    int length = snprintf(line, sizeof line, "%d %d %d %" PRIu64 " %d\n", handle, released,
                          (int)status, lk_fence(lock), lk_abandoned(lock));
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(3);
}

static inline void actor_took(lk_lock *lock, lk_status status, void *arg) {
    actor_report((int)(intptr_t)arg, false, status, lock);
}

static inline void actor_gave(lk_lock *lock, lk_status status, void *arg) {
    actor_report((int)(intptr_t)arg, true, status, lock);
}

static inline bool actor_obey(lk_client *client, lk_lock **locks, char *line) {
    char what[16], name[ACTOR_LINE], owner[129] = "";
    int handle;
    long long number = 0;
    if (sscanf(line, "%15s %d", what, &handle) != 2 || handle < 0 || handle >= ACTOR_HANDLES)
        return false;
    void *arg = (void *)(intptr_t)handle;
    if (strcmp(what, "new") == 0) {
        if (sscanf(line, "new %*d %lld %1023s %128s", &number, name, owner) < 2)
            return false;
        lk_lock_options options = {.lease_ms = number, .owner = *owner ? owner : NULL};
        actor_report(handle, false, lk_lock_new(client, name, &options, &locks[handle]), NULL);
        return true;
    }
    lk_mode mode = strstr(what, "read") ? LK_READ : LK_WRITE;
    sscanf(line, "%*s %*d %lld", &number);
    lk_status status = strncmp(what, "un", 2) == 0
                           ? lk_release_async(locks[handle], mode, actor_gave, arg)
                           : lk_acquire_async(locks[handle], mode, number, actor_took, arg);
    if (status != LK_OK)
        actor_report(handle, false, status, NULL);
    return true;
}

/* What main() does with arguments. */
static inline int actor_main(int argc, char **argv) {
    lk_client *client;
    lk_lock *locks[ACTOR_HANDLES] = {0};
    char line[ACTOR_LINE];
    if (argc != 4 || strcmp(argv[1], "--actor") != 0 ||
        lk_open(argv[2], &(lk_client_options){.app = argv[3]}, &client) != LK_OK)
        return 2;
    bool understood = true;
    while (understood && fgets(line, sizeof line, stdin))
        understood = actor_obey(client, locks, line);
    lk_close(client);
    free_handles(locks, ACTOR_HANDLES);
    return understood ? 0 : 4;
}

static inline actor actor_start(const char *app) {
    int in[2], out[2];
    actor self;
    char program[] = "/proc/self/exe", word[] = "--actor";
    char *arguments[] = {program, word, world_url, test_copy(app, strlen(app)), NULL};
    posix_spawn_file_actions_t actions;
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        fail_msg("pipe2: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    int fault = posix_spawn(&self.pid, program, &actions, NULL, arguments, environ);
    if (fault)
        fail_msg("posix_spawn: %s", strerror(fault));
    posix_spawn_file_actions_destroy(&actions);
    free(arguments[3]);
    close(in[0]);
    close(out[1]);
    self.orders = in[1];
    self.answers = fdopen(out[0], "r");
    setvbuf(self.answers, NULL, _IONBF, 0); /* so that poll() knows what is there */
    return self;
}

static inline void actor_tell(actor *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void actor_tell(actor *self, const char *format, ...) {
    char line[ACTOR_LINE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    line[length++] = '\n';
    if (write(self->orders, line, (size_t)length) != length)
        fail_msg("an actor is gone");
}

static inline bool actor_has_answered(const actor *self, int timeout_ms) {
    struct pollfd polled = {fileno(self->answers), POLLIN, 0};
    return poll(&polled, 1, timeout_ms) == 1;
}

static inline actor_answer actor_hear(actor *self) {
    actor_answer answer = {0};
    char line[ACTOR_LINE];
    int released = 0, status = 0, abandoned = 0;
    if (!actor_has_answered(self, 2 * WORLD_PATIENCE_MS))
        fail_msg("an actor does not answer");
    if (!fgets(line, sizeof line, self->answers) ||
        sscanf(line, "%d %d %d %" SCNu64 " %d", &answer.handle, &released, &status, &answer.fence,
               &abandoned) != 5)
        fail_msg("an actor has ended");
    answer.released = released;
    answer.status = (lk_status)status;
    answer.abandoned = abandoned;
    return answer;
}

/* An order and its answer, which must be LK_OK. */
#define actor_does(self, ...) (actor_tell((self), __VA_ARGS__), actor_succeeds(self))

static inline actor_answer actor_succeeds(actor *self) {
    actor_answer answer = actor_hear(self);
    assert_string_equal(lk_status_name(answer.status), "LK_OK");
    return answer;
}

static inline void actor_forget(actor *self) {
    close(self->orders);
    fclose(self->answers);
}

/* It gets no chance to give anything back. */
static inline void actor_kill(actor *self) {
    kill(self->pid, SIGKILL);
    waitpid(self->pid, NULL, 0);
    actor_forget(self);
}

/* It closes its client. */
static inline void actor_end(actor *self) {
    int status = -1;
    close(self->orders);
    waitpid(self->pid, &status, 0);
    fclose(self->answers);
    assert_int_equal(status, 0);
}

#define world_main(argc, argv, tests)        \
    ((argc) > 1 ? actor_main((argc), (argv)) \
                : cmocka_run_group_tests((tests), world_open, world_close))

#endif
