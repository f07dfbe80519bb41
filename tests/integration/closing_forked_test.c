/* After fork() and exec(): the use that a child can make of its parent's clients and locks. */
#include "world.h"

/* A child cannot assert. Its exit status tells which check failed. */
#define check(condition)               \
    do {                               \
        if (!(condition))              \
            _exit(__LINE__ % 200 + 1); \
    } while (0)

/* Runs `run` in a child, and returns its exit status, or -1. */
static int in_a_child(void (*run)(lk_client *, lk_lock *), lk_client *client, lk_lock *lock) {
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        run(client, lock);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void never(lk_lock *lock, lk_status status, void *arg) {
    (void)lock, (void)status, (void)arg;
    _exit(200);
}

static bool never_listed(const char *name, void *arg) {
    (void)name, (void)arg;
    _exit(200);
}

static void use_what_is_the_parents(lk_client *client, lk_lock *lock) {
    lk_lock *made = NULL;
    lk_info *info = NULL;
    check(lk_rdlock(lock) == LK_INVALID);
    check(strstr(lk_last_error(), "fork"));
    check(lk_tryrdlock(lock) == LK_INVALID);
    check(lk_timedrdlock(lock, 10) == LK_INVALID);
    check(lk_wrlock(lock) == LK_INVALID);
    check(lk_trywrlock(lock) == LK_INVALID);
    check(lk_timedwrlock(lock, 10) == LK_INVALID);
    check(lk_rdunlock(lock) == LK_INVALID);
    check(lk_wrunlock(lock) == LK_INVALID);
    check(lk_unlock(lock) == LK_INVALID);
    check(lk_downgrade(lock) == LK_INVALID);
    check(lk_renew(lock, 0) == LK_INVALID);
    check(lk_cancel(lock) == LK_INVALID);
    check(lk_acquire_async(lock, LK_WRITE, 0, never, NULL) == LK_INVALID);
    check(lk_release_async(lock, LK_WRITE, never, NULL) == LK_INVALID);
    check(lk_lock_new(client, "c:child", NULL, &made) == LK_INVALID && !made);
    check(lk_inspect(client, "c:fork", &info) == LK_INVALID && !info);
    check(lk_list(client, NULL, never_listed, NULL) == LK_INVALID);
    check(lk_force_release(client, "c:fork", NULL) == LK_INVALID);
    check(lk_dispatch(client) == LK_INVALID);
    check(lk_fd(client) == -1);
    check(!lk_valid(lock));
    check(lk_remaining_ms(lock) == 0);
    check(lk_reads(lock) == 0 && lk_writes(lock) == 0);
    free_lock(lock);
    close_client(client);
}

TEST(every_call_on_the_parents_client_is_refused_and_touches_nothing) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "c:fork");
    assert_ok(lk_wrlock(lock));
    long long before = command_calls("evalsha");
    assert_int_equal(in_a_child(use_what_is_the_parents, client, lock), 0);
    assert_int_equal(command_calls("evalsha"), before);
    assert_true(lk_valid(lock));
    assert_true(is_holder(client, "c:fork", lock));
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

static bool is_a_descriptor_of_a_client(int fd) {
    char path[64], target[256] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (readlink(path, target, sizeof target - 1) < 0)
        return false;
    return strstr(target, "socket:") || strstr(target, "eventfd") || strstr(target, "timerfd");
}

static int descriptors_of_clients(void) {
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += is_a_descriptor_of_a_client(fd);
    return count;
}

static int descriptors_without_a_client;

static void close_and_count(lk_client *client, lk_lock *lock) {
    (void)lock;
    check(descriptors_of_clients() > descriptors_without_a_client);
    close_client(client);
    check(descriptors_of_clients() == descriptors_without_a_client);
}

TEST(closing_in_the_child_closes_its_descriptors_alone) {
    descriptors_without_a_client = descriptors_of_clients();
    lk_client *client = open_client();
    call waiter;
    lk_lock *locks[] = {new_leased_lock(client, "c:fork-close", 300),
                        new_lock(client, "c:fork-close")};
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&waiter, locks[1], LK_WRITE, client, "c:fork-close", 1); /* has all connections */
    assert_ok(lk_cancel(locks[1]));
    assert_call(&waiter, LK_CANCELED);
    assert_int_equal(in_a_child(close_and_count, client, locks[0]), 0);
    begin_wait(&waiter, locks[1], LK_WRITE, client, "c:fork-close", 1);
    assert_true(lk_valid(locks[0]));
    assert_ok(lk_wrunlock(locks[0]));
    assert_call(&waiter, LK_OK);
}

/* A stopped server accepts connections and does not answer, so the client is always connecting. */
TEST(closing_in_the_child_closes_a_connection_that_is_being_made) {
    atomic_int lost = 0;
    descriptors_without_a_client = descriptors_of_clients();
    lk_client *client = open_client();
    int before = descriptors_of_clients();
    kill(test_server_pid(server), SIGSTOP);
    lk_lock *lock = new_watched_lock(client, "c:fork-dial", 0, &lost);
    int64_t end_ms = now_ms() + 2000;
    while (descriptors_of_clients() == before && now_ms() < end_ms)
        sleep_ms(POLL_MS);
    int child = in_a_child(close_and_count, client, lock);
    kill(test_server_pid(server), SIGCONT);
    assert_int_equal(child, 0);
}

/* Under the thread sanitizer, the child of a process with threads cannot start any. */
#if defined(__SANITIZE_THREAD__)
#define NO_THREADS_AFTER_FORK 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NO_THREADS_AFTER_FORK 1
#endif
#endif

#ifndef NO_THREADS_AFTER_FORK
static void use_a_client_of_its_own(lk_client *client, lk_lock *lock) {
    lk_client *own = NULL;
    lk_lock *locks[2];
    (void)client, (void)lock;
    check(lk_open(server_url, NULL, &own) == LK_OK);
    check(lk_lock_new(own, "c:own", NULL, &locks[0]) == LK_OK);
    check(lk_lock_new(own, "c:own-2", NULL, &locks[1]) == LK_OK);
    check(lk_trywrlock(locks[0]) == LK_BUSY); /* the parent has it */
    check(lk_timedrdlock(locks[0], 10) == LK_TIMEOUT);
    check(lk_wrlock(locks[1]) == LK_OK);
    check(lk_valid(locks[1]));
    check(lk_wrunlock(locks[1]) == LK_OK);
    free_locks(locks, 2);
    close_client(own);
}

TEST(a_childs_own_client_works) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "c:own");
    assert_ok(lk_wrlock(lock));
    assert_int_equal(in_a_child(use_a_client_of_its_own, client, lock), 0);
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}
#endif

/* ------------------------------------------------------------------------------ exec */

TEST(no_descriptor_of_a_client_is_inherited_by_another_program) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "c:exec"), new_lock(client, "c:exec")};
    call waiter;
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&waiter, locks[1], LK_WRITE, client, "c:exec", 1);
    int seen = 0;
    for (int fd = 0; fd < 256; fd++) {
        if (!is_a_descriptor_of_a_client(fd) || fd == probe->fd || fd <= STDERR_FILENO)
            continue;
        seen++;
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
    assert_true(seen >= 2); /* two connections at least */
    assert_ok(lk_wrunlock(locks[0]));
    assert_call(&waiter, LK_OK);
}

int main(void) {
    return world_run(begin_world);
}
