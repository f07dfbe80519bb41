/* Bad input to every function: which status, which part is named, and that nothing changes. */
#include "old_world.h"

/* An argument for an output that must not be touched. */
static char marker;

#define untouched(type) ((type *)(void *)&marker)

/* ------------------------------------------------------------------------------ NULL */

static bool never_listed(const char *name, void *arg) {
    (void)name;
    *(bool *)arg = true;
    return true;
}

static void a_handle_that_is_null_is_refused_by_name(void **state) {
    (void)state;
    static lk_status (*const calls[])(lk_lock *) = {
        lk_rdlock,   lk_tryrdlock, lk_wrlock,    lk_trywrlock,
        lk_rdunlock, lk_wrunlock,  lk_downgrade, lk_cancel,
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        assert_status(calls[i](NULL), LK_INVALID);
        assert_says(lk_last_error(), "handle");
    }
    assert_status(lk_timedrdlock(NULL, 1), LK_INVALID);
    assert_status(lk_timedwrlock(NULL, 1), LK_INVALID);
    assert_status(lk_renew(NULL, 0), LK_INVALID);
    assert_status(lk_acquire_async(NULL, LK_READ, 0, NULL, NULL), LK_INVALID);
    assert_status(lk_release_async(NULL, LK_READ, NULL, NULL), LK_INVALID);
}

static void questions_about_null_have_answers(void **state) {
    (void)state;
    assert_false(lk_valid(NULL));
    assert_int_equal(lk_remaining_ms(NULL), 0);
    assert_true(lk_fence(NULL) == 0);
    assert_false(lk_abandoned(NULL));
    assert_null(lk_owner(NULL));
}

static void a_client_that_is_null_is_refused_by_name(void **state) {
    (void)state;
    lk_lock *lock = untouched(lk_lock);
    lk_info *info = untouched(lk_info);
    bool listed = false;
    assert_status(lk_lock_new(NULL, "i:null", NULL, &lock), LK_INVALID);
    assert_says(lk_last_error(), "client");
    assert_status(lk_inspect(NULL, "i:null", &info), LK_INVALID);
    assert_says(lk_last_error(), "client");
    assert_status(lk_list(NULL, NULL, never_listed, &listed), LK_INVALID);
    assert_says(lk_last_error(), "client");
    assert_status(lk_force_release(NULL, "i:null", NULL), LK_INVALID);
    assert_says(lk_last_error(), "client");
    assert_ptr_equal(lock, &marker);
    assert_ptr_equal(info, &marker);
    assert_false(listed);
}

