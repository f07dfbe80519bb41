/* One test for each feature that users know from other locks. */
#include "world.h"

/* ------------------------------------------------------------------------------ preferences */

TEST(reader_preference) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_policy_lock(client, "x:readers", LK_PREFER_READER),
                        new_lock(client, "x:readers"), new_lock(client, "x:readers")};
    call writer;
    assert_ok(lk_rdlock(locks[0]));
    begin_wait(&writer, locks[1], LK_WRITE, client, "x:readers", 1);
    assert_ok(lk_rdlock(locks[2]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_false(is_holder(client, "x:readers", locks[1]));
    assert_ok(lk_rdunlock(locks[2]));
    assert_call(&writer, LK_OK);
}

TEST(writer_preference) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_policy_lock(client, "x:writers", LK_PREFER_WRITER),
                        new_lock(client, "x:writers"), new_lock(client, "x:writers")};
    call reader, writer;
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&reader, locks[1], LK_READ, client, "x:writers", 1);
    begin_wait(&writer, locks[2], LK_WRITE, client, "x:writers", 2);
    assert_ok(lk_wrunlock(locks[0]));
    assert_call(&writer, LK_OK);
    assert_false(is_holder(client, "x:writers", locks[1]));
    assert_ok(lk_wrunlock(locks[2]));
    assert_call(&reader, LK_OK);
}

TEST(writer_intention_holds_back_new_readers) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "x:intention"), new_lock(client, "x:intention"),
                        new_lock(client, "x:intention")};
    call writer, reader;
    assert_ok(lk_rdlock(locks[0]));
    begin_wait(&writer, locks[1], LK_WRITE, client, "x:intention", 1);
    assert_status(lk_tryrdlock(locks[2]), LK_BUSY);
    begin_wait(&reader, locks[2], LK_READ, client, "x:intention", 2);
    assert_ok(lk_rdunlock(locks[0]));
    assert_call(&writer, LK_OK);
    assert_ok(lk_wrunlock(locks[1]));
    assert_call(&reader, LK_OK);
}

TEST(separate_groups_of_readers) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock_with(client, "x:groups", &(lk_lock_options){.group = "scan"}),
                        new_lock_with(client, "x:groups", &(lk_lock_options){.group = "scan"}),
                        new_lock_with(client, "x:groups", &(lk_lock_options){.group = "index"})};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_tryrdlock(locks[1]));
    assert_status(lk_tryrdlock(locks[2]), LK_BUSY);
}

/* ------------------------------------------------------------------------------ leases */

static int64_t held_ms(lk_client *client, const char *name) {
    lk_info *info = inspect(client, name);
    return info->holder_count ? info->holders[0].held_ms : -1;
}

TEST(a_lease_is_refreshed_while_its_holder_lives) {
    enum { LEASE_MS = 500 };
    lk_client *client = open_client();
    atomic_int lost = 0;
    lk_lock *locks[] = {new_watched_lock(client, "x:refresh", LEASE_MS, &lost),
                        new_lock(client, "x:refresh")};
    assert_ok(lk_wrlock(locks[0]));
    for (int64_t held = 0; held < 4 * LEASE_MS; held = held_ms(client, "x:refresh")) {
        assert_true(held >= 0);
        assert_true(lk_valid(locks[0]));
        assert_true(lk_remaining_ms(locks[0]) > 0);
        assert_true(lk_remaining_ms(locks[0]) <= LEASE_MS);
        assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
        sleep_ms(20);
    }
    assert_ok(lk_wrunlock(locks[0]));
    assert_int_equal(atomic_load(&lost), 0);
}

TEST(a_holder_that_dies_expires_alone) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_leased_lock(client, "x:alone", 500), new_lock(client, "x:alone")};
    call writer;
    actor doomed = actor_start("doomed");
    actor_does(&doomed, "new 0 300 x:alone");
    actor_does(&doomed, "read 0 -1");
    assert_ok(lk_rdlock(locks[0]));
    assert_int_equal(look_at(client, "x:alone").holders, 2);
    actor_kill(&doomed);
    eventually(look_at(client, "x:alone").holders == 1);
    assert_true(is_holder(client, "x:alone", locks[0]));
    assert_true(lk_valid(locks[0]));
    begin_wait(&writer, locks[1], LK_WRITE, client, "x:alone", 1);
    assert_ok(lk_rdunlock(locks[0]));
    assert_call(&writer, LK_OK);
}

