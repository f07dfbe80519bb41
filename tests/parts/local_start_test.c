/* `local:`: the server is no part of the program that started it, and its failures are told. */
#include "local_world.h"

#include <sys/resource.h>

enum { LONG_MS = 20000, SHORT_MS = 200 };

static void start_and_interrupt_the_group(void) {
    setpgid(0, 0);
    if (world_ensure(LONG_MS) == LK_OK)
        kill(0, SIGINT);
}

static void a_server_survives_its_starter(void **state) {
    (void)state;
    int ended = world_in_a_process(start_and_interrupt_the_group);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGINT);
    pid_t pid = world_pid();
    assert_false(world_is_gone(pid));
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    assert_int_equal(world_pid(), pid);
    assert_int_not_equal(getpgid(pid), getpgrp());
    assert_int_not_equal(getsid(pid), getsid(0));
}

/* Where a descriptor of the server leads. */
static const char *target_of(const char *fd) {
    static char target[WORLD_PATH];
    char link[WORLD_PATH];
    snprintf(link, sizeof link, "/proc/%ld/fd/%.20s", (long)world_pid(), fd);
    ssize_t length = readlink(link, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    return target;
}

static void a_server_inherits_no_descriptor(void **state) {
    (void)state;
    char path[WORLD_PATH];
    snprintf(path, sizeof path, "%s/secret", world.root);
    int secret = open(path, O_RDWR | O_CREAT, 0600);
    int ends[2];
    assert_true(secret >= 0 && pipe(ends) == 0);
    int far = fcntl(secret, F_DUPFD, 900);
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    char pipe_name[WORLD_PATH];
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    ssize_t length = readlink(path, pipe_name, sizeof pipe_name - 1);
    assert_true(length > 0);
    pipe_name[length] = '\0';
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)world_pid());
    DIR *descriptors = opendir(path);
    assert_non_null(descriptors);
    for (const struct dirent *entry; (entry = readdir(descriptors));) {
        const char *target = target_of(entry->d_name);
        assert_null(strstr(target, "/secret"));
        assert_null(strstr(target, "start.lock"));
        assert_string_not_equal(target, pipe_name);
    }
    closedir(descriptors);
    close(far);
    close(secret);
    close(ends[0]);
    close(ends[1]);
}

static void start_without_standard_descriptors(void) {
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    _exit(world_ensure(LONG_MS) == LK_OK ? 0 : 1);
}

static void a_starter_needs_no_standard_descriptors(void **state) {
    (void)state;
    assert_int_equal(world_in_a_process(start_without_standard_descriptors), 0);
    assert_string_equal(target_of("0"), world.folder);
    char log[WORLD_PATH];
    snprintf(log, sizeof log, "%s/server.log", world.folder);
    assert_string_equal(target_of("1"), log);
    assert_string_equal(target_of("2"), log);
}

static volatile sig_atomic_t children_heard;

static void hear_child(int number) {
    (void)number;
    children_heard = 1;
}

static void start_and_look_for_children(void) {
    signal(SIGCHLD, hear_child);
    bool started = world_ensure(LONG_MS) == LK_OK;
    bool none = waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
    _exit(started && none && !children_heard ? 0 : 1);
}

static void the_starter_has_no_child_to_notice(void **state) {
    (void)state;
    assert_int_equal(world_in_a_process(start_and_look_for_children), 0);
}

static void ignore_children_and_start(void) {
    struct sigaction now;
    signal(SIGCHLD, SIG_IGN);
    bool started = world_ensure(LONG_MS) == LK_OK;
    sigaction(SIGCHLD, NULL, &now);
    _exit(started && now.sa_handler == SIG_IGN ? 0 : 1);
}

static void a_starter_may_ignore_its_children(void **state) {
    (void)state;
    assert_int_equal(world_in_a_process(ignore_children_and_start), 0);
}

static void start_deaf_to_signals(void) {
    sigset_t all, now;
    sigfillset(&all);
    signal(SIGUSR2, SIG_IGN);
    sigprocmask(SIG_SETMASK, &all, NULL);
    bool started = world_ensure(LONG_MS) == LK_OK;
    sigprocmask(SIG_SETMASK, NULL, &now);
    _exit(started && sigismember(&now, SIGTERM) ? 0 : 1);
}

static unsigned long long status_mask(const char *name) {
    char path[WORLD_PATH], line[WORLD_PATH];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)world_pid());
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    unsigned long long mask = ~0ULL;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            mask = strtoull(line + strlen(name), NULL, 16);
    fclose(file);
    return mask;
}

static void a_server_hears_signals_that_its_starter_does_not(void **state) {
    (void)state;
    assert_int_equal(world_in_a_process(start_deaf_to_signals), 0);
    assert_true(status_mask("SigBlk:") == 0);
    assert_true((status_mask("SigIgn:") & (1ULL << (SIGUSR2 - 1))) == 0);
}

static void a_missing_program_is_told_with_what_to_install(void **state) {
    (void)state;
    setenv("PATH", world.root, 1);
    assert_int_equal(world_ensure(LONG_MS), LK_UNAVAILABLE);
    world_assert_says("apt-get install redis-server");
    world_assert_says("URL");
}

