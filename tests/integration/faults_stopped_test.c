/*
 * A process is stopped (SIGSTOP, a debugger, a sleeping laptop) during its calls, for longer than
 * the calls wait for the server. The answers are in its socket when it continues, and the calls
 * find them there.
 */
#include "world.h"

#include <spawn.h>
#include <sys/prctl.h>

enum { COMMAND_TIMEOUT_MS = 3000, STOPPED_MS = 3500, TAKERS = 6, LOOKERS = 3, ASYNCS = 3 };
enum { CALLS = TAKERS + LOOKERS + ASYNCS };

/* ------------------------------------------------------------------------------ the process */

static lk_client *own;

static void *look(void *status) {
    lk_info *info = NULL;
    *(lk_status *)status = lk_inspect(own, "looked at", &info);
    lk_info_free(info);
    return NULL;
}

/* Makes all calls at once, and returns how many failed. */
static int make_calls(lk_lock **locks) {
    call takers[TAKERS];
    pthread_t lookers[LOOKERS];
    lk_status looked[LOOKERS];
    tally asyncs[ASYNCS] = {0};
    int failures = 0;
    for (int i = 0; i < ASYNCS; i++)
        if (lk_acquire_async(locks[TAKERS + i], LK_WRITE, 0, tally_done, &asyncs[i]) != LK_OK)
            abort();
    for (int i = 0; i < TAKERS; i++)
        begin_call(&takers[i], lk_trywrlock, locks[i]);
    for (int i = 0; i < LOOKERS; i++)
        pthread_create(&lookers[i], NULL, look, &looked[i]);
    for (int i = 0; i < TAKERS; i++) {
        pthread_join(takers[i].thread, NULL);
        failures += takers[i].status != LK_OK;
    }
    for (int i = 0; i < LOOKERS; i++) {
        pthread_join(lookers[i], NULL);
        failures += looked[i] != LK_OK;
    }
    for (int i = 0; i < ASYNCS; i++) {
        while (!atomic_load(&asyncs[i].count))
            sleep_ms(1);
        failures += atomic_load(&asyncs[i].status) != LK_OK;
    }
    return failures;
}

/*
 * `words`: the program, its parent, the socket. It reports that it is ready, and waits for its
 * order.
 */
static int child_main(char **words) {
    lk_lock *locks[TAKERS + ASYNCS];
    char name[16], go;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)strtol(words[1], NULL, 10)) /* it died before the line above */
        return 100;
    own = open_client_at(words[2], COMMAND_TIMEOUT_MS);
    for (int i = 0; i < TAKERS + ASYNCS; i++) {
        snprintf(name, sizeof name, "lock:%d", i);
        locks[i] = new_lock(own, name);
    }
    lk_wrlock(locks[0]); /* so the server knows the scripts, and each call is one request */
    lk_wrunlock(locks[0]);
    lk_status looked;
    look(&looked);
    if (write(STDOUT_FILENO, "!", 1) != 1 || read(STDIN_FILENO, &go, 1) != 1)
        return 101;
    int failures = make_calls(locks);
    free_locks(locks, TAKERS + ASYNCS);
    close_client(own);
    return failures;
}

/* ------------------------------------------------------------------------------ its test */

typedef struct {
    pid_t pid;
    int orders, answers;
} child;

static child start_child(const char *socket) {
    int in[2], out[2];
    child self;
    char *words[] = {world_print("/proc/self/exe"), world_print("%d", (int)getpid()),
                     world_print("%s", socket), NULL};
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    assert_int_equal(posix_spawn(&self.pid, words[0], &actions, NULL, words, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    self.orders = in[1];
    self.answers = out[0];
    return self;
}

static void stop_child(const child *self) {
    int status;
    kill(self->pid, SIGSTOP);
    assert_int_equal(waitpid(self->pid, &status, WUNTRACED), self->pid);
    assert_true(WIFSTOPPED(status));
}

/*
 * Several calls: one of them, or the keeper, reads the answers of all. The others sleep and look at
 * the clock meanwhile.
 */
TEST(calls_of_a_process_that_was_stopped_find_their_answers) {
    char ready;
    int status;
    proxy *net = start_proxy();
    child process = start_child(proxy_socket(net));
    assert_int_equal(read(process.answers, &ready, 1), 1);
    size_t requests = proxy_requests(net, PROXY_ALL);
    proxy_pause(net, PROXY_ALL, PROXY_TO_CLIENT);
    assert_int_equal(write(process.orders, "!", 1), 1);
    assert_true(proxy_wait_requests(net, PROXY_ALL, requests + CALLS, LONG_MS));
    stop_child(&process);
    proxy_resume(net, PROXY_ALL, PROXY_TO_CLIENT);
    eventually(ask("DBSIZE") == TAKERS + ASYNCS);
    sleep_ms(STOPPED_MS);
    kill(process.pid, SIGCONT);
    assert_int_equal(waitpid(process.pid, &status, 0), process.pid);
    assert_int_equal(status, 0);
    close(process.orders);
    close(process.answers);
    eventually(is_empty());
}

int main(int count, char **words) {
    if (count == 3)
        return child_main(words);
    return world_run(begin_world);
}
