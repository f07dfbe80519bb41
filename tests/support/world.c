/* The server of a test program, the things that a test owns, and the running of tests. */
#include "world.h"

#include "world_private.h"

test_server *server;
char *server_url;
redisContext *probe;

/* ------------------------------------------------------------------------------ time */

int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sleep_us(int64_t us) {
    nanosleep(&(struct timespec){us / 1000000, (long)(us % 1000000) * 1000}, NULL);
}

void sleep_ms(int64_t ms) {
    sleep_us(ms * 1000);
}

/* ------------------------------------------------------------------------------ checks */

void check_status(lk_status got, lk_status wanted, const char *what, const char *file, int line) {
    if (got == wanted)
        return;
    print_error("%s is %s, not %s: %s\n", what, lk_status_name(got), lk_status_name(wanted),
                got == LK_OK ? "" : lk_last_error());
    _fail(file, line);
}

void check_says(const char *text, const char *words, bool wanted, const char *file, int line) {
    if ((strstr(text, words) != NULL) == wanted)
        return;
    print_error("\"%s\" %s \"%s\"\n", text, wanted ? "does not say" : "says", words);
    _fail(file, line);
}

/* ------------------------------------------------------------------------------ owning */

typedef struct {
    world_kind kind;
    void *thing;
} property;

/* Any thread may open and close: callbacks free locks. */
static struct {
    pthread_mutex_t lock;
    property *all;
    size_t count;
} owned = {.lock = PTHREAD_MUTEX_INITIALIZER};

void world_own(world_kind kind, void *thing) {
    pthread_mutex_lock(&owned.lock);
    owned.all = test_grow(owned.all, owned.count, sizeof *owned.all);
    owned.all[owned.count++] = (property){kind, thing};
    pthread_mutex_unlock(&owned.lock);
}

/* The caller holds the lock. */
static void remove_owned(size_t index) {
    owned.count--;
    memmove(&owned.all[index], &owned.all[index + 1], (owned.count - index) * sizeof *owned.all);
}

void world_disown(const void *thing) {
    pthread_mutex_lock(&owned.lock);
    size_t i = owned.count;
    while (i > 0 && owned.all[i - 1].thing != thing)
        i--;
    if (i > 0)
        remove_owned(i - 1);
    pthread_mutex_unlock(&owned.lock);
}

/* Takes the one that was opened last; NULL: there is none. */
static void *take_owned(world_kind kind) {
    void *thing = NULL;
    pthread_mutex_lock(&owned.lock);
    size_t i = owned.count;
    while (i > 0 && owned.all[i - 1].kind != kind)
        i--;
    if (i > 0) {
        thing = owned.all[i - 1].thing;
        remove_owned(i - 1);
    }
    pthread_mutex_unlock(&owned.lock);
    return thing;
}

/* The command is as redisFormatCommand() has made it. */
static void undo(char *command) {
    redisReply *reply = NULL;
    redisAppendFormattedCommand(probe, command, strlen(command));
    redisGetReply(probe, (void **)&reply);
    freeReplyObject(reply);
    redisFreeCommand(command);
}

static void close_owned(world_kind kind, void *thing) {
    switch (kind) {
    case WORLD_CALL:
        end_call(thing);
        break;
    case WORLD_LOCK:
        lk_lock_free(thing);
        break;
    case WORLD_CLIENT:
        lk_close(thing);
        break;
    case WORLD_INFO:
        lk_info_free(thing);
        break;
    case WORLD_REPLY:
        freeReplyObject(thing);
        break;
    case WORLD_TEXT:
        free(thing);
        break;
    case WORLD_UNDO:
        undo(thing);
        break;
    case WORLD_PROXY:
        proxy_stop(thing);
        break;
    case WORLD_FAKE:
        fake_server_stop(thing);
        break;
    case WORLD_CONNECTION:
        redisFree(thing);
        break;
    case WORLD_SERVER:
        test_server_stop(thing);
        break;
    case WORLD_KINDS:
        break;
    }
}

static void close_kind(world_kind kind) {
    for (void *thing; (thing = take_owned(kind));)
        close_owned(kind, thing);
}

static bool owns_any(world_kind kind) {
    bool found = false;
    for (size_t i = 0; i < owned.count; i++)
        found = found || owned.all[i].kind == kind;
    return found;
}

/* Ends what a failed test has done to the server and the network. */
static void end_harm(void) {
    kill(test_server_pid(server), SIGCONT);
    for (size_t i = 0; i < owned.count; i++) {
        if (owned.all[i].kind == WORLD_PROXY) {
            proxy_refuse(owned.all[i].thing, false);
            proxy_resume(owned.all[i].thing, PROXY_ALL, PROXY_BOTH);
        }
    }
}

static void (*before_closing)(void), (*after_closing)(void);

void run_before_closing(void (*run)(void)) {
    before_closing = run;
}

void run_after_closing(void (*run)(void)) {
    after_closing = run;
}

static void run_once(void (**run)(void)) {
    void (*now)(void) = *run;
    *run = NULL;
    if (now)
        now();
}

/* Calls run on only when a test has failed: closing the clients ends them. */
__attribute__((noinline)) static void close_all_owned(void) {
    end_harm();
    run_once(&before_closing);
    if (owns_any(WORLD_CALL))
        close_kind(WORLD_CLIENT);
    for (world_kind kind = 0; kind < WORLD_KINDS; kind++)
        close_kind(kind);
    actor_kill_all();
    run_once(&after_closing);
}

/*
 * The frame of a failed test is gone, but calls and callbacks may still write to it until the world
 * has ended them. So that part of the stack stays as it is: cmocka works above it, run_one() leaves
 * that much room, and the world closes everything below it. A sanitizer would mark the room.
 */
