/* The server of a test program, and the running of its tests. */
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
    world_close(state);
    redisFree(probe);
    test_server_stop(server);
    free(server_url);
    return 0;
}

/* No test sees the URL and the password of the user. */
int empty_server(void **state) {
    (void)state;
    unsetenv("LATCHKEY_URL");
    unsetenv("LATCHKEY_PASSWORD");
    unsetenv("LATCHKEY_SENTINEL_PASSWORD");
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
        tests[count++] = (struct CMUnitTest){test->name, run_one, empty_server, world_close, test};
    }
    int failed =
        _cmocka_run_group_tests(program_invocation_short_name, tests, count, begin, end_world);
    free(tests);
    return failed;
}

int world_main(int argc, char **argv) {
    return actor_is_asked_for(argc, argv) ? actor_main(argv) : world_run(begin_world);
}
