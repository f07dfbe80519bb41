/* Whether a /tmp is one of this process's own, by what the kernel tells of mounts. */
#include "local/private_tmp.h"

#include "base/memory.h"
#include "local/local.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY_UID = 65534 };

#define ROOT_MOUNT "25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
#define ROOT_SUBVOLUME "25 1 0:30 /@root / rw,relatime shared:1 - btrfs /dev/sda1 rw\n"
#define TMPFS_MOUNT "40 25 0:35 / /tmp rw,nosuid,nodev shared:18 - tmpfs tmpfs rw\n"
#define PRIVATE_ON_DISK                                                                     \
    "90 25 8:1 /tmp/systemd-private-0123-web.service-AbCdEf/tmp /tmp rw,relatime shared:70" \
    " master:1 - ext4 /dev/sda1 rw\n"
#define PRIVATE_ON_TMPFS \
    "90 25 0:35 /systemd-private-0123-web.service-AbCdEf/tmp /tmp rw - tmpfs tmpfs rw\n"

static void assert_private(const char *ours, const char *inits) {
    assert_true(lki_mount_is_private(ours, inits, "/tmp"));
}

static void assert_shared(const char *ours, const char *inits) {
    assert_false(lki_mount_is_private(ours, inits, "/tmp"));
}

static void a_tmp_that_is_part_of_the_root_is_shared(void **state) {
    (void)state;
    assert_shared(ROOT_MOUNT, ROOT_MOUNT);
    assert_shared(ROOT_MOUNT, NULL);
}

static void a_tmp_that_process_1_has_too_is_shared(void **state) {
    (void)state;
    assert_shared(ROOT_MOUNT TMPFS_MOUNT, ROOT_MOUNT TMPFS_MOUNT);
    assert_shared(ROOT_MOUNT TMPFS_MOUNT, NULL);
}

static void a_private_tmp_of_systemd_is_private_also_where_process_1_is_hidden(void **state) {
    (void)state;
    assert_private(ROOT_MOUNT PRIVATE_ON_DISK, ROOT_MOUNT);
    assert_private(ROOT_MOUNT PRIVATE_ON_DISK, NULL);
    assert_private(ROOT_MOUNT TMPFS_MOUNT PRIVATE_ON_TMPFS, ROOT_MOUNT TMPFS_MOUNT);
    assert_private(ROOT_MOUNT TMPFS_MOUNT PRIVATE_ON_TMPFS, NULL);
}

static void a_tmp_of_another_file_system_than_that_of_process_1_is_private(void **state) {
    (void)state;
    assert_private(ROOT_MOUNT TMPFS_MOUNT, ROOT_MOUNT);
    assert_private(ROOT_MOUNT "40 25 0:77 / /tmp rw - tmpfs tmpfs rw\n", ROOT_MOUNT TMPFS_MOUNT);
    assert_private(ROOT_MOUNT "40 25 8:1 /tmp-inst/alice /tmp rw - ext4 /dev/sda1 rw\n",
                   ROOT_MOUNT);
}

/* ReadWritePaths=/tmp of systemd does that. */
static void a_tmp_that_is_mounted_onto_itself_is_shared(void **state) {
    (void)state;
    assert_shared(ROOT_MOUNT "40 25 8:1 /tmp /tmp rw - ext4 /dev/sda1 rw\n", ROOT_MOUNT);
    assert_shared(ROOT_SUBVOLUME "40 25 0:30 /@root/tmp /tmp rw - btrfs /dev/sda1 rw\n",
                  ROOT_SUBVOLUME);
    assert_private(ROOT_SUBVOLUME "40 25 0:30 /@root/tmp2 /tmp rw - btrfs /dev/sda1 rw\n",
                   ROOT_SUBVOLUME);
}

static void mounts_at_other_places_do_not_matter(void **state) {
    (void)state;
    static const char others[] = ROOT_MOUNT "41 25 0:77 / /tmpfs rw - tmpfs tmpfs rw\n"
                                            "42 25 0:78 / /tmp/x rw - tmpfs tmpfs rw\n"
                                            "43 25 0:79 / /var/tmp rw - tmpfs tmpfs rw\n";
    assert_shared(others, ROOT_MOUNT);
    assert_true(lki_mount_is_private(others, ROOT_MOUNT, "/var/tmp"));
}