static void other_arguments_that_are_null_are_refused_by_name(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = untouched(lk_lock);
    lk_info *info = untouched(lk_info);
    assert_status(lk_open(world_url, NULL, NULL), LK_INVALID);
    assert_says(lk_last_error(), "out");
    assert_status(lk_lock_new(client, NULL, NULL, &lock), LK_INVALID);
    assert_says(lk_last_error(), "name");
    assert_status(lk_lock_new(client, "i:null", NULL, NULL), LK_INVALID);
    assert_says(lk_last_error(), "out");
    assert_status(lk_inspect(client, NULL, &info), LK_INVALID);
    assert_says(lk_last_error(), "name");
    assert_status(lk_inspect(client, "i:null", NULL), LK_INVALID);
    assert_says(lk_last_error(), "out");
    assert_status(lk_list(client, NULL, NULL, NULL), LK_INVALID);
    assert_says(lk_last_error(), "each");
    assert_status(lk_force_release(client, NULL, NULL), LK_INVALID);
    assert_says(lk_last_error(), "name");
    assert_ptr_equal(lock, &marker);
    assert_ptr_equal(info, &marker);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ names */

static char *long_text(size_t length) {
    char *text = test_alloc(length + 1, 1);
    memset(text, 'n', length);
    return text;
}

static void assert_name_refused(lk_client *client, const char *name) {
    lk_lock *lock = untouched(lk_lock);
    lk_info *info = untouched(lk_info);
    assert_status(lk_lock_new(client, name, NULL, &lock), LK_INVALID);
    assert_says(lk_last_error(), "name");
    assert_says(lk_last_error(), "512");
    assert_status(lk_inspect(client, name, &info), LK_INVALID);
    assert_status(lk_force_release(client, name, NULL), LK_INVALID);
    assert_ptr_equal(lock, &marker);
    assert_ptr_equal(info, &marker);
}

static void a_name_has_1_to_512_bytes(void **state) {
    (void)state;
    lk_client *client = open_client();
    char *longest = long_text(512), *longer = long_text(513);
    assert_name_refused(client, "");
    assert_name_refused(client, longer);
    const char *const good[] = {"n", longest};
    for (size_t i = 0; i < 2; i++) {
        lk_lock *lock = handle_of(client, good[i]);
        assert_ok(lk_wrlock(lock));
        assert_int_equal(holder_total(client, good[i]), 1);
        assert_ok(lk_wrunlock(lock));
        lk_lock_free(lock);
    }
    lk_close(client);
    free(longest);
    free(longer);
}

static void a_sentence_has_room_for_the_longest_name(void **state) {
    (void)state;
    lk_client *client = open_client();
    char *name = long_text(512);
    lk_lock *locks[] = {handle_of(client, name), handle_of(client, name)};
    assert_ok(lk_wrlock(locks[0]));
    assert_status(lk_trywrlock(locks[1]), LK_BUSY);
    assert_says(lk_last_error(), name);
    assert_says(lk_last_error(), world_url);
    assert_says(lk_last_error(), lk_status_text(LK_BUSY));
    free_handles(locks, 2);
    lk_close(client);
    free(name);
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
    "a:d",
    "a}:d",
    "$6",
    "*1",
};

enum { ODD_NAMES = sizeof odd_names / sizeof *odd_names };

static void names_with_odd_bytes_are_locks_like_any_other(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[ODD_NAMES], *others[ODD_NAMES];
    for (size_t i = 0; i < ODD_NAMES; i++) {
        locks[i] = handle_of(client, odd_names[i]);
        others[i] = handle_of(client, odd_names[i]);
        assert_ok(lk_trywrlock(locks[i])); /* none is another's */
    }
    for (size_t i = 0; i < ODD_NAMES; i++) {
        assert_status(lk_tryrdlock(others[i]), LK_BUSY);
        lk_info *info = look(client, odd_names[i]);
        assert_string_equal(info->name, odd_names[i]);
        assert_int_equal(info->holder_total, 1);
        assert_string_equal(info->holders[0].owner, lk_owner(locks[i]));
        lk_info_free(info);
        assert_ok(lk_wrunlock(locks[i]));
        assert_ok(lk_tryrdlock(others[i]));
        assert_ok(lk_rdunlock(others[i]));
    }
    assert_nothing_left();
    free_handles(locks, ODD_NAMES);
    free_handles(others, ODD_NAMES);
    lk_close(client);
}

static void odd_names_are_waited_for_like_any_other(void **state) {
    (void)state;
    lk_client *client = open_client();
    for (size_t i = 0; i < ODD_NAMES; i++) {
        lk_lock *locks[] = {handle_of(client, odd_names[i]), handle_of(client, odd_names[i])};
        taker waiter;
        assert_ok(lk_wrlock(locks[0]));
        taker_queue(&waiter, locks[1], LK_WRITE, client, odd_names[i], 1);
        assert_ok(lk_wrunlock(locks[0]));
        assert_ok(taker_join(&waiter));
        free_handles(locks, 2);
    }
    lk_close(client);
}

static void groups_and_owners_may_have_odd_bytes(void **state) {
    (void)state;
    lk_client *client = open_with(&(lk_client_options){.app = "an app\nof \xff words"});
    for (size_t i = 0; i < ODD_NAMES; i++) {
        lk_lock_options options = {.group = odd_names[i], .owner = odd_names[i]};
        lk_lock *lock = handle_with(client, "i:odd", &options);
        assert_ok(lk_rdlock(lock));
        lk_info *info = look(client, "i:odd");
        assert_string_equal(info->holders[0].group, odd_names[i]);
        assert_string_equal(info->holders[0].owner, odd_names[i]);
        assert_string_equal(info->holders[0].app, "an app\nof \xff words");
        lk_info_free(info);
        assert_ok(lk_rdunlock(lock));
        lk_lock_free(lock);
    }
    lk_close(client);
}

/* ------------------------------------------------------------------------------ handles */

static void assert_options_refused(lk_client *client, const lk_lock_options *options,
                                   const char *part) {
    lk_lock *lock = untouched(lk_lock);
    assert_status(lk_lock_new(client, "i:options", options, &lock), LK_INVALID);
    assert_says(lk_last_error(), part);
    assert_ptr_equal(lock, &marker);
}

static void a_lease_is_100_ms_to_24_h(void **state) {
    (void)state;
    lk_client *client = open_client();
    const int64_t bad[] = {-1, 1, 99, 86400001, INT64_MAX, INT64_MIN}, good[] = {100, 86400000};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_options_refused(client, &(lk_lock_options){.lease_ms = bad[i]}, "lease_ms");
    for (size_t i = 0; i < 2; i++) {
        lk_lock *lock = handle_leased(client, "i:lease", good[i]);
        assert_ok(lk_wrlock(lock));
        assert_true(lk_remaining_ms(lock) <= good[i]);
        assert_ok(lk_renew(lock, 86400000));
        assert_true(lk_remaining_ms(lock) > 80000000);
        for (size_t j = 0; j < sizeof bad / sizeof *bad; j++) {
            assert_status(lk_renew(lock, bad[j]), LK_INVALID);
            assert_says(lk_last_error(), "lease_ms");
        }
        assert_ok(lk_wrunlock(lock));
        lk_lock_free(lock);
    }
    lk_close(client);
}

static void a_policy_is_one_of_four(void **state) {
    (void)state;
    lk_client *client = open_client();
    assert_options_refused(client, &(lk_lock_options){.policy = (lk_policy)4}, "policy");
    assert_options_refused(client, &(lk_lock_options){.policy = (lk_policy)-1}, "policy");
    for (int policy = LK_FAIR; policy <= LK_PREFER_READER; policy++)
        lk_lock_free(handle_under(client, "i:policy", (lk_policy)policy));
    lk_close(client);
}

static void a_group_has_up_to_64_bytes_and_an_owner_1_to_128(void **state) {
    (void)state;
    lk_client *client = open_client();
    char *group = long_text(64), *group_longer = long_text(65);
    char *owner = long_text(128), *owner_longer = long_text(129);
    assert_options_refused(client, &(lk_lock_options){.group = group_longer}, "group");
    assert_options_refused(client, &(lk_lock_options){.owner = owner_longer}, "owner");
    assert_options_refused(client, &(lk_lock_options){.owner = ""}, "owner");
    lk_lock *lock =
        handle_with(client, "i:longest", &(lk_lock_options){.group = group, .owner = owner});
    assert_ok(lk_rdlock(lock));
    lk_info *info = look(client, "i:longest");
    assert_string_equal(info->holders[0].group, group);
    assert_string_equal(info->holders[0].owner, owner);
    lk_info_free(info);
    assert_status(lk_force_release(client, "i:longest", owner_longer), LK_INVALID);
    assert_says(lk_last_error(), "owner");
    assert_status(lk_force_release(client, "i:longest", ""), LK_INVALID);
    assert_says(lk_last_error(), "owner");
    lk_lock_free(lock);
    lk_close(client);
    free(group), free(group_longer), free(owner), free(owner_longer);
}

static void options_and_name_are_copied(void **state) {
    (void)state;
    lk_client *client = open_client();
    char name[] = "i:copied", group[] = "blue", owner[] = "ann";
    lk_lock_options options = {.group = group, .owner = owner};
    lk_lock *lock = handle_with(client, name, &options);
    name[0] = group[0] = owner[0] = '!';
    memset(&options, 0xff, sizeof options);
    assert_ok(lk_rdlock(lock));
    assert_string_equal(lk_owner(lock), "ann");
    lk_info *info = look(client, "i:copied");
    assert_int_equal(info->holder_total, 1);
    assert_string_equal(info->holders[0].group, "blue");
    lk_info_free(info);
    lk_lock_free(lock);
    lk_close(client);
}

static void a_wait_below_minus_1_is_refused(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "i:wait");
    const int64_t bad[] = {-2, INT64_MIN};
    for (size_t i = 0; i < 2; i++) {
        assert_status(lk_timedrdlock(lock, bad[i]), LK_INVALID);
        assert_says(lk_last_error(), "wait_ms");
        assert_status(lk_timedwrlock(lock, bad[i]), LK_INVALID);
        assert_says(lk_last_error(), "wait_ms");
        assert_status(lk_acquire_async(lock, LK_WRITE, bad[i], NULL, NULL), LK_INVALID);
        assert_says(lk_last_error(), "wait_ms");
    }
    assert_false(lk_valid(lock));
    assert_ok(lk_timedwrlock(lock, INT64_MAX));
    lk_lock_free(lock);
    lk_close(client);
}