TEST(a_hold_that_is_to_be_renewed_by_hand_is_lost_when_it_is_not) {
    lk_client *client = open_client();
    atomic_int lost = 0;
    lk_lock_options options = {
        .lease_ms = 200, .manual_renew = true, .on_lost = count_loss, .on_lost_arg = &lost};
    lk_lock *locks[] = {new_lock_with(client, "x:unrenewed", &options),
                        new_lock(client, "x:unrenewed")};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_wrlock(locks[1])); /* when the lease has run out */
    eventually(atomic_load(&lost) == 1);
    assert_false(lk_valid(locks[0]));
    assert_int_equal(lk_remaining_ms(locks[0]), 0);
    assert_status(lk_renew(locks[0], 0), LK_LOST);
    assert_status(lk_tryrdlock(locks[0]), LK_LOST);
    assert_status(lk_downgrade(locks[0]), LK_LOST);
    assert_status(lk_wrunlock(locks[0]), LK_LOST);
    assert_status(lk_trywrlock(locks[0]), LK_LOST);
    assert_status(lk_rdunlock(locks[0]), LK_LOST);
    assert_status(lk_rdunlock(locks[0]), LK_NOT_HELD);
    assert_status(lk_tryrdlock(locks[0]), LK_BUSY); /* it can be used again */
    assert_ok(lk_wrunlock(locks[1]));
    assert_ok(lk_tryrdlock(locks[0]));
    assert_int_equal(atomic_load(&lost), 1);
}

TEST(a_hold_that_is_renewed_by_hand_stays) {
    lk_client *client = open_client();
    atomic_int lost = 0;
    lk_lock_options options = {
        .lease_ms = 1000, .manual_renew = true, .on_lost = count_loss, .on_lost_arg = &lost};
    lk_lock *lock = new_lock_with(client, "x:renewed", &options);
    assert_ok(lk_wrlock(lock));
    for (int64_t held = 0; held < 2200; held = held_ms(client, "x:renewed")) {
        assert_ok(lk_renew(lock, 0));
        assert_true(lk_valid(lock));
        sleep_ms(20);
    }
    assert_int_equal(atomic_load(&lost), 0);
    assert_ok(lk_wrunlock(lock));
}

TEST(a_renewal_by_hand_may_be_longer_and_never_shortens) {
    lk_client *client = open_client();
    lk_lock_options options = {.lease_ms = 5000, .manual_renew = true};
    lk_lock *lock = new_lock_with(client, "x:longer", &options);
    assert_ok(lk_wrlock(lock));
    assert_true(lk_remaining_ms(lock) <= 5000);
    assert_ok(lk_renew(lock, 60000));
    assert_true(lk_remaining_ms(lock) > 40000);
    assert_ok(lk_renew(lock, 100));
    assert_true(lk_remaining_ms(lock) > 40000);
    assert_ok(lk_renew(lock, 0));
    assert_true(lk_remaining_ms(lock) > 40000);
}

/* ------------------------------------------------------------------------------ re-entry */

TEST(re_entrant_reads) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "x:reads");
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_rdunlock(lock));
    assert_true(lk_valid(lock));
    assert_ok(lk_rdunlock(lock));
    assert_status(lk_rdunlock(lock), LK_NOT_HELD);
}

TEST(re_entrant_writes) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "x:writes");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_true(lk_valid(lock));
    assert_ok(lk_wrunlock(lock));
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
}

TEST(a_read_inside_a_write) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "x:inside");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_rdunlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

TEST(upgrade_of_the_only_reader) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "x:up");
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_trywrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_rdunlock(lock));
    assert_nothing_left();
}

