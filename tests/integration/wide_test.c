/*
 * A lock with many holds and waiters has a second key, its index. A client names it only when the
 * server asks for it (SPEC 11.1), and its users notice nothing of that.
 */
#include "world.h"

enum { CROWD = 30 }; /* so many holds that the lock is indexed */

static const char narrow[] = "EVALSHA * 1 lk:{a}", wide[] = "EVALSHA * 2 lk:{a} lk:{a}:i";
static lk_lock *readers[CROWD];

static void gather(lk_client *of) {
    for (int i = 0; i < CROWD; i++) {
        readers[i] = new_lock(of, "a");
        assert_ok(lk_rdlock(readers[i]));
    }
    assert_int_equal(ask("EXISTS lk:{a}:i"), 1);
}

static void scatter(void) {
    for (int i = 0; i < CROWD; i++)
        assert_ok(lk_rdunlock(readers[i]));
}

/* ------------------------------------------------------------------------------ every call */

TEST(a_large_lock_can_be_taken_renewed_and_released) {
    lk_client *client = open_client();
    gather(client);
    for (int i = 0; i < CROWD; i++)
        assert_ok(lk_renew(readers[i], 0));
    scatter();
    assert_nothing_left();
}

TEST(a_large_lock_can_be_seen_and_released_by_force) {
    lk_client *client = open_client(), *admin = open_client();
    gather(client);
    lk_info *info = inspect(admin, "a");
    assert_int_equal(info->holder_total, CROWD);
    assert_int_equal(info->holder_count, CROWD);
    assert_ok(lk_force_release(admin, "a", lk_owner(readers[0])));
    assert_int_equal(look_at(admin, "a").holders, CROWD - 1);
    assert_ok(lk_force_release(admin, "a", NULL));
    assert_nothing_left();
}

/* A handle that first hears of the index when it queues, cancels, upgrades or downgrades. */
TEST(a_large_lock_can_be_waited_for_and_upgraded) {
    lk_client *client = open_client(), *patient = open_client();
    lk_lock *waiter = new_lock(patient, "a");
    call writing, upgrading;
    make_it_listen(patient);
    gather(client);
    assert_status(lk_trywrlock(waiter), LK_BUSY);
    assert_status(lk_timedwrlock(waiter, 5), LK_TIMEOUT);
    begin_wait(&upgrading, readers[0], LK_WRITE, patient, "a", 1);
    begin_wait(&writing, waiter, LK_WRITE, patient, "a", 2);
    for (int i = 1; i < CROWD; i++)
        assert_ok(lk_rdunlock(readers[i]));
    assert_call(&upgrading, LK_OK);
    assert_ok(lk_downgrade(readers[0]));
    assert_ok(lk_rdunlock(readers[0]));
    assert_ok(lk_rdunlock(readers[0]));
    assert_call(&writing, LK_OK);
    assert_ok(lk_wrunlock(waiter));
    assert_nothing_left();
}

/* Holds and waiters are renewed in one command, and the locks of that command differ. */
TEST(holds_of_large_and_small_locks_are_renewed_together) {
    enum { LEASE_MS = 2000 };
    lk_client *client = open_client();
    atomic_int losses = 0;
    lk_lock *small = new_watched_lock(client, "b", LEASE_MS, &losses);
    assert_ok(lk_wrlock(small));
    for (int i = 0; i < CROWD; i++) {
        readers[i] = new_watched_lock(client, "a", LEASE_MS, &losses);
        assert_ok(lk_rdlock(readers[i]));
    }
    sleep_ms(2 * LEASE_MS);
    assert_int_equal(atomic_load(&losses), 0);
    scatter();
    assert_ok(lk_wrunlock(small));
    assert_nothing_left();
}

static bool count_name(const char *name, void *count) {
    ++*(int *)count;
    return strcmp(name, "a") == 0;
}

TEST(the_index_of_a_large_lock_is_not_listed) {
    lk_client *client = open_client();
    int count = 0;
    gather(client);
    assert_ok(lk_list(client, NULL, count_name, &count));
    assert_int_equal(count, 1);
    scatter();
}

/* ------------------------------------------------------------------------------ which keys */

