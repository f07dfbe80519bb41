/* `local:`: where the folder is, and that it is private before anything is put into it. */
#include "local_world.h"

enum { LONG_MS = 20000 };

static mode_t mode_of(const char *path) {
    struct stat found;
    assert_int_equal(lstat(path, &found), 0);
    return found.st_mode & 07777;
}

static void a_new_folder_is_private(void **state) {
    (void)state;
    mode_t before = umask(0);
    lk_status status = world_ensure(LONG_MS);
    umask(before);
    assert_int_equal(status, LK_OK);
    assert_int_equal(mode_of(world.folder), 0700);
    assert_int_equal(mode_of(world_file("server.sock")), 0700);
    assert_int_equal(mode_of(world_file("server.log")), 0600);
    assert_int_equal(mode_of(world_file("server.pid")), 0600);
}

static void a_lax_folder_is_tightened(void **state) {
    (void)state;
    assert_int_equal(mkdir(world.folder, 0700), 0);
    assert_int_equal(chmod(world.folder, 0755), 0);
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
    assert_int_equal(mode_of(world.folder), 0700);
}

static void a_lax_folder_of_other_things_is_left_alone(void **state) {
    (void)state;
    assert_int_equal(mkdir(world.folder, 0700), 0);
    int other = open(world_file("letter.txt"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(other >= 0);
    close(other);
    assert_int_equal(chmod(world.folder, 0755), 0);
    assert_int_equal(world_ensure(LONG_MS), LK_DENIED);
    world_assert_says("contains other files");
    assert_int_equal(mode_of(world.folder), 0755);
}

/* The data that a server would load, and the file that it would be locked by, may be theirs. */
static void a_folder_that_others_can_write_to_is_refused(void **state) {
    (void)state;
    static const mode_t modes[] = {0777, 01777, 0770, 0720, 0702};
    assert_int_equal(mkdir(world.folder, 0700), 0);
    int lock = open(world_file("start.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_true(lock >= 0);
    close(lock);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(world.folder, modes[i]), 0);
        assert_int_equal(world_ensure(LONG_MS), LK_DENIED);
        world_assert_says("others can write");
        world_assert_says("LATCHKEY_LOCAL_DIR");
        assert_int_equal(mode_of(world.folder), modes[i]);
    }
    assert_int_equal(world_servers(0), 0);
}

static void a_folder_of_somebody_else_is_refused(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(world.folder, 0700), 0);
    assert_int_equal(chown(world.folder, NOBODY_UID, NOBODY_UID), 0);
    assert_int_equal(world_ensure(LONG_MS), LK_DENIED);
    world_assert_says("belongs to another user");
    world_assert_says(world.folder);
    assert_int_equal(world_servers(0), 0);
}

/* As under `sudo -E`: to remove the folder would take the server from the user who called it. */
static void advice_about_a_foreign_folder_names_both_users_and_harms_neither(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(world.folder, 0700), 0);
    assert_int_equal(chown(world.folder, NOBODY_UID, NOBODY_UID), 0);
    assert_int_equal(world_ensure(LONG_MS), LK_DENIED);
    world_assert_says("uid 65534, but this program runs as uid 0");
    world_assert_says("sudo -u '#65534'");
    world_assert_says("unset LATCHKEY_LOCAL_DIR");
    assert_null(strstr(world.error.text, "remove"));
}

static void open_what_nobody_may(void) {
    if (chown(world.folder, NOBODY_UID, NOBODY_UID) != 0 || chmod(world.folder, 0) != 0 ||
        setuid(NOBODY_UID) != 0)
        _exit(1);
    _exit(world_ensure(LONG_MS) == LK_DENIED && strstr(world.error.text, "cannot be opened") ? 0
                                                                                             : 1);
}

static void a_folder_of_ours_without_rights_is_not_called_somebody_elses(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(world.folder, 0700), 0);
    assert_int_equal(chmod(world.root, 0755), 0);
    assert_int_equal(world_in_a_process(open_what_nobody_may), 0);
}

static void become_somebody_else(void) {
    if (setuid(NOBODY_UID) != 0)
        _exit(1);
    _exit(world_ensure(LONG_MS) == LK_DENIED && strstr(world.error.text, "belongs to another user")
              ? 0
              : 1);
}

static void a_folder_that_cannot_even_be_opened_is_refused(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(world.folder, 0700), 0);
    assert_int_equal(chmod(world.root, 0755), 0);
    assert_int_equal(world_in_a_process(become_somebody_else), 0);
}

static void a_symbolic_link_is_refused(void **state) {
    (void)state;
    char target[WORLD_PATH], with_slash[WORLD_PATH];
    snprintf(target, sizeof target, "%s/elsewhere", world.root);
    snprintf(with_slash, sizeof with_slash, "%s/", world.folder);
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(symlink(target, world.folder), 0);
    assert_int_equal(world_ensure(LONG_MS), LK_DENIED);
    world_assert_says("is not a folder");
    setenv("LATCHKEY_LOCAL_DIR", with_slash, 1);
    assert_int_equal(world_ensure(LONG_MS), LK_DENIED);
    assert_int_equal(world_servers(0), 0);
}