enum { DEEPEST = 65535 };

static void holds_nest_65535_deep_and_no_deeper(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "i:deep");
    for (int i = 0; i < DEEPEST; i++)
        assert_ok(lk_rdlock(lock));
    assert_status(lk_rdlock(lock), LK_INVALID);
    assert_says(lk_last_error(), "i:deep");
    assert_true(lk_valid(lock));
    assert_ok(lk_rdunlock(lock));
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_wrlock(lock));
    assert_status(lk_downgrade(lock), LK_INVALID);
    assert_ok(lk_wrunlock(lock));                        /* nothing changed */
    assert_ok(lk_force_release(client, "i:deep", NULL)); /* saves so many unlocks */
    lk_lock_free(lock);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ words */

static void each_status_has_a_name_and_a_text(void **state) {
    (void)state;
#define CHECK_STATUS(code, text)                      \
    assert_string_equal(lk_status_name(code), #code); \
    assert_string_equal(lk_status_text(code), text);
    LK_STATUSES(CHECK_STATUS)
#undef CHECK_STATUS
}

static void a_number_that_is_no_status_has_a_name_and_a_text_too(void **state) {
    (void)state;
    const int numbers[] = {-1, LK_INTERNAL + 1, 1000000};
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(lk_status_name((lk_status)numbers[i]));
        assert_non_null(lk_status_text((lk_status)numbers[i]));
        assert_true(*lk_status_name((lk_status)numbers[i]));
        assert_true(*lk_status_text((lk_status)numbers[i]));
    }
}