static void the_mount_on_top_counts(void **state) {
    (void)state;
    assert_private(ROOT_MOUNT TMPFS_MOUNT PRIVATE_ON_TMPFS, ROOT_MOUNT TMPFS_MOUNT);
    assert_shared(ROOT_MOUNT PRIVATE_ON_DISK TMPFS_MOUNT, ROOT_MOUNT TMPFS_MOUNT);
}

static void lines_that_make_no_sense_are_passed_over(void **state) {
    (void)state;
    static const char *const texts[] = {"",          "\n", "\n\n\n",  "a b c",
                                        "a b c d e", " ",  "     \n", "1 2 3:4 / /tmp"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_shared(texts[i], ROOT_MOUNT);
        assert_shared(ROOT_MOUNT TMPFS_MOUNT, texts[i]);
    }
}

/* ------------------------------------------------------------------------------ for real */

/* Exit codes of a child in a mount namespace of its own; 77: none is to be had here. */
static int in_a_private_tmp(int (*run)(void)) {
    int ended;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        unsetenv("LATCHKEY_LOCAL_DIR");
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", "/tmp", "tmpfs", 0, NULL) != 0)
            _exit(77);
        _exit(run());
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    return WEXITSTATUS(ended);
}

static int look_as_nobody(void) {
    char *folder = NULL;
    lki_error error;
    if (setuid(NOBODY_UID) != 0)
        return 1;
    return lki_local_folder(&folder, &error) == LK_UNAVAILABLE && !folder &&
                   strstr(error.text, "/tmp is private") && strstr(error.text, "LATCHKEY_URL")
               ? 0
               : 2;
}

static int look_as_root(void) {
    char *folder = NULL;
    lki_error error;
    int code = lki_local_folder(&folder, &error) == LK_OK && !strncmp(folder, "/run/", 5) ? 0 : 3;
    lki_free(folder);
    return code;
}

static int name_a_folder_in_it(void) {
    char *folder = NULL;
    lk_local_info *info = NULL;
    lki_error error;
    setenv("LATCHKEY_LOCAL_DIR", "/tmp/here", 1);
    if (lki_local_folder(&folder, &error) != LK_OK || lk_local_status(&info) != LK_OK)
        return 4;
    int code = info->unshared ? 0 : 5;
    lk_local_info_free(info);
    lki_free(folder);
    return code;
}

static bool may_mount(void) {
    struct stat run;
    return geteuid() == 0 && stat("/run", &run) == 0 && run.st_uid == 0 && !(run.st_mode & 022) &&
           in_a_private_tmp(look_as_root) != 77;
}

static void a_user_is_refused_in_a_private_tmp(void **state) {
    (void)state;
    if (!may_mount())
        skip();
    assert_int_equal(in_a_private_tmp(look_as_nobody), 0);
}

static void root_has_a_place_that_is_seen_from_a_private_tmp(void **state) {
    (void)state;
    if (!may_mount())
        skip();
    assert_int_equal(in_a_private_tmp(look_as_root), 0);
}

static void a_folder_that_was_named_is_taken_and_told_to_be_unshared(void **state) {
    (void)state;
    if (!may_mount())
        skip();
    assert_int_equal(in_a_private_tmp(name_a_folder_in_it), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tmp_that_is_part_of_the_root_is_shared),
        cmocka_unit_test(a_tmp_that_process_1_has_too_is_shared),
        cmocka_unit_test(a_private_tmp_of_systemd_is_private_also_where_process_1_is_hidden),
        cmocka_unit_test(a_tmp_of_another_file_system_than_that_of_process_1_is_private),
        cmocka_unit_test(a_tmp_that_is_mounted_onto_itself_is_shared),
        cmocka_unit_test(mounts_at_other_places_do_not_matter),
        cmocka_unit_test(the_mount_on_top_counts),
        cmocka_unit_test(lines_that_make_no_sense_are_passed_over),
        cmocka_unit_test(a_user_is_refused_in_a_private_tmp),
        cmocka_unit_test(root_has_a_place_that_is_seen_from_a_private_tmp),
        cmocka_unit_test(a_folder_that_was_named_is_taken_and_told_to_be_unshared),
    };
    return cmocka_run_group_tests_name("local: private /tmp", tests, NULL, NULL);
}
