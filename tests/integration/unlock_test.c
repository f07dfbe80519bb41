/* Giving back the hold that was taken last, and counting what is held; the version. */
#include "fake_server.h"
#include "old_world.h"

/* What the handle says, and what the server says of it. */
static void assert_holds(lk_client *client, const char *name, const lk_lock *lock, unsigned reads,
                         unsigned writes) {
    assert_int_equal(lk_reads(lock), reads);
    assert_int_equal(lk_writes(lock), writes);
    lk_info *info = look(client, name);
    assert_int_equal(info->holder_count, reads || writes ? 1 : 0);
    if (info->holder_count) {
        assert_int_equal(info->holders[0].reads, reads);
        assert_int_equal(info->holders[0].writes, writes);
    }
    lk_info_free(info);
}

/* ------------------------------------------------------------------------------ the order */

static void the_hold_that_was_taken_last_goes_first(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "u:order");
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_rdlock(lock));
    assert_holds(client, "u:order", lock, 2, 2);
    assert_ok(lk_unlock(lock));
    assert_holds(client, "u:order", lock, 1, 2);
    assert_ok(lk_unlock(lock));
    assert_holds(client, "u:order", lock, 1, 1);
    assert_ok(lk_unlock(lock));
    assert_holds(client, "u:order", lock, 1, 0);
    assert_ok(lk_unlock(lock));
    assert_holds(client, "u:order", lock, 0, 0);
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
}

static void unlocks_of_one_kind_take_the_last_of_it_out_of_the_order(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "u:kinds");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_rdlock(lock)); /* write, read, write, read */
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_unlock(lock)); /* write, read */
    assert_holds(client, "u:kinds", lock, 1, 1);
    assert_ok(lk_unlock(lock));
    assert_holds(client, "u:kinds", lock, 0, 1);
    assert_ok(lk_unlock(lock));
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
}

static void a_downgraded_write_is_a_read_in_its_place(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "u:down");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_downgrade(lock)); /* write, read */
    assert_ok(lk_unlock(lock));
    assert_holds(client, "u:down", lock, 0, 1);
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_downgrade(lock)); /* read, read */
    assert_ok(lk_unlock(lock));
    assert_holds(client, "u:down", lock, 1, 0);
    assert_ok(lk_unlock(lock));
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
}

static void hundreds_of_holds_keep_their_order(void **state) {
    (void)state;
    enum { HOLDS = 300 };
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "u:many");
    unsigned reads = 0, writes = 0;
    for (unsigned i = 0; i < HOLDS; i++) {
        assert_ok(i % 3 ? lk_wrlock(lock) : lk_rdlock(lock));
        ++*(i % 3 ? &writes : &reads);
    }
    for (unsigned i = HOLDS; i-- > 0;) {
        assert_ok(lk_unlock(lock));
        --*(i % 3 ? &writes : &reads);
        assert_int_equal(lk_reads(lock), reads);
        assert_int_equal(lk_writes(lock), writes);
    }
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
}

static void an_async_hold_counts_from_its_grant(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "u:async"), *other = handle_of(client, "u:async");
    tally done = {0};
    assert_ok(lk_rdlock(other));
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, tally_done, &done)); /* an upgrade */
    assert_eventually(waiter_total(client, "u:async") == 1);
    assert_ok(lk_rdlock(lock)); /* granted before the write */
    assert_int_equal(lk_writes(lock), 0);
    assert_ok(lk_rdunlock(other));
    assert_eventually(atomic_load(&done.count) == 1);
    assert_int_equal(lk_writes(lock), 1);
    assert_ok(lk_unlock(lock));
    assert_holds(client, "u:async", lock, 2, 0);
    assert_ok(lk_unlock(lock));
    assert_ok(lk_unlock(lock));
    assert_nothing_left();
    lk_lock_free(lock);
    lk_lock_free(other);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ what it says */

