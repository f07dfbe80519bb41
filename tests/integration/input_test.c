/* Bad input to every function: the status, the argument that the error names, and no change. */
#include "world.h"

/* A pointer for an output that the call must not touch. */
static char marker;

#define untouched(type) ((type *)(void *)&marker)

/* ------------------------------------------------------------------------------ NULL */

static bool never_listed(const char *name, void *arg) {
    (void)name;
    *(bool *)arg = true;
    return true;
}

TEST(a_handle_that_is_null_is_refused_by_name) {
    static lk_status (*const calls[])(lk_lock *) = {
        lk_rdlock,   lk_tryrdlock, lk_wrlock,    lk_trywrlock,
        lk_rdunlock, lk_wrunlock,  lk_downgrade, lk_cancel,
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        assert_status(calls[i](NULL), LK_INVALID);
        assert_said("handle");
    }
    assert_status(lk_timedrdlock(NULL, 1), LK_INVALID);
    assert_status(lk_timedwrlock(NULL, 1), LK_INVALID);
    assert_status(lk_renew(NULL, 0), LK_INVALID);
    assert_status(lk_acquire_async(NULL, LK_READ, 0, NULL, NULL), LK_INVALID);
    assert_status(lk_release_async(NULL, LK_READ, NULL, NULL), LK_INVALID);
}

TEST(questions_about_null_have_answers) {
    assert_false(lk_valid(NULL));
    assert_int_equal(lk_remaining_ms(NULL), 0);
    assert_true(lk_fence(NULL) == 0);
    assert_false(lk_abandoned(NULL));
    assert_null(lk_owner(NULL));
}

TEST(a_client_that_is_null_is_refused_by_name) {
    lk_lock *lock = untouched(lk_lock);
    lk_info *info = untouched(lk_info);
    bool listed = false;
    assert_status(lk_lock_new(NULL, "i:null", NULL, &lock), LK_INVALID);
    assert_said("client");
    assert_status(lk_inspect(NULL, "i:null", &info), LK_INVALID);
    assert_said("client");
    assert_status(lk_list(NULL, NULL, never_listed, &listed), LK_INVALID);
    assert_said("client");
    assert_status(lk_force_release(NULL, "i:null", NULL), LK_INVALID);
    assert_said("client");
    assert_ptr_equal(lock, &marker);
    assert_ptr_equal(info, &marker);
    assert_false(listed);
}

TEST(other_arguments_that_are_null_are_refused_by_name) {
    lk_client *client = open_client();
    lk_lock *lock = untouched(lk_lock);
    lk_info *info = untouched(lk_info);
    assert_status(lk_open(server_url, NULL, NULL), LK_INVALID);
    assert_said("out");
    assert_status(lk_lock_new(client, NULL, NULL, &lock), LK_INVALID);
    assert_said("name");
    assert_status(lk_lock_new(client, "i:null", NULL, NULL), LK_INVALID);
    assert_said("out");
    assert_status(lk_inspect(client, NULL, &info), LK_INVALID);
    assert_said("name");
    assert_status(lk_inspect(client, "i:null", NULL), LK_INVALID);
    assert_said("out");
    assert_status(lk_list(client, NULL, NULL, NULL), LK_INVALID);
    assert_said("each");
    assert_status(lk_force_release(client, NULL, NULL), LK_INVALID);
    assert_said("name");
    assert_ptr_equal(lock, &marker);
    assert_ptr_equal(info, &marker);
}

/* ------------------------------------------------------------------------------ names */

static char *long_text(int length) {
    char *text = world_print("%*s", length, "");
    memset(text, 'n', (size_t)length);
    return text;
}

static void assert_name_refused(lk_client *client, const char *name) {
    lk_lock *lock = untouched(lk_lock);
    lk_info *info = untouched(lk_info);
    assert_status(lk_lock_new(client, name, NULL, &lock), LK_INVALID);
    assert_said("name");
    assert_said("512");
    assert_status(lk_inspect(client, name, &info), LK_INVALID);
    assert_status(lk_force_release(client, name, NULL), LK_INVALID);
    assert_ptr_equal(lock, &marker);
    assert_ptr_equal(info, &marker);
}

TEST(a_name_has_1_to_512_bytes) {
    lk_client *client = open_client();
    char *longest = long_text(512), *longer = long_text(513);
    assert_name_refused(client, "");
    assert_name_refused(client, longer);
    const char *const good[] = {"n", longest};
    for (size_t i = 0; i < 2; i++) {
        lk_lock *lock = new_lock(client, good[i]);
        assert_ok(lk_wrlock(lock));
        assert_int_equal(look_at(client, good[i]).holders, 1);
        assert_ok(lk_wrunlock(lock));
    }
}

