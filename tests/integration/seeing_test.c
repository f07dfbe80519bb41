/* lk_inspect and lk_force_release. */
#include "world.h"

/* ------------------------------------------------------------------------------ lk_inspect */

TEST(nobody_is_in_a_lock_that_nobody_uses) {
    lk_client *client = open_client();
    lk_info *info = inspect(client, "s:free");
    assert_string_equal(info->name, "s:free");
    assert_string_equal(info->server, test_server_socket(server));
    assert_true(info->server_time_us > 0);
    assert_int_equal(info->policy, LK_FAIR);
    assert_true(info->fence == 0);
    assert_false(info->abandoned);
    assert_int_equal(info->holder_total, 0);
    assert_int_equal(info->holder_count, 0);
    assert_int_equal(info->waiter_total, 0);
    assert_int_equal(info->waiter_count, 0);
    assert_nothing_left();
}

TEST(a_holder_is_seen_with_all_that_is_known_of_it) {
    lk_client *client = open_client_with(&(lk_client_options){.app = "the app"});
    char host[256] = "";
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    lk_lock_options options = {
        .lease_ms = 20000, .group = "blue", .owner = "ann", .policy = LK_PHASE_FAIR};
    lk_lock *lock = new_lock_with(client, "s:holder", &options);
    assert_ok(lk_wrlock(lock));
    for (int i = 0; i < 2; i++)
        assert_ok(lk_rdlock(lock));
    lk_info *info = inspect(client, "s:holder");
    assert_int_equal(info->policy, LK_PHASE_FAIR);
    assert_true(info->fence == lk_fence(lock));
    assert_int_equal(info->holder_total, 1);
    assert_int_equal(info->holder_count, 1);
    const lk_holder_info *holder = &info->holders[0];
    assert_int_equal(strlen(holder->handle), 45);
    assert_string_equal(holder->owner, "ann");
    assert_string_equal(holder->group, "blue");
    assert_string_equal(holder->app, "the app");
    assert_string_equal(holder->host, host);
    assert_int_equal(holder->pid, getpid());
    assert_int_equal(holder->reads, 2);
    assert_int_equal(holder->writes, 1);
    assert_true(holder->left_ms > 0 && holder->left_ms <= 20000);
    assert_true(holder->held_ms >= 0 && holder->held_ms < PATIENT_MS);
    assert_true(holder->fence == lk_fence(lock));
    assert_false(holder->provisional);
}

TEST(ages_grow) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "s:age"), new_lock(client, "s:age")};
    call waiter;
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&waiter, locks[1], LK_WRITE, client, "s:age", 1);
    int64_t held_ms = 0, waited_ms = 0, from_us = 0, now_us = 0;
    while (held_ms < 100 || waited_ms < 100) {
        lk_info *info = inspect(client, "s:age");
        assert_true(info->holders[0].held_ms >= held_ms);
        assert_true(info->waiters[0].waited_ms >= waited_ms);
        assert_true(info->server_time_us >= now_us);
        held_ms = info->holders[0].held_ms;
        waited_ms = info->waiters[0].waited_ms;
        now_us = info->server_time_us;
        from_us = from_us ? from_us : now_us;
    }
    assert_true(now_us > from_us);
    assert_ok(lk_wrunlock(locks[0]));
    assert_call(&waiter, LK_OK);
}

TEST(waiters_are_seen_in_the_order_in_which_they_come_next) {
    lk_client *client = open_client();
    lk_lock_options blue = {.group = "blue", .owner = "a reader", .lease_ms = 5000};
    lk_lock *locks[] = {new_lock(client, "s:waiters"), new_lock(client, "s:waiters"),
                        new_lock(client, "s:waiters"), new_lock_with(client, "s:waiters", &blue)};
    call writer, reader, upgrader;
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    begin_wait(&writer, locks[2], LK_WRITE, client, "s:waiters", 1);
    begin_wait(&reader, locks[3], LK_READ, client, "s:waiters", 2);
    begin_wait(&upgrader, locks[0], LK_WRITE, client, "s:waiters", 3);
    lk_info *info = inspect(client, "s:waiters");
    assert_int_equal(info->holder_total, 2);
    assert_int_equal(info->waiter_total, 3);
    assert_int_equal(info->waiter_count, 3);
    const lk_waiter_info *first = &info->waiters[0], *second = first + 1, *third = first + 2;
    assert_string_equal(first->owner, lk_owner(locks[0]));
    assert_true(first->upgrade);
    assert_int_equal(first->mode, LK_WRITE);
    assert_string_equal(second->owner, lk_owner(locks[2]));
    assert_false(second->upgrade);
    assert_int_equal(second->mode, LK_WRITE);
    assert_string_equal(second->group, "");
    assert_string_equal(third->owner, "a reader");
    assert_string_equal(third->group, "blue");
    assert_int_equal(third->mode, LK_READ);
    assert_false(third->upgrade);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(info->waiters[i].pid, getpid());
        assert_string_equal(info->waiters[i].app, "seeing_test");
        assert_true(info->waiters[i].left_ms > 0 && info->waiters[i].left_ms <= 10000);
        assert_true(info->waiters[i].waited_ms >= 0);
    }
    assert_true(third->left_ms <= 5000);
    assert_true(second->waited_ms >= third->waited_ms);
    assert_ok(lk_rdunlock(locks[1]));
    assert_call(&upgrader, LK_OK);
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_call(&writer, LK_OK);
    assert_ok(lk_wrunlock(locks[2]));
    assert_call(&reader, LK_OK);
}

