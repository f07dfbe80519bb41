/* `local:`: a server is there when it is asked for, one and not two, and with what it had. */
#include "local_world.h"

#include "local/folder.h"

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { LONG_MS = 20000, SHORT_MS = 200, CROWD = 20 };

/* One command's answer as a text, to be freed. */
static char *ask(const char *command) {
    redisContext *link = redisConnectUnix(world_file("server.sock"));
    assert_non_null(link);
    assert_int_equal(link->err, 0);
    redisReply *reply = redisCommand(link, command);
    char *text = reply && reply->str ? strdup(reply->str) : NULL;
    freeReplyObject(reply);
    redisFree(link);
    assert_non_null(text);
    return text;
}

static void assert_answer(const char *command, const char *expected) {
    char *text = ask(command);
    assert_string_equal(text, expected);
    free(text);
}

static int listen_in_folder(void) {
    assert_int_equal(mkdir(world.folder, 0700), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", world_file("server.sock"));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void first_use_starts_a_server(void **state) {
    (void)state;
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    assert_answer("PING", "PONG");
    assert_int_equal(world_servers(0), 1);
}

static void second_use_finds_the_same_server(void **state) {
    (void)state;
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    pid_t first = world_pid();
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    assert_true(first > 0);
    assert_int_equal(world_pid(), first);
    assert_int_equal(world_servers(0), 1);
}

static void many_processes_at_once_start_one_server(void **state) {
    (void)state;
    int gate[2], ended;
    pid_t crowd[CROWD];
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = fork();
        assert_true(crowd[i] >= 0);
        if (crowd[i] == 0) {
            char byte;
            close(gate[1]);
            ssize_t opened = read(gate[0], &byte, 1);
            _exit(opened == 0 && world_ensure(LONG_MS) == LK_OK ? 0 : 1);
        }
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(waitpid(crowd[i], &ended, 0), crowd[i]);
        assert_int_equal(ended, 0);
    }
    assert_int_equal(world_servers(0), 1);
    assert_answer("PING", "PONG");
}

static void a_killed_server_comes_back_with_its_data(void **state) {
    (void)state;
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    pid_t first = world_pid();
    assert_answer("SET colour green", "OK");
    kill(first, SIGKILL);
    world_await_end(first);
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    assert_int_not_equal(world_pid(), first);
    assert_answer("GET colour", "green");
}

static void a_server_whose_folder_was_removed_is_ended_and_replaced(void **state) {
    (void)state;
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    pid_t first = world_pid();
    world_remove(world.folder);
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    assert_int_not_equal(world_pid(), first);
    world_await_end(first);
    assert_answer("PING", "PONG");
}

/* The kernel marks a removed folder by these words; this one is only called so. */
static void a_server_whose_folder_has_the_name_of_a_removed_one_lives_on(void **state) {
    (void)state;
    char folder[sizeof world.folder];
    memcpy(folder, world.folder, sizeof folder);
    snprintf(world.folder, sizeof world.folder, "%.80s (deleted)", folder);
    setenv("LATCHKEY_LOCAL_DIR", world.folder, 1);
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    pid_t pid = world_pid();
    memcpy(world.folder, folder, sizeof folder);
    setenv("LATCHKEY_LOCAL_DIR", world.folder, 1);
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    pid_t other = world_pid();
    assert_true(pid > 0 && pid != other);
    world_remove(world.folder); /* and the server there is ended, after any that would be, too */
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    world_await_end(other);
    assert_false(world_is_gone(pid));
}

static void a_server_without_its_socket_gets_no_rival(void **state) {
    (void)state;
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    assert_int_equal(unlink(world_file("server.sock")), 0);
    assert_int_equal(world_ensure(SHORT_MS), LK_UNAVAILABLE);
    world_assert_says("does not listen");
    assert_int_equal(world_servers(0), 1);
}

static void a_stopped_server_gets_no_rival(void **state) {
    (void)state;
    char pid[WORLD_PATH];
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    snprintf(pid, sizeof pid, "(pid %ld)", (long)world_pid());
    kill(world_pid(), SIGSTOP);
    int64_t deadline_us = lki_after_ms(lki_now_us(), SHORT_MS);
    assert_int_equal(world_ensure_until(deadline_us, -1), LK_UNAVAILABLE);
    assert_true(lki_now_us() >= deadline_us);
    world_assert_says(pid);
    world_assert_says("stopped");
    assert_int_equal(world_servers(0), 1);
}

static void whoever_starts_a_server_is_waited_for(void **state) {
    (void)state;
    assert_int_equal(mkdir(world.folder, 0700), 0);
    int lock = open(world_file("start.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(world_ensure(SHORT_MS), LK_UNAVAILABLE);
    world_assert_says("in time");
    assert_int_equal(world_servers(0), 0);
    close(lock);
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
}

static void *write_one_byte(void *fd) {
    return write(*(int *)fd, "x", 1) == 1 ? NULL : fd;
}

/* Without a deadline: if stop_fd were not heard, this would never end. */
static void assert_breaks_off(void) {
    int ends[2];
    pthread_t thread;
    void *failed;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&thread, NULL, write_one_byte, &ends[1]), 0);
    assert_int_equal(world_ensure_until(LKI_NEVER, ends[0]), LK_CANCELED);
    pthread_join(thread, &failed);
    assert_null(failed);
    close(ends[0]);
    close(ends[1]);
}