TEST(a_small_lock_is_asked_for_with_one_key) {
    fake_server *seen = start_fake();
    lk_client *client = open_client_at(fake_server_socket(seen), PATIENT_MS);
    lk_lock *lock_a = new_lock(client, "a");
    assert_ok(lk_wrlock(lock_a));
    assert_ok(lk_renew(lock_a, 0));
    assert_ok(lk_wrunlock(lock_a));
    assert_int_equal(fake_server_count(seen, wide), 0);
}

/* Each handle is told once. */
TEST(a_handle_remembers_that_its_lock_is_large) {
    enum { TIMES = 5 };
    fake_server *seen = start_fake();
    lk_client *client = open_client(),
              *through = open_client_at(fake_server_socket(seen), PATIENT_MS);
    lk_lock *late = new_lock(through, "a");
    teach_scripts(through);
    gather(client);
    size_t before = fake_server_count(seen, narrow);
    for (int i = 0; i < TIMES; i++) {
        assert_ok(lk_rdlock(late));
        assert_ok(lk_rdunlock(late));
    }
    assert_int_equal(fake_server_count(seen, narrow), before + 1);
    assert_int_equal(fake_server_count(seen, wide), 2 * TIMES);
    scatter();
}

/* Somebody deleted the first key, for example. The server removes the rest and asks once more. */
TEST(an_index_that_belongs_to_nobody_is_no_hindrance) {
    lk_client *client = open_client();
    ask("ZADD lk:{a}:i 1 x");
    gather(client);
    scatter();
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ refusals */

/* The client must not send without a pause. */
TEST(a_server_that_always_asks_for_both_keys_is_asked_at_a_slow_pace) {
    enum { PAUSE_MS = 50 };
    fake_server *faulty = start_fake();
    lk_client *client = open_client_at(fake_server_socket(faulty), HASTY_MS);
    lk_lock *lock_a = new_lock(client, "a");
    teach_scripts(client);
    fake_server_on(faulty, "EVALSHA", FAKE_FOREVER, "-LKKEYS lk:{a}: ask again\r\n");
    size_t before = fake_server_count(faulty, "EVALSHA");
    assert_status(lk_wrlock(lock_a), LK_UNAVAILABLE);
    assert_said("ask again");
    assert_true(fake_server_count(faulty, "EVALSHA") <= before + 3 + HASTY_MS / PAUSE_MS);
    lk_info *info = NULL;
    assert_status(lk_inspect(client, "a", &info), LK_UNAVAILABLE);
    assert_status(lk_force_release(client, "a", NULL), LK_UNAVAILABLE);
    fake_server_forget(faulty);
    assert_ok(lk_wrlock(lock_a));
    assert_ok(lk_wrunlock(lock_a));
}

TEST(a_renewal_that_is_always_asked_for_both_keys_is_sent_at_a_slow_pace) {
    enum { LEASE_MS = 2000, REFUSED_MS = 1000, PAUSE_MS = 200 };
    fake_server *faulty = start_fake();
    lk_client *client = open_client_at(fake_server_socket(faulty), PATIENT_MS);
    lk_lock *locks[] = {new_leased_lock(client, "a", LEASE_MS),
                        new_leased_lock(client, "b", LEASE_MS)};
    teach_scripts(client);
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_wrlock(locks[1]));
    fake_server_on(faulty, "EVALSHA", FAKE_FOREVER, "-LKKEYS lk:{a}: ask again\r\n");
    size_t before = fake_server_count(faulty, "EVALSHA");
    assert_true(fake_server_wait_for(faulty, "EVALSHA", before + 1, LONG_MS));
    sleep_ms(REFUSED_MS);
    assert_true(fake_server_count(faulty, "EVALSHA") <= before + 4 + 2 * REFUSED_MS / PAUSE_MS);
    fake_server_forget(faulty);
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(lk_wrunlock(locks[1]));
}

TEST(a_lock_of_another_version_is_invalid) {
    lk_client *client = open_client();
    lk_lock *lock_a = new_lock(client, "a");
    lk_info *info = NULL;
    ask("HSET lk:{a} fence 1700000000000000");
    assert_status(lk_wrlock(lock_a), LK_INVALID);
    assert_said("another version");
    assert_status(lk_inspect(client, "a", &info), LK_INVALID);
    assert_said("another version");
    ask("DEL lk:{a}");
    assert_ok(lk_wrlock(lock_a));
    assert_ok(lk_wrunlock(lock_a));
}

int main(void) {
    return world_run(begin_world);
}