TEST(a_sentence_has_room_for_the_longest_name) {
    lk_client *client = open_client();
    char *name = long_text(512);
    lk_lock *locks[] = {new_lock(client, name), new_lock(client, name)};
    assert_ok(lk_wrlock(locks[0]));
    assert_status(lk_trywrlock(locks[1]), LK_BUSY);
    assert_said(name);
    assert_said(server_url);
    assert_said(lk_status_text(LK_BUSY));
}

static const char *const odd_names[] = {
    " ",
    "a b",
    "a\nb",
    "a\r\nb",
    "\t",
    "{",
    "}",
    "{}",
    "}{",
    "{a}",
    "a}",
    "%",
    "%}",
    "%25",
    "a%",
    "\xff",
    "\x01",
    "a\xff",
    "\xc3\xa4\xe2\x82\xac",
    "\"",
    "'",
    "\\",
    "*",
    "?",
    "[a]",
    "lk:{a}",
    "a:i",
    "a}:i",
    "$6",
    "*1",
};

enum { ODD_NAMES = sizeof odd_names / sizeof *odd_names };

TEST(names_with_odd_bytes_are_locks_like_any_other) {
    lk_client *client = open_client();
    lk_lock *locks[ODD_NAMES], *others[ODD_NAMES];
    for (size_t i = 0; i < ODD_NAMES; i++) {
        locks[i] = new_lock(client, odd_names[i]);
        others[i] = new_lock(client, odd_names[i]);
        assert_ok(lk_trywrlock(locks[i])); /* each has a lock of its own */
    }
    for (size_t i = 0; i < ODD_NAMES; i++) {
        assert_status(lk_tryrdlock(others[i]), LK_BUSY);
        lk_info *info = inspect(client, odd_names[i]);
        assert_string_equal(info->name, odd_names[i]);
        assert_int_equal(info->holder_total, 1);
        assert_string_equal(info->holders[0].owner, lk_owner(locks[i]));
        assert_ok(lk_wrunlock(locks[i]));
        assert_ok(lk_tryrdlock(others[i]));
        assert_ok(lk_rdunlock(others[i]));
    }
    assert_nothing_left();
}

TEST(odd_names_are_waited_for_like_any_other) {
    lk_client *client = open_client();
    for (size_t i = 0; i < ODD_NAMES; i++) {
        lk_lock *locks[] = {new_lock(client, odd_names[i]), new_lock(client, odd_names[i])};
        call waiter;
        assert_ok(lk_wrlock(locks[0]));
        begin_wait(&waiter, locks[1], LK_WRITE, client, odd_names[i], 1);
        assert_ok(lk_wrunlock(locks[0]));
        assert_call(&waiter, LK_OK);
    }
}

TEST(groups_and_owners_may_have_odd_bytes) {
    lk_client *client = open_client_with(&(lk_client_options){.app = "an app\nof \xff words"});
    for (size_t i = 0; i < ODD_NAMES; i++) {
        lk_lock_options options = {.group = odd_names[i], .owner = odd_names[i]};
        lk_lock *lock = new_lock_with(client, "i:odd", &options);
        assert_ok(lk_rdlock(lock));
        lk_info *info = inspect(client, "i:odd");
        assert_string_equal(info->holders[0].group, odd_names[i]);
        assert_string_equal(info->holders[0].owner, odd_names[i]);
        assert_string_equal(info->holders[0].app, "an app\nof \xff words");
        assert_ok(lk_rdunlock(lock));
    }
}

/* ------------------------------------------------------------------------------ handles */

static void assert_options_refused(lk_client *client, const lk_lock_options *options,
                                   const char *part) {
    lk_lock *lock = untouched(lk_lock);
    assert_status(lk_lock_new(client, "i:options", options, &lock), LK_INVALID);
    assert_said(part);
    assert_ptr_equal(lock, &marker);
}

TEST(a_lease_is_100_ms_to_24_h) {
    lk_client *client = open_client();
    const int64_t bad[] = {-1, 1, 99, 86400001, INT64_MAX, INT64_MIN}, good[] = {100, 86400000};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_options_refused(client, &(lk_lock_options){.lease_ms = bad[i]}, "lease_ms");
    for (size_t i = 0; i < 2; i++) {
        lk_lock *lock = new_leased_lock(client, "i:lease", good[i]);
        assert_ok(lk_wrlock(lock));
        assert_true(lk_remaining_ms(lock) <= good[i]);
        assert_ok(lk_renew(lock, 86400000));
        assert_true(lk_remaining_ms(lock) > 80000000);
        for (size_t j = 0; j < sizeof bad / sizeof *bad; j++) {
            assert_status(lk_renew(lock, bad[j]), LK_INVALID);
            assert_said("lease_ms");
        }
        assert_ok(lk_wrunlock(lock));
    }
}