static void nothing_held_is_said_and_changes_nothing(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "u:none");
    assert_status(lk_unlock(lock), LK_NOT_HELD);
    assert_says(lk_last_error(), "u:none");
    assert_status(lk_unlock(NULL), LK_INVALID);
    assert_int_equal(lk_reads(NULL), 0);
    assert_int_equal(lk_writes(NULL), 0);
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_unlock(lock));
    assert_status(lk_unlock(lock), LK_NOT_HELD);
    lk_close(client);
    assert_status(lk_unlock(lock), LK_INVALID);
    lk_lock_free(lock);
}

static void lost_holds_count_until_they_are_unlocked(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_leased(client, "u:lost", 300);
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_force_release(client, "u:lost", NULL));
    assert_eventually(!lk_valid(lock));
    assert_int_equal(lk_reads(lock), 1);
    assert_int_equal(lk_writes(lock), 1);
    assert_status(lk_unlock(lock), LK_LOST);
    assert_int_equal(lk_reads(lock), 1);
    assert_int_equal(lk_writes(lock), 0);
    assert_status(lk_wrlock(lock), LK_LOST);
    assert_status(lk_unlock(lock), LK_LOST);
    assert_int_equal(lk_reads(lock), 0);
    assert_status(lk_unlock(lock), LK_NOT_HELD);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_unlock(lock));
    lk_lock_free(lock);
    lk_close(client);
}

typedef struct {
    atomic_int calls;
    lk_status statuses[3];
} unlocks;

static void unlock_lost(lk_lock *lock, void *arg) {
    unlocks *self = arg;
    for (size_t i = 0; i < 3; i++)
        self->statuses[i] = lk_unlock(lock);
    atomic_fetch_add(&self->calls, 1);
}

static void a_callback_may_unlock_what_is_lost(void **state) {
    (void)state;
    lk_client *client = open_client();
    unlocks self = {0};
    lk_lock_options options = {.lease_ms = 300, .on_lost = unlock_lost, .on_lost_arg = &self};
    lk_lock *lock = handle_with(client, "u:callback", &options);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_force_release(client, "u:callback", NULL));
    assert_eventually(atomic_load(&self.calls) == 1);
    assert_int_equal(self.statuses[0], LK_LOST);
    assert_int_equal(self.statuses[1], LK_LOST);
    assert_int_equal(self.statuses[2], LK_INVALID); /* inside a callback, with nothing lost */
    assert_ok(lk_wrlock(lock));
    lk_lock_free(lock);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ beside others */

static fake_server *fake;

static int start_fake(void **state) {
    world_begin(state);
    fake = fake_server_start(test_server_socket(world_server));
    return fake ? 0 : -1;
}

static int stop_fake(void **state) {
    (void)state;
    fake_server_stop(fake);
    return 0;
}

static lk_client *open_fake(int64_t command_timeout_ms) {
    lk_client *client = NULL;
    char *url = test_print("unix://%s", fake_server_socket(fake));
    assert_ok(
        lk_open(url, &(lk_client_options){.command_timeout_ms = command_timeout_ms}, &client));
    free(url);
    return client;
}

typedef struct {
    lk_lock *lock;
    lk_status status;
} unlocker;

static void *unlock(void *context) {
    unlocker *self = context;
    self->status = lk_unlock(self->lock);
    return NULL;
}

static void an_unlock_behind_a_release_gives_back_the_next_hold(void **state) {
    (void)state;
    lk_client *client = open_fake(0);
    lk_lock *lock = handle_of(client, "u:beside");
    tally done = {0};
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_wrlock(lock));
    size_t before = fake_server_count(fake, "EVALSHA");
    fake_server_hold(fake, "EVALSHA");
    assert_ok(lk_release_async(lock, LK_WRITE, tally_done, &done));
    assert_true(fake_server_wait_for(fake, "EVALSHA", before + 1, WORLD_PATIENCE_MS));
    unlocker self = {.lock = lock, .status = LK_INTERNAL};
    pthread_t thread = thread_start(unlock, &self);
    fake_server_let_go(fake);
    thread_join(thread);
    assert_int_equal(self.status, LK_OK);
    assert_eventually(atomic_load(&done.count) == 1);
    assert_int_equal(atomic_load(&done.status), LK_OK);
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
}