static void a_file_is_refused(void **state) {
    (void)state;
    int file = open(world.folder, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(world_ensure(LONG_MS), LK_DENIED);
}

static void a_folder_without_a_parent_is_told(void **state) {
    (void)state;
    setenv("LATCHKEY_LOCAL_DIR", world_file("deeper"), 1);
    assert_int_equal(world_ensure(LONG_MS), LK_UNAVAILABLE);
    world_assert_says("cannot make the folder");
    world_assert_says("unset LATCHKEY_LOCAL_DIR");
}

static void a_relative_folder_is_invalid(void **state) {
    (void)state;
    setenv("LATCHKEY_LOCAL_DIR", "somewhere/here", 1);
    assert_int_equal(world_ensure(LONG_MS), LK_INVALID);
    world_assert_says("absolute");
}

/* A folder of that many bytes. */
static void make_long_name(char *path, size_t length) {
    snprintf(path, length + 1, "%s/%0*d", world.root, (int)(length - strlen(world.root) - 1), 0);
    assert_int_equal(strlen(path), length);
}

static void the_longest_folder_has_room_for_the_socket(void **state) {
    (void)state;
    char path[WORLD_PATH];
    make_long_name(path, 107 - strlen("/server.sock"));
    setenv("LATCHKEY_LOCAL_DIR", path, 1);
    snprintf(world.folder, sizeof world.folder, "%.95s", path);
    assert_int_equal(world_ensure(LONG_MS), LK_OK);
}

static void a_longer_folder_is_invalid(void **state) {
    (void)state;
    char path[WORLD_PATH];
    make_long_name(path, 107 - strlen("/server.sock") + 1);
    setenv("LATCHKEY_LOCAL_DIR", path, 1);
    assert_int_equal(world_ensure(LONG_MS), LK_INVALID);
    world_assert_says("too long");
}

static void assert_default_folder(const char *runtime, const char *expected) {
    char *folder = NULL;
    lki_error error;
    unsetenv("LATCHKEY_LOCAL_DIR");
    if (runtime)
        setenv("XDG_RUNTIME_DIR", runtime, 1);
    else
        unsetenv("XDG_RUNTIME_DIR");
    assert_int_equal(lki_local_folder(&folder, &error), LK_OK);
    assert_string_equal(folder, expected);
    lki_free(folder);
}

static void look_for_the_folder_of_nobody(void) {
    char expected[WORLD_PATH];
    if (geteuid() == 0 && setuid(NOBODY_UID) != 0)
        _exit(1);
    snprintf(expected, sizeof expected, "/tmp/latchkey-%lu", (unsigned long)geteuid());
    assert_default_folder(world.root, expected);
    assert_default_folder(NULL, expected);
}

/* A job of cron has no XDG_RUNTIME_DIR, the shell beside it has one: they must meet. */
static void the_folder_is_the_users_whatever_the_session(void **state) {
    (void)state;
    assert_int_equal(world_in_a_process(look_for_the_folder_of_nobody), 0);
}

/* Where a service of root's with a private /tmp meets root's shell. */
static void the_folder_of_root_is_in_run(void **state) {
    (void)state;
    struct stat run;
    if (geteuid() != 0 || stat("/run", &run) != 0 || run.st_uid != 0 || (run.st_mode & 022))
        skip();
    assert_default_folder(world.root, "/run/latchkey");
    assert_default_folder(NULL, "/run/latchkey");
}

#define LOCAL_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        LOCAL_TEST(a_new_folder_is_private),
        LOCAL_TEST(a_lax_folder_is_tightened),
        LOCAL_TEST(a_lax_folder_of_other_things_is_left_alone),
        LOCAL_TEST(a_folder_that_others_can_write_to_is_refused),
        LOCAL_TEST(a_folder_of_somebody_else_is_refused),
        LOCAL_TEST(advice_about_a_foreign_folder_names_both_users_and_harms_neither),
        LOCAL_TEST(a_folder_of_ours_without_rights_is_not_called_somebody_elses),
        LOCAL_TEST(a_folder_that_cannot_even_be_opened_is_refused),
        LOCAL_TEST(a_symbolic_link_is_refused),
        LOCAL_TEST(a_file_is_refused),
        LOCAL_TEST(a_folder_without_a_parent_is_told),
        LOCAL_TEST(a_relative_folder_is_invalid),
        LOCAL_TEST(the_longest_folder_has_room_for_the_socket),
        LOCAL_TEST(a_longer_folder_is_invalid),
        LOCAL_TEST(the_folder_is_the_users_whatever_the_session),
        LOCAL_TEST(the_folder_of_root_is_in_run),
    };
    return cmocka_run_group_tests_name("local: folder", tests, NULL, NULL);
}