enum { ROOM_FOR_CMOCKA = 64 * 1024, ROOM_FOR_TEST = 512 * 1024 };
#define HAS_ROOM __attribute__((noinline, no_sanitize("address")))

HAS_ROOM static int close_test(void **state) {
    volatile char room[ROOM_FOR_CMOCKA + ROOM_FOR_TEST];
    (void)state;
    room[0] = 0;
    close_all_owned();
    return room[0];
}

char *world_print(const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    assert_true(vasprintf(&text, format, arguments) >= 0);
    va_end(arguments);
    world_own(WORLD_TEXT, text);
    return text;
}

/* ------------------------------------------------------------------------------ the server */

static redisReply *check_reply(redisContext *connection, redisReply *reply, const char *format) {
    if (!reply)
        fail_msg("%s: the server does not answer: %s", format, connection->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", format, reply->str);
    return reply;
}

static long long integer_of(redisReply *reply) {
    long long number = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
    freeReplyObject(reply);
    return number;
}

redisReply *ask_reply(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(probe, format, arguments);
    va_end(arguments);
    world_own(WORLD_REPLY, check_reply(probe, reply, format));
    return reply;
}

void ask_at_end(const char *format, ...) {
    char *command = NULL;
    va_list arguments;
    va_start(arguments, format);
    assert_true(redisvFormatCommand(&command, format, arguments) > 0);
    va_end(arguments);
    world_own(WORLD_UNDO, command);
}

long long ask(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(probe, format, arguments);
    va_end(arguments);
    return integer_of(check_reply(probe, reply, format));
}

long long ask_at(redisContext *connection, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(connection, format, arguments);
    va_end(arguments);
    return integer_of(check_reply(connection, reply, format));
}

long long key_count(void) {
    return ask("DBSIZE");
}

bool is_empty(void) {
    return key_count() == 0;
}

void assert_nothing_left(void) {
    assert_int_equal(key_count(), 0);
}

long long command_calls(const char *command) {
    redisReply *reply = ask_reply("INFO commandstats");
    char *wanted = world_print("cmdstat_%s:calls=", command);
    const char *found = strstr(reply->str, wanted);
    long long calls = found ? strtoll(found + strlen(wanted), NULL, 10) : 0;
    return calls;
}

size_t connections_named(const char *name) {
    redisReply *reply = ask_reply("CLIENT LIST");
    char *wanted = world_print(" name=%s ", name);
    size_t count = 0;
    for (const char *at = reply->str; (at = strstr(at, wanted)); at++)
        count++;
    return count;
}

test_server *start_server(const char *const *options) {
    test_server *started = test_server_start(test_server_any(), options);
    assert_non_null(started);
    world_own(WORLD_SERVER, started);
    return started;
}

static redisContext *connect_without_owner(const test_server *to) {
    redisContext *connection = redisConnectUnix(test_server_socket(to));
    assert_non_null(connection);
    assert_int_equal(connection->err, 0);
    return connection;
}

redisContext *connect_to(const test_server *to) {
    redisContext *connection = connect_without_owner(to);
    world_own(WORLD_CONNECTION, connection);
    return connection;
}

proxy *start_proxy(void) {
    proxy *started = proxy_start(test_server_socket(server));
    assert_non_null(started);
    world_own(WORLD_PROXY, started);
    return started;
}

static fake_server *own_fake(fake_server *started) {
    assert_non_null(started);
    world_own(WORLD_FAKE, started);
    return started;
}

fake_server *start_fake(void) {
    return own_fake(fake_server_start(test_server_socket(server)));
}

fake_server *start_lone_fake(void) {
    return own_fake(fake_server_start(NULL));
}

void stop_fake(fake_server *fake) {
    world_disown(fake);
    fake_server_stop(fake);
}

void take_server_away(proxy *from) {
    proxy_refuse(from, true);
    proxy_cut_all(from, PROXY_ALL);
}

/* ------------------------------------------------------------------------------ the world */

int begin_world_of(test_server *started) {
    alarm(PROGRAM_SECONDS);
    if (!started)
        return -1;
    server = started;
    server_url = test_print("unix://%s", test_server_socket(server));
    probe = connect_without_owner(server);
    return 0;
}

int begin_world(void **state) {
    (void)state;
    return begin_world_of(test_server_start(test_server_any(), NULL));
}

int end_world(void **state) {
    close_test(state);
    redisFree(probe);
    test_server_stop(server);
    free(server_url);
    free(owned.all);
    owned.all = NULL;
    return 0;
}

/* No test sees the URL and the password of the user. */
int empty_server(void **state) {
    (void)state;
    unsetenv("LATCHKEY_URL");
    unsetenv("LATCHKEY_PASSWORD");
    ask("FLUSHALL");
    return 0;
}

/* ------------------------------------------------------------------------------ tests */

static world_test *first_test, **next_test = &first_test;

void world_add(world_test *test) {
    *next_test = test;
    next_test = &test->next;
}

HAS_ROOM static void run_one(void **state) {
    volatile char room[ROOM_FOR_CMOCKA];
    const world_test *self = *state;
    room[0] = 0;
    if (self->open)
        self->open();
    self->run();
    (void)room[0];
}

int world_run(int (*begin)(void **state)) {
    size_t count = 0;
    struct CMUnitTest *tests = NULL;
    for (world_test *test = first_test; test; test = test->next) {
        tests = test_grow(tests, count, sizeof *tests);
        tests[count++] = (struct CMUnitTest){test->name, run_one, empty_server, close_test, test};
    }
    int failed =
        _cmocka_run_group_tests(program_invocation_short_name, tests, count, begin, end_world);
    free(tests);
    return failed;
}

int world_main(int argc, char **argv) {
    return actor_is_asked_for(argc, argv) ? actor_main(argv) : world_run(begin_world);
}