/* The lease runs out while the server does not answer the release of the write. */
static void a_hold_that_another_release_gives_back_is_passed_over(void **state) {
    (void)state;
    lk_client *client = open_fake(0);
    lk_lock *lock = handle_leased(client, "u:passed", 200);
    tally done = {0};
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_wrlock(lock));
    fake_server_hold(fake, "EVALSHA");
    assert_ok(lk_release_async(lock, LK_WRITE, tally_done, &done));
    assert_eventually(!lk_valid(lock));
    assert_status(lk_unlock(lock), LK_LOST);
    assert_int_equal(lk_reads(lock), 0);
    assert_int_equal(lk_writes(lock), 1);
    assert_status(lk_unlock(lock), LK_NOT_HELD);
    fake_server_let_go(fake);
    assert_eventually(atomic_load(&done.count) == 1);
    assert_int_equal(atomic_load(&done.status), LK_LOST);
    assert_int_equal(lk_writes(lock), 0);
    assert_ok(lk_wrlock(lock));
    lk_lock_free(lock);
    lk_close(client);
}

/* The server is silent: both unlocks give up, and each has given back a hold of its own. */
static void unlocks_that_give_up_have_given_back_a_hold_each(void **state) {
    (void)state;
    lk_client *client = open_fake(200);
    lk_lock *lock = handle_of(client, "u:silent");
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_wrlock(lock));
    size_t before = fake_server_count(fake, "EVALSHA");
    fake_server_hold(fake, "EVALSHA");
    unlocker selves[2] = {{lock, LK_INTERNAL}, {lock, LK_INTERNAL}};
    pthread_t threads[2];
    threads[0] = thread_start(unlock, &selves[0]);
    assert_true(fake_server_wait_for(fake, "EVALSHA", before + 1, WORLD_PATIENCE_MS));
    threads[1] = thread_start(unlock, &selves[1]);
    for (size_t i = 0; i < 2; i++) {
        thread_join(threads[i]);
        assert_int_equal(selves[i].status, LK_UNAVAILABLE);
    }
    assert_int_equal(lk_reads(lock), 0);
    assert_int_equal(lk_writes(lock), 0);
    fake_server_let_go(fake);
    assert_eventually(world_key_count() == 0);
    lk_lock_free(lock);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ version */

static void the_header_and_the_library_are_of_one_version(void **state) {
    (void)state;
    char text[64];
    snprintf(text, sizeof text, "%d.%d.%d", LK_VERSION_MAJOR, LK_VERSION_MINOR, LK_VERSION_PATCH);
    assert_string_equal(LK_VERSION_STRING, text);
    assert_string_equal(lk_version(), text); /* which has it from the project() of CMake */
    assert_int_equal(LK_VERSION_NUMBER,
                     LK_VERSION_MAJOR * 10000 + LK_VERSION_MINOR * 100 + LK_VERSION_PATCH);
#if LK_VERSION_NUMBER < 100
    fail_msg("#if cannot compare LK_VERSION_NUMBER");
#endif
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(the_hold_that_was_taken_last_goes_first),
        world_test(unlocks_of_one_kind_take_the_last_of_it_out_of_the_order),
        world_test(a_downgraded_write_is_a_read_in_its_place),
        world_test(hundreds_of_holds_keep_their_order),
        world_test(an_async_hold_counts_from_its_grant),
        world_test(nothing_held_is_said_and_changes_nothing),
        world_test(lost_holds_count_until_they_are_unlocked),
        world_test(a_callback_may_unlock_what_is_lost),
        cmocka_unit_test_setup_teardown(an_unlock_behind_a_release_gives_back_the_next_hold,
                                        start_fake, stop_fake),
        cmocka_unit_test_setup_teardown(a_hold_that_another_release_gives_back_is_passed_over,
                                        start_fake, stop_fake),
        cmocka_unit_test_setup_teardown(unlocks_that_give_up_have_given_back_a_hold_each,
                                        start_fake, stop_fake),
        cmocka_unit_test(the_header_and_the_library_are_of_one_version),
    };
    return world_main(argc, argv, tests);
}
