/* lk_unlock, which releases the hold that was taken last; lk_reads and lk_writes; the version. */
#include "world.h"

/* The counts of the lock, and those of the server. */
static void assert_holds(lk_client *client, const char *name, const lk_lock *lock, unsigned reads,
                         unsigned writes) {
    assert_int_equal(lk_reads(lock), reads);
    assert_int_equal(lk_writes(lock), writes);
    lk_info *info = inspect(client, name);
    assert_int_equal(info->holder_count, reads || writes ? 1 : 0);
    if (info->holder_count) {
        assert_int_equal(info->holders[0].reads, reads);
        assert_int_equal(info->holders[0].writes, writes);
    }
}

/* ------------------------------------------------------------------------------ the order */

TEST(the_hold_that_was_taken_last_goes_first) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "u:order");
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
}

TEST(unlocks_of_one_kind_take_the_last_of_it_out_of_the_order) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "u:kinds");
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
}

TEST(a_downgraded_write_is_a_read_in_its_place) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "u:down");
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
}

TEST(hundreds_of_holds_keep_their_order) {
    enum { HOLDS = 300 };
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "u:many");
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
}

TEST(an_async_hold_counts_from_its_grant) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "u:async"), *other = new_lock(client, "u:async");
    tally done = {0};
    assert_ok(lk_rdlock(other));
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, tally_done, &done)); /* an upgrade */
    eventually(look_at(client, "u:async").waiters == 1);
    assert_ok(lk_rdlock(lock)); /* granted before the write */
    assert_int_equal(lk_writes(lock), 0);
    assert_ok(lk_rdunlock(other));
    eventually(atomic_load(&done.count) == 1);
    assert_int_equal(lk_writes(lock), 1);
    assert_ok(lk_unlock(lock));
    assert_holds(client, "u:async", lock, 2, 0);
    assert_ok(lk_unlock(lock));
    assert_ok(lk_unlock(lock));
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ what it says */

TEST(nothing_held_is_said_and_changes_nothing) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "u:none");
    assert_status(lk_unlock(lock), LK_NOT_HELD);
    assert_said("u:none");
    assert_status(lk_unlock(NULL), LK_INVALID);
    assert_int_equal(lk_reads(NULL), 0);
    assert_int_equal(lk_writes(NULL), 0);
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_unlock(lock));
    assert_status(lk_unlock(lock), LK_NOT_HELD);
    close_client(client);
    assert_status(lk_unlock(lock), LK_INVALID);
}

TEST(lost_holds_count_until_they_are_unlocked) {
    lk_client *client = open_client();
    lk_lock *lock = new_leased_lock(client, "u:lost", 300);
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_force_release(client, "u:lost", NULL));
    eventually(!lk_valid(lock));
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

TEST(a_callback_may_unlock_what_is_lost) {
    lk_client *client = open_client();
    unlocks self = {0};
    lk_lock_options options = {.lease_ms = 300, .on_lost = unlock_lost, .on_lost_arg = &self};
    lk_lock *lock = new_lock_with(client, "u:callback", &options);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_force_release(client, "u:callback", NULL));
    eventually(atomic_load(&self.calls) == 1);
    assert_int_equal(self.statuses[0], LK_LOST);
    assert_int_equal(self.statuses[1], LK_LOST);
    assert_int_equal(self.statuses[2], LK_INVALID); /* inside a callback, with nothing lost */
    assert_ok(lk_wrlock(lock));
}

/* ------------------------------------------------------------------------------ beside others */

static fake_server *fake;

static void fake_before_server(void) {
    fake = start_fake();
}

static lk_client *open_fake(int64_t command_timeout_ms) {
    return open_client_url(world_print("unix://%s", fake_server_socket(fake)),
                           &(lk_client_options){.command_timeout_ms = command_timeout_ms});
}

TEST_WITH(fake_before_server, an_unlock_behind_a_release_gives_back_the_next_hold) {
    lk_client *client = open_fake(0);
    lk_lock *lock = new_lock(client, "u:beside");
    tally done = {0};
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_wrlock(lock));
    size_t before = fake_server_count(fake, "EVALSHA");
    fake_server_hold(fake, "EVALSHA");
    assert_ok(lk_release_async(lock, LK_WRITE, tally_done, &done));
    assert_true(fake_server_wait_for(fake, "EVALSHA", before + 1, LONG_MS));
    call unlocking;
    begin_call(&unlocking, lk_unlock, lock);
    fake_server_let_go(fake);
    assert_call(&unlocking, LK_OK);
    eventually(atomic_load(&done.count) == 1);
    assert_int_equal(atomic_load(&done.status), LK_OK);
    assert_nothing_left();
}

/* The lease expires while the server does not answer the release of the write. */
TEST_WITH(fake_before_server, a_hold_that_another_release_gives_back_is_passed_over) {
    lk_client *client = open_fake(0);
    lk_lock *lock = new_leased_lock(client, "u:passed", 200);
    tally done = {0};
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_wrlock(lock));
    fake_server_hold(fake, "EVALSHA");
    assert_ok(lk_release_async(lock, LK_WRITE, tally_done, &done));
    eventually(!lk_valid(lock));
    assert_status(lk_unlock(lock), LK_LOST);
    assert_int_equal(lk_reads(lock), 0);
    assert_int_equal(lk_writes(lock), 1);
    assert_status(lk_unlock(lock), LK_NOT_HELD);
    fake_server_let_go(fake);
    eventually(atomic_load(&done.count) == 1);
    assert_int_equal(atomic_load(&done.status), LK_LOST);
    assert_int_equal(lk_writes(lock), 0);
    assert_ok(lk_wrlock(lock));
}

/* The server is silent. Both unlocks give up, and each releases a hold of its own. */
TEST_WITH(fake_before_server, unlocks_that_give_up_have_given_back_a_hold_each) {
    lk_client *client = open_fake(200);
    lk_lock *lock = new_lock(client, "u:silent");
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_wrlock(lock));
    size_t before = fake_server_count(fake, "EVALSHA");
    fake_server_hold(fake, "EVALSHA");
    call unlocking[2];
    begin_call(&unlocking[0], lk_unlock, lock);
    assert_true(fake_server_wait_for(fake, "EVALSHA", before + 1, LONG_MS));
    begin_call(&unlocking[1], lk_unlock, lock);
    for (size_t i = 0; i < 2; i++)
        assert_call(&unlocking[i], LK_UNAVAILABLE);
    assert_int_equal(lk_reads(lock), 0);
    assert_int_equal(lk_writes(lock), 0);
    fake_server_let_go(fake);
    eventually(is_empty());
}

/* ------------------------------------------------------------------------------ version */

TEST(the_header_and_the_library_are_of_one_version) {
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

int main(void) {
    return world_run(begin_world);
}