TEST(holders_are_seen_by_the_end_of_their_leases) {
    lk_client *client = open_client();
    const int64_t leases_ms[] = {60000, 20000, 40000};
    lk_lock *locks[3];
    for (size_t i = 0; i < 3; i++) {
        locks[i] = new_leased_lock(client, "s:ends", leases_ms[i]);
        assert_ok(lk_rdlock(locks[i]));
    }
    lk_info *info = inspect(client, "s:ends");
    assert_int_equal(info->holder_count, 3);
    assert_string_equal(info->holders[0].owner, lk_owner(locks[1]));
    assert_string_equal(info->holders[1].owner, lk_owner(locks[2]));
    assert_string_equal(info->holders[2].owner, lk_owner(locks[0]));
}

enum { CROWD = 1005 };

TEST(totals_go_beyond_the_thousand_that_are_shown) {
    static lk_lock *locks[CROWD];
    lk_client *client = open_client();
    tally done = {0};
    for (size_t i = 0; i < CROWD; i++) {
        locks[i] = new_lock(client, "s:crowd");
        assert_ok(lk_acquire_async(locks[i], LK_READ, -1, tally_done, &done));
    }
    eventually(atomic_load(&done.count) == CROWD);
    lk_info *info = inspect(client, "s:crowd");
    assert_int_equal(info->holder_total, CROWD);
    assert_int_equal(info->holder_count, 1000);
}

TEST(a_mark_is_seen) {
    lk_client *client = open_client();
    lk_lock *lock = new_leased_lock(client, "s:mark", 200);
    assert_ok(lk_wrlock(lock));
    uint64_t fence = lk_fence(lock);
    assert_ok(lk_force_release(client, "s:mark", NULL));
    lk_info *info = inspect(client, "s:mark");
    assert_true(info->abandoned);
    assert_int_equal(info->holder_total, 0);
    assert_true(info->fence >= fence);
}

/* ------------------------------------------------------------------------------ force */

TEST(force_takes_away_the_holds_of_one_owner) {
    lk_client *client = open_client();
    atomic_int lost = 0, kept = 0;
    lk_lock_options ann = {
        .owner = "ann", .lease_ms = 300, .on_lost = count_loss, .on_lost_arg = &lost};
    lk_lock_options bob = {
        .owner = "bob", .lease_ms = 300, .on_lost = count_loss, .on_lost_arg = &kept};
    lk_lock *locks[] = {new_lock_with(client, "s:one", &ann), new_lock_with(client, "s:one", &ann),
                        new_lock_with(client, "s:one", &bob)};
    for (size_t i = 0; i < 3; i++)
        assert_ok(lk_rdlock(locks[i]));
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_force_release(client, "s:one", "ann"));
    assert_int_equal(look_at(client, "s:one").holders, 1);
    eventually(atomic_load(&lost) == 2); /* one for each handle */
    assert_false(lk_valid(locks[0]));
    assert_false(lk_valid(locks[1]));
    assert_true(lk_valid(locks[2]));
    assert_status(lk_rdunlock(locks[0]), LK_LOST);
    assert_status(lk_rdunlock(locks[0]), LK_LOST);
    assert_status(lk_rdunlock(locks[1]), LK_LOST);
    assert_ok(lk_rdunlock(locks[2]));
    assert_int_equal(atomic_load(&kept), 0);
    assert_nothing_left(); /* readers leave no mark */
    free_locks(locks, 3);
    close_client(client);
    assert_int_equal(atomic_load(&lost), 2);
}

TEST(force_takes_away_the_holds_of_everyone) {
    lk_client *clients[] = {open_client(), open_client()};
    atomic_int lost = 0;
    lk_lock *locks[] = {new_watched_lock(clients[0], "s:all", 300, &lost),
                        new_watched_lock(clients[1], "s:all", 300, &lost)};
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    assert_ok(lk_force_release(clients[0], "s:all", NULL));
    assert_int_equal(look_at(clients[0], "s:all").holders, 0);
    eventually(atomic_load(&lost) == 2);
}

TEST(a_loss_by_force_is_told_at_once_to_who_wants_to_know) {
    lk_client *client = open_client();
    atomic_int lost = 0;
    lk_lock *lock = new_watched_lock(client, "s:told", 86400000, &lost);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_force_release(client, "s:told", NULL));
    eventually(atomic_load(&lost) == 1);
    assert_false(lk_valid(lock));
}

TEST(force_of_nobody_is_not_held) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "s:nobody");
    assert_status(lk_force_release(client, "s:nobody", NULL), LK_NOT_HELD);
    assert_said("s:nobody");
    assert_said(server_url);
    assert_ok(lk_wrlock(lock));
    assert_status(lk_force_release(client, "s:nobody", "somebody else"), LK_NOT_HELD);
    assert_said("somebody else");
    assert_true(is_holder(client, "s:nobody", lock));
    assert_ok(lk_force_release(client, "s:nobody", lk_owner(lock)));
}

TEST(waiters_stay_and_are_granted_when_a_holder_is_forced_out) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_leased_lock(client, "s:granted", 300), new_lock(client, "s:granted"),
                        new_lock(client, "s:granted")};
    call waiters[2];
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&waiters[0], locks[1], LK_WRITE, client, "s:granted", 1);
    begin_wait(&waiters[1], locks[2], LK_WRITE, client, "s:granted", 2);
    assert_ok(lk_force_release(client, "s:granted", NULL));
    assert_call(&waiters[0], LK_OK);
    assert_true(lk_abandoned(locks[1])); /* the writer before it did not unlock */
    assert_int_equal(look_at(client, "s:granted").waiters, 1);
    assert_ok(lk_wrunlock(locks[1]));
    assert_call(&waiters[1], LK_OK);
    assert_false(lk_abandoned(locks[2]));
}

int main(void) {
    return world_run(begin_world);
}