static void stop_breaks_off_waiting_for_an_answer(void **state) {
    (void)state;
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    kill(world_pid(), SIGSTOP);
    assert_breaks_off();
}

static void stop_breaks_off_waiting_for_another_starter(void **state) {
    (void)state;
    assert_int_equal(mkdir(world.folder, 0700), 0);
    int lock = open(world_file("start.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_breaks_off();
    close(lock);
}

static void stop_breaks_off_waiting_for_a_server_to_come_up(void **state) {
    (void)state;
    world_fake_program("redis-server", "exec /bin/sleep 60");
    assert_breaks_off();
}

/* A server that says each of these to one connection. */
typedef struct {
    int fd;
    const char *const *answers; /* those not yet said, up to NULL */
} scripted;

static void *answer_each(void *argument) {
    scripted *server = argument;
    for (; *server->answers; server->answers++) {
        char bytes[64];
        int fd = accept(server->fd, NULL, NULL);
        if (fd < 0)
            break;
        if (read(fd, bytes, sizeof bytes) <= 0 ||
            write(fd, *server->answers, strlen(*server->answers)) < 0)
            abort();
        close(fd);
    }
    return NULL;
}

static lk_status ensure_with(const char *const *answers, int64_t ms) {
    pthread_t thread;
    scripted server = {.fd = listen_in_folder(), .answers = answers};
    assert_int_equal(listen(server.fd, 1), 0);
    assert_int_equal(pthread_create(&thread, NULL, answer_each, &server), 0);
    lk_status status = world_ensure(ms);
    shutdown(server.fd, SHUT_RDWR); /* nobody waits for a connection that does not come */
    pthread_join(thread, NULL);
    close(server.fd);
    assert_null(*server.answers);
    return status;
}

static void a_server_that_loads_is_waited_for(void **state) {
    (void)state;
    const char *const answers[] = {"-LOADING the data\r\n", "-LOADING the data\r\n", "",
                                   "+PONG\r\n", NULL};
    assert_int_equal(ensure_with(answers, LONG_MS), LK_OK);
}

static void a_server_that_refuses_ping_is_a_server(void **state) {
    (void)state;
    const char *const answers[] = {"-NOAUTH no\r\n", NULL};
    assert_int_equal(ensure_with(answers, LONG_MS), LK_OK);
}

static void a_server_of_somebody_else_is_refused(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    int fd = listen_in_folder();
    assert_int_equal(seteuid(NOBODY_UID), 0);
    int listening = listen(fd, 1);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(listening, 0);
    assert_int_equal(world_ensure(LONG_MS), LK_DENIED);
    world_assert_says("belongs to another user");
    close(fd);
}

/* A program may change its environment: our threads do not look at it, and stay where they were. */
static void a_client_goes_back_to_the_folder_that_it_was_opened_with(void **state) {
    (void)state;
    lk_client *client = NULL;
    lk_lock *lock = NULL;
    assert_int_equal(lk_open("local:", NULL, &client), LK_OK);
    assert_int_equal(lk_lock_new(client, "a", NULL, &lock), LK_OK);
    setenv("LATCHKEY_LOCAL_DIR", "relative", 1);
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(world_servers(SIGKILL), 1);
    assert_int_equal(lk_wrlock(lock), LK_OK);
    assert_int_equal(access(world_file(LKI_LOCAL_SOCKET), F_OK), 0);
    lk_lock_free(lock);
    lk_close(client);
    world_clear();
}

#define LOCAL_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        LOCAL_TEST(first_use_starts_a_server),
        LOCAL_TEST(second_use_finds_the_same_server),
        LOCAL_TEST(a_client_goes_back_to_the_folder_that_it_was_opened_with),
        LOCAL_TEST(many_processes_at_once_start_one_server),
        LOCAL_TEST(a_killed_server_comes_back_with_its_data),
        LOCAL_TEST(a_server_whose_folder_was_removed_is_ended_and_replaced),
        LOCAL_TEST(a_server_whose_folder_has_the_name_of_a_removed_one_lives_on),
        LOCAL_TEST(a_server_without_its_socket_gets_no_rival),
        LOCAL_TEST(a_stopped_server_gets_no_rival),
        LOCAL_TEST(whoever_starts_a_server_is_waited_for),
        LOCAL_TEST(stop_breaks_off_waiting_for_an_answer),
        LOCAL_TEST(stop_breaks_off_waiting_for_another_starter),
        LOCAL_TEST(stop_breaks_off_waiting_for_a_server_to_come_up),
        LOCAL_TEST(a_server_that_loads_is_waited_for),
        LOCAL_TEST(a_server_that_refuses_ping_is_a_server),
        LOCAL_TEST(a_server_of_somebody_else_is_refused),
    };
    return cmocka_run_group_tests_name("local", tests, NULL, NULL);
}