TEST(downgrade) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "x:down"), new_lock(client, "x:down")};
    assert_ok(lk_wrlock(locks[0]));
    assert_status(lk_tryrdlock(locks[1]), LK_BUSY);
    assert_ok(lk_downgrade(locks[0]));
    assert_ok(lk_tryrdlock(locks[1]));
    assert_ok(lk_rdunlock(locks[0]));
}

/* ------------------------------------------------------------------------------ the rest */

TEST(bounded_retries_are_a_wait_in_ms) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "x:bounded"), new_lock(client, "x:bounded")};
    assert_ok(lk_wrlock(locks[0]));
    int64_t began_ms = now_ms();
    assert_status(lk_timedwrlock(locks[1], 100), LK_TIMEOUT);
    assert_true(now_ms() - began_ms >= 100);
}

TEST(an_app_id_is_seen_by_others_with_host_and_pid) {
    lk_client *client = open_client();
    char host[256] = "";
    actor other = actor_start("billing-7");
    actor_does(&other, "new 0 30000 x:app");
    actor_does(&other, "write 0 -1");
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    lk_info *info = inspect(client, "x:app");
    assert_int_equal(info->holder_count, 1);
    assert_string_equal(info->holders[0].app, "billing-7");
    assert_string_equal(info->holders[0].host, host);
    assert_int_equal(info->holders[0].pid, other.pid);
    assert_true(connections_named("latchkey:billing-7") >= 1);
    actor_end(&other);
}

TEST(the_app_id_is_the_name_of_the_program_unless_given) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "x:program");
    assert_ok(lk_rdlock(lock));
    lk_info *info = inspect(client, "x:program");
    assert_string_equal(info->holders[0].app, "features_test");
    assert_int_equal(info->holders[0].pid, getpid());
}

TEST(a_custom_prefix) {
    lk_client *clients[] = {open_client(),
                            open_client_with(&(lk_client_options){.prefix = "shop"})};
    lk_lock *locks[] = {new_lock(clients[0], "x:prefix"), new_lock(clients[1], "x:prefix")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_trywrlock(locks[1]));
    assert_int_equal(ask("EXISTS lk:{x:prefix} shop:{x:prefix}"), 2);
}

TEST(a_fifo_mutex_starves_nobody) {
    enum { MANY = 8, ROUNDS = 25 };
    lk_client *client = open_client();
    lk_lock *greedy = new_lock(client, "x:mutex"), *patient = new_lock(client, "x:mutex");
    call waiter;
    for (int i = 0; i < ROUNDS; i++) {
        assert_ok(lk_wrlock(greedy));
        begin_wait(&waiter, patient, LK_WRITE, client, "x:mutex", 1);
        assert_ok(lk_wrunlock(greedy));
        /* A waiter that comes now is behind all others. */
        for (int j = 0; j < MANY; j++)
            assert_status(lk_trywrlock(greedy), LK_BUSY);
        assert_call(&waiter, LK_OK);
        assert_ok(lk_wrunlock(patient));
    }
}

TEST(wake_up_without_polling) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "x:wake"), new_lock(client, "x:wake")};
    call waiter;
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&waiter, locks[1], LK_WRITE, client, "x:wake", 1);
    long long before = command_calls("evalsha");
    int64_t began_ms = now_ms();
    sleep_ms(300);
    assert_true(command_calls("evalsha") - before <= 1 + (now_ms() - began_ms) / 1000);
    assert_ok(lk_wrunlock(locks[0]));
    assert_call(&waiter, LK_OK);
}

static void *unlock_in_a_thread(void *context) {
    static lk_status status;
    status = lk_wrunlock(context);
    return &status;
}

TEST(another_thread_may_unlock) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "x:thread");
    void *status = NULL;
    assert_ok(lk_wrlock(lock));
    assert_int_equal(pthread_join(thread_start(unlock_in_a_thread, lock), &status), 0);
    assert_int_equal(*(lk_status *)status, LK_OK);
    assert_false(lk_valid(lock));
    assert_nothing_left();
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