static void a_program_that_fails_is_told_with_its_last_words(void **state) {
    (void)state;
    world_fake_program("redis-server", "echo first; echo 'out of luck' >&2; echo; exit 1");
    assert_int_equal(world_ensure(LONG_MS), LK_UNAVAILABLE);
    world_assert_says("/redis-server");
    world_assert_says(": out of luck");
}

static void last_words_of_an_earlier_start_are_not_told(void **state) {
    (void)state;
    world_fake_program("redis-server", "echo 'out of luck'; exit 1");
    assert_int_equal(world_ensure(LONG_MS), LK_UNAVAILABLE);
    world_fake_program("redis-server", "exit 1");
    assert_int_equal(world_ensure(LONG_MS), LK_UNAVAILABLE);
    world_assert_says("wrote nothing");
}

static void a_program_that_cannot_be_executed_is_told(void **state) {
    (void)state;
    world_fake_program("redis-server", "");
    char path[WORLD_PATH];
    snprintf(path, sizeof path, "%s/bin/redis-server", world.root);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(world_ensure(LONG_MS), LK_UNAVAILABLE);
    world_assert_says("cannot be executed");
}

static void a_program_that_hangs_is_told_at_the_deadline(void **state) {
    (void)state;
    world_fake_program("redis-server", "echo 'one moment'; exec /bin/sleep 60");
    assert_int_equal(world_ensure(SHORT_MS), LK_UNAVAILABLE);
    world_assert_says("one moment");
    assert_int_equal(world_ensure(SHORT_MS), LK_UNAVAILABLE);
    assert_int_equal(world_servers(0), 1);
}

/* The first start loses its folder at once, the second one is a real server. */
static void a_folder_removed_while_its_server_starts_is_made_again(void **state) {
    (void)state;
    char script[2 * WORLD_PATH + 1024];
    snprintf(script, sizeof script,
             "if [ ! -e %s/once ]; then : > %s/once; /bin/rm -r %s; exec /bin/sleep 60; fi\n"
             "PATH=%.600s\n"
             "command -v valkey-server > /dev/null && exec valkey-server \"$@\"\n"
             "exec redis-server \"$@\"",
             world.root, world.root, world.folder, world.path);
    world_fake_program("redis-server", script);
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    assert_false(world_is_gone(world_pid()));
}

static void valkey_comes_before_redis(void **state) {
    (void)state;
    world_fake_program("redis-server", "echo redis; exit 1");
    world_fake_program("valkey-server", "echo valkey; exit 1");
    assert_int_equal(world_ensure(LONG_MS), LK_UNAVAILABLE);
    world_assert_says(": valkey");
}

static int open_descriptors(void) {
    int count = 0;
    DIR *descriptors = opendir("/proc/self/fd");
    assert_non_null(descriptors);
    while (readdir(descriptors))
        count++;
    closedir(descriptors);
    return count;
}

static int allocations_left;

static bool refuse_at_zero(void) {
    return allocations_left-- == 0;
}

static void every_refused_allocation_is_told(void **state) {
    (void)state;
    int before = open_descriptors(), refused = 0;
    lk_status status = LK_NOMEM;
    for (; status == LK_NOMEM; refused++) {
        allocations_left = refused;
        lki_memory_refuse(refuse_at_zero);
        status = world_ensure(LONG_MS);
        lki_memory_refuse(NULL);
    }
    assert_int_equal(status, LK_OK);
    assert_true(refused > 4);
    assert_true(allocations_left >= 0);
    assert_int_equal(open_descriptors(), before);
}

/* Up to the point where a server is started, which would inherit the limit. */
static void every_missing_descriptor_is_told(void **state) {
    (void)state;
    struct rlimit limit, low;
    int next = fcntl(0, F_DUPFD, 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    setenv("PATH", world.root, 1);
    lk_status status = LK_NOMEM;
    int missing = 0;
    for (; status == LK_NOMEM; missing++) {
        low = (struct rlimit){.rlim_cur = (rlim_t)(next + missing), .rlim_max = limit.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        status = world_ensure(SHORT_MS);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    assert_int_equal(status, LK_UNAVAILABLE);
    assert_true(missing > 2);
}

#define LOCAL_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        LOCAL_TEST(a_server_survives_its_starter),
        LOCAL_TEST(a_server_inherits_no_descriptor),
        LOCAL_TEST(a_starter_needs_no_standard_descriptors),
        LOCAL_TEST(the_starter_has_no_child_to_notice),
        LOCAL_TEST(a_starter_may_ignore_its_children),
        LOCAL_TEST(a_server_hears_signals_that_its_starter_does_not),
        LOCAL_TEST(a_missing_program_is_told_with_what_to_install),
        LOCAL_TEST(a_program_that_fails_is_told_with_its_last_words),
        LOCAL_TEST(last_words_of_an_earlier_start_are_not_told),
        LOCAL_TEST(a_program_that_cannot_be_executed_is_told),
        LOCAL_TEST(a_program_that_hangs_is_told_at_the_deadline),
        LOCAL_TEST(a_folder_removed_while_its_server_starts_is_made_again),
        LOCAL_TEST(valkey_comes_before_redis),
        LOCAL_TEST(every_refused_allocation_is_told),
        LOCAL_TEST(every_missing_descriptor_is_told),
    };
    return cmocka_run_group_tests_name("local: start", tests, NULL, NULL);
}
