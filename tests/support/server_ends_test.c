/* tests/support/server.c: however a test ends, its server and the server's folder go with it. */
#include "server.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct {
    pid_t pid;
    char socket[256];
} started;

typedef void ending(void);

/*
 * Starts a server in a process that then ends like that; returns what was started. The signals are
 * sent to the server and to the process, in this order; 0: none.
 */
static started run_and_end(ending *how, int server_signal, int signal_sent) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        test_server *server = test_server_start(test_server_any(), NULL);
        started note = {.pid = server ? test_server_pid(server) : 0};
        if (server)
            snprintf(note.socket, sizeof note.socket, "%s", test_server_socket(server));
        if (write(ends[1], &note, sizeof note) != (ssize_t)sizeof note)
            _exit(1);
        how();
    }
    started note;
    assert_int_equal(read(ends[0], &note, sizeof note), sizeof note);
    assert_true(note.pid > 0);
    if (server_signal)
        kill(note.pid, server_signal);
    if (signal_sent)
        kill(child, signal_sent);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
    return note;
}

/* We are the reaper of what our children leave behind: the server ends, or this never returns. */
static void assert_server_ends(const started *note) {
    int status;
    pid_t ended = waitpid(note->pid, &status, 0);
    assert_true(ended == note->pid || ended == -1); /* -1: its parent has seen its end */
    assert_int_not_equal(kill(note->pid, 0), 0);
}

static char *folder_of(const started *note) {
    static char folder[256];
    snprintf(folder, sizeof folder, "%s", note->socket);
    *strrchr(folder, '/') = '\0';
    return folder;
}

static void end_by_exit(void) {
    exit(0);
}

static void wait_for_signal(void) {
    for (;;)
        pause();
}

static void a_stopped_server_leaves_nothing(void **state) {
    (void)state;
    test_server *server = test_server_start(test_server_any(), NULL);
    assert_non_null(server);
    started note = {.pid = test_server_pid(server)};
    snprintf(note.socket, sizeof note.socket, "%s", test_server_socket(server));
    assert_int_equal(access(note.socket, F_OK), 0);
    test_server_stop(server);
    assert_server_ends(&note);
    assert_int_not_equal(access(folder_of(&note), F_OK), 0);
}

static void a_server_gets_the_options_of_its_caller(void **state) {
    (void)state;
    const char *const good[] = {"--maxclients", "50", NULL};
    const char *const bad[] = {"--no-such-option", "yes", NULL};
    test_server *server = test_server_start(test_server_any(), good);
    assert_non_null(server);
    test_server_stop(server);
    assert_null(test_server_start(test_server_any(), bad));
}

static void a_program_that_is_not_there_is_told(void **state) {
    (void)state;
    assert_false(test_server_available("no-such-server"));
    assert_false(test_server_available("/no/such/server"));
    assert_true(test_server_available(test_server_any()));
    assert_null(test_server_start("no-such-server", NULL));
}

static void a_test_that_exits_takes_its_server_along(void **state) {
    (void)state;
    started note = run_and_end(end_by_exit, 0, 0);
    assert_server_ends(&note);
    assert_int_not_equal(access(folder_of(&note), F_OK), 0);
}

static void a_test_that_aborts_takes_its_server_along(void **state) {
    (void)state;
    started note = run_and_end(abort, 0, 0);
    assert_server_ends(&note);
    assert_int_not_equal(access(folder_of(&note), F_OK), 0);
}

static void a_test_that_is_terminated_takes_its_server_along(void **state) {
    (void)state;
    started note = run_and_end(wait_for_signal, 0, SIGTERM);
    assert_server_ends(&note);
    assert_int_not_equal(access(folder_of(&note), F_OK), 0);
}

static void a_test_that_is_terminated_takes_its_paused_server_along(void **state) {
    (void)state;
    started note = run_and_end(wait_for_signal, SIGSTOP, SIGTERM);
    assert_server_ends(&note);
    assert_int_not_equal(access(folder_of(&note), F_OK), 0);
}

/* Nobody is left to remove the folder then. */
static void assert_killed_test_leaves_only_its_folder(int server_signal) {
    started note = run_and_end(wait_for_signal, server_signal, SIGKILL);
    assert_server_ends(&note);
    char *folder = folder_of(&note), log[300];
    snprintf(log, sizeof log, "%s/server.log", folder);
    unlink(note.socket);
    unlink(log);
    assert_int_equal(rmdir(folder), 0);
}

static void a_test_that_is_killed_takes_its_server_along(void **state) {
    (void)state;
    assert_killed_test_leaves_only_its_folder(0);
}

static void a_test_that_is_killed_takes_its_paused_server_along(void **state) {
    (void)state;
    assert_killed_test_leaves_only_its_folder(SIGSTOP);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_server_leaves_nothing),
        cmocka_unit_test(a_server_gets_the_options_of_its_caller),
        cmocka_unit_test(a_program_that_is_not_there_is_told),
        cmocka_unit_test(a_test_that_exits_takes_its_server_along),
        cmocka_unit_test(a_test_that_aborts_takes_its_server_along),
        cmocka_unit_test(a_test_that_is_terminated_takes_its_server_along),
        cmocka_unit_test(a_test_that_is_terminated_takes_its_paused_server_along),
        cmocka_unit_test(a_test_that_is_killed_takes_its_server_along),
        cmocka_unit_test(a_test_that_is_killed_takes_its_paused_server_along),
    };
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