static void a_version_has_three_numbers(void **state) {
    (void)state;
    unsigned numbers[3];
    int length = 0;
    assert_int_equal(
        sscanf(lk_version(), "%u.%u.%u%n", &numbers[0], &numbers[1], &numbers[2], &length), 3);
    assert_int_equal(length, strlen(lk_version()));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(a_handle_that_is_null_is_refused_by_name),
        world_test(questions_about_null_have_answers),
        world_test(a_client_that_is_null_is_refused_by_name),
        world_test(other_arguments_that_are_null_are_refused_by_name),
        world_test(a_name_has_1_to_512_bytes),
        world_test(a_sentence_has_room_for_the_longest_name),
        world_test(names_with_odd_bytes_are_locks_like_any_other),
        world_test(odd_names_are_waited_for_like_any_other),
        world_test(groups_and_owners_may_have_odd_bytes),
        world_test(a_lease_is_100_ms_to_24_h),
        world_test(a_policy_is_one_of_four),
        world_test(a_group_has_up_to_64_bytes_and_an_owner_1_to_128),
        world_test(options_and_name_are_copied),
        world_test(a_wait_below_minus_1_is_refused),
        world_test(holds_nest_65535_deep_and_no_deeper),
        world_test(each_status_has_a_name_and_a_text),
        world_test(a_number_that_is_no_status_has_a_name_and_a_text_too),
        world_test(a_version_has_three_numbers),
    };
    return world_main(argc, argv, tests);
}
