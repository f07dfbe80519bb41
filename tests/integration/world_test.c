/*
 * The world of the tests itself (support/world.h): after a test that fails, everything is closed
 * that it has opened. The first two tests run in a process of their own, since one of them fails.
 */
#include "network.h"

#include <spawn.h>

TEST(child_test_fails_with_everything_open) {
    lk_client *own = open_client(), *cut_off = open_client_at(proxy_socket(start_proxy()), 0);
    lk_lock *held = new_lock(own, "a"), *waiter = new_lock(own, "a"), *later = new_lock(own, "a");
    actor process = actor_start("process");
    tally done = {0};
    call blocked;
    actor_does(&process, "new 0 30000 b");
    actor_does(&process, "write 0 -1");
    assert_ok(lk_wrlock(new_lock(cut_off, "c")));
    assert_ok(lk_wrlock(held));
    begin_wait(&blocked, waiter, LK_WRITE, own, "a", 1);
    assert_ok(lk_acquire_async(later, LK_WRITE, -1, tally_done, &done));
    ask("CONFIG SET maxmemory 1");
    ask_at_end("CONFIG SET maxmemory 0");
    kill(test_server_pid(server), SIGSTOP);
    fail_msg("as it should");
}

TEST_WITH(network, child_test_finds_no_trace_of_it) {
    assert_int_equal(connections_named("latchkey:process"), 0);
    assert_int_equal(connections_named("latchkey:world_test"), 3); /* those of this test */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);               /* a child: the server, alive */
    assert_nothing_left();
    wait_behind_holder();
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
}

TEST(everything_is_closed_after_a_test_that_fails) {
    char word[] = "--child", *words[] = {program_invocation_name, word, NULL};
    posix_spawn_file_actions_t silence;
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_init(&silence);
    posix_spawn_file_actions_addopen(&silence, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&silence, STDOUT_FILENO, STDERR_FILENO);
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &silence, NULL, words, environ), 0);
    posix_spawn_file_actions_destroy(&silence);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1); /* one test of two has failed */
}

int main(int argc, char **argv) {
    if (argc == 2)
        cmocka_set_test_filter("child_test_*");
    else
        cmocka_set_skip_filter("child_test_*");
    return world_main(argc, argv);
}