TEST(a_policy_is_one_of_four) {
    lk_client *client = open_client();
    assert_options_refused(client, &(lk_lock_options){.policy = (lk_policy)4}, "policy");
    assert_options_refused(client, &(lk_lock_options){.policy = (lk_policy)-1}, "policy");
}

TEST(a_group_has_up_to_64_bytes_and_an_owner_1_to_128) {
    lk_client *client = open_client();
    char *group = long_text(64), *group_longer = long_text(65);
    char *owner = long_text(128), *owner_longer = long_text(129);
    assert_options_refused(client, &(lk_lock_options){.group = group_longer}, "group");
    assert_options_refused(client, &(lk_lock_options){.owner = owner_longer}, "owner");
    assert_options_refused(client, &(lk_lock_options){.owner = ""}, "owner");
    lk_lock *lock =
        new_lock_with(client, "i:longest", &(lk_lock_options){.group = group, .owner = owner});
    assert_ok(lk_rdlock(lock));
    lk_info *info = inspect(client, "i:longest");
    assert_string_equal(info->holders[0].group, group);
    assert_string_equal(info->holders[0].owner, owner);
    assert_status(lk_force_release(client, "i:longest", owner_longer), LK_INVALID);
    assert_said("owner");
    assert_status(lk_force_release(client, "i:longest", ""), LK_INVALID);
    assert_said("owner");
}

TEST(options_and_name_are_copied) {
    lk_client *client = open_client();
    char name[] = "i:copied", group[] = "blue", owner[] = "ann";
    lk_lock_options options = {.group = group, .owner = owner};
    lk_lock *lock = new_lock_with(client, name, &options);
    name[0] = group[0] = owner[0] = '!';
    memset(&options, 0xff, sizeof options);
    assert_ok(lk_rdlock(lock));
    assert_string_equal(lk_owner(lock), "ann");
    lk_info *info = inspect(client, "i:copied");
    assert_int_equal(info->holder_total, 1);
    assert_string_equal(info->holders[0].group, "blue");
}

TEST(a_wait_below_minus_1_is_refused) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "i:wait");
    const int64_t bad[] = {-2, INT64_MIN};
    for (size_t i = 0; i < 2; i++) {
        assert_status(lk_timedrdlock(lock, bad[i]), LK_INVALID);
        assert_said("wait_ms");
        assert_status(lk_timedwrlock(lock, bad[i]), LK_INVALID);
        assert_said("wait_ms");
        assert_status(lk_acquire_async(lock, LK_WRITE, bad[i], NULL, NULL), LK_INVALID);
        assert_said("wait_ms");
    }
    assert_false(lk_valid(lock));
    assert_ok(lk_timedwrlock(lock, INT64_MAX));
}

enum { DEEPEST = 65535 };

TEST(holds_nest_65535_deep_and_no_deeper) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "i:deep");
    for (int i = 0; i < DEEPEST; i++)
        assert_ok(lk_rdlock(lock));
    assert_status(lk_rdlock(lock), LK_INVALID);
    assert_said("i:deep");
    assert_true(lk_valid(lock));
    assert_ok(lk_rdunlock(lock));
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_wrlock(lock));
    assert_status(lk_downgrade(lock), LK_INVALID);
    assert_ok(lk_wrunlock(lock));                        /* nothing changed */
    assert_ok(lk_force_release(client, "i:deep", NULL)); /* saves so many unlocks */
}

/* ------------------------------------------------------------------------------ words */

TEST(each_status_has_a_name_and_a_text) {
#define CHECK_STATUS(code, text)                      \
    assert_string_equal(lk_status_name(code), #code); \
    assert_string_equal(lk_status_text(code), text);
    LK_STATUSES(CHECK_STATUS)
#undef CHECK_STATUS
}

TEST(a_number_that_is_no_status_has_a_name_and_a_text_too) {
    const int numbers[] = {-1, LK_INTERNAL + 1, 1000000};
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(lk_status_name((lk_status)numbers[i]));
        assert_non_null(lk_status_text((lk_status)numbers[i]));
        assert_true(*lk_status_name((lk_status)numbers[i]));
        assert_true(*lk_status_text((lk_status)numbers[i]));
    }
}

TEST(a_version_has_three_numbers) {
    unsigned numbers[3];
    int length = 0;
    assert_int_equal(
        sscanf(lk_version(), "%u.%u.%u%n", &numbers[0], &numbers[1], &numbers[2], &length), 3);
    assert_int_equal(length, strlen(lk_version()));
}

int main(void) {
    return world_run(begin_world);
}
