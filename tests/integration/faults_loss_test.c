/* Lost holds: the client notices in time, on_lost is called once, and unlocking clears them. */
#include "world.h"

enum { LEASE_MS = 500 }; /* of holds that are to be lost */

static proxy *net;         /* between `cut_off` and the server */
static lk_client *cut_off; /* the test cuts it off */
static lk_client *client;  /* always reaches the server */
static atomic_int losses;

static void cut_off_client(void) {
    atomic_store(&losses, 0);
    net = start_proxy();
    client = open_client_at(test_server_socket(server), PATIENT_MS);
    cut_off = open_client_at(proxy_socket(net), PATIENT_MS);
    teach_scripts(cut_off);
    teach_scripts(client);
}

static lk_lock *new_frail_lock(lk_client *of, const char *name) {
    return new_watched_lock(of, name, LEASE_MS, &losses);
}

static void expect_lost_once(lk_lock *lock) {
    eventually(atomic_load(&losses) == 1);
    assert_false(lk_valid(lock));
    assert_int_equal(lk_remaining_ms(lock), 0);
}

/* ------------------------------------------------------------------------------ expired */

TEST_WITH(cut_off_client, hold_on_a_stopped_server_is_lost_when_its_lease_is_over) {
    lk_lock *lock = new_frail_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    uint64_t fence = lk_fence(lock);
    kill(test_server_pid(server), SIGSTOP);
    expect_lost_once(lock); /* while the server is still away */
    assert_int_equal(lk_fence(lock), fence);
    assert_status(lk_wrlock(lock), LK_LOST);
    assert_status(lk_trywrlock(lock), LK_LOST);
    assert_status(lk_tryrdlock(lock), LK_LOST);
    assert_status(lk_renew(lock, 0), LK_LOST);
    assert_status(lk_downgrade(lock), LK_LOST);
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_int_equal(lk_fence(lock), 0);
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    kill(test_server_pid(server), SIGCONT);
    assert_ok(lk_wrlock(lock));
    assert_true(lk_fence(lock) > fence);
    assert_true(lk_valid(lock));
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(atomic_load(&losses), 1);
}

TEST_WITH(cut_off_client, hold_on_a_server_that_cannot_be_reached_is_lost_when_its_lease_is_over) {
    lk_lock *lock = new_frail_lock(cut_off, "a");
    assert_ok(lk_rdlock(lock));
    proxy_refuse(net, true);
    proxy_cut_all(net, PROXY_ALL);
    expect_lost_once(lock);
    assert_status(lk_rdunlock(lock), LK_LOST);
    proxy_refuse(net, false);
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_rdunlock(lock));
    assert_int_equal(atomic_load(&losses), 1);
}

TEST_WITH(cut_off_client, nested_holds_that_are_lost_want_an_unlock_each) {
    lk_lock *lock = new_frail_lock(cut_off, "a");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_rdlock(lock));
    proxy_pause(net, PROXY_ALL, PROXY_BOTH);
    expect_lost_once(lock);
    assert_status(lk_wrlock(lock), LK_LOST);
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_status(lk_wrlock(lock), LK_LOST);
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_status(lk_rdlock(lock), LK_LOST);
    assert_status(lk_rdunlock(lock), LK_LOST);
    assert_status(lk_rdunlock(lock), LK_NOT_HELD);
    proxy_resume(net, PROXY_ALL, PROXY_BOTH);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(atomic_load(&losses), 1);
}

TEST_WITH(cut_off_client, each_loss_is_told_once) {
    lk_lock *lock = new_frail_lock(cut_off, "a");
    for (int i = 1; i <= 3; i++) {
        assert_ok(lk_wrlock(lock));
        proxy_pause(net, PROXY_ALL, PROXY_BOTH);
        eventually(atomic_load(&losses) == i);
        proxy_resume(net, PROXY_ALL, PROXY_BOTH);
        assert_status(lk_wrunlock(lock), LK_LOST);
    }
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(atomic_load(&losses), 3);
}

TEST_WITH(cut_off_client, hold_that_is_renewed_by_hand_alone_is_lost_when_nobody_does) {
    lk_lock *lock = NULL;
    lk_lock_options options = {
        .lease_ms = LEASE_MS, .manual_renew = true, .on_lost = count_loss, .on_lost_arg = &losses};
    lock = new_lock_with(client, "a", &options);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_renew(lock, 2 * LEASE_MS));
    assert_true(lk_remaining_ms(lock) > LEASE_MS);
    expect_lost_once(lock);
    assert_status(lk_renew(lock, 0), LK_LOST);
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

static lk_status renew_for_an_hour(lk_lock *lock) {
    return lk_renew(lock, 3600000);
}

/* The server renews, and its answer is lost: the server has the hold for much longer than we. */
static void renew_unheard_and_lose(lk_mode mode, lk_status (*take)(lk_lock *),
                                   lk_status (*give)(lk_lock *)) {
    call renewing;
    lk_lock *lock = new_frail_lock(cut_off, "a");
    assert_ok(take(lock));
    proxy_pause(net, PROXY_ALL, PROXY_TO_CLIENT);
    begin_call(&renewing, renew_for_an_hour, lock);
    eventually(look_at(client, "a").left_ms > 10 * LEASE_MS);
    expect_lost_once(lock);
    proxy_resume(net, PROXY_ALL, PROXY_TO_CLIENT);
    assert_call(&renewing, LK_LOST);
    eventually(look_at(client, "a").holders == 0);
    assert_int_equal(inspect(client, "a")->abandoned, mode == LK_WRITE);
    assert_status(give(lock), LK_LOST);
    assert_ok(lk_wrlock(lock));
    assert_int_equal(lk_abandoned(lock), mode == LK_WRITE);
    assert_ok(lk_wrunlock(lock));
    eventually(is_empty());
    free_lock(lock);
}

TEST_WITH(cut_off_client, lost_hold_that_the_server_has_renewed_is_dropped_there) {
    renew_unheard_and_lose(LK_READ, lk_rdlock, lk_rdunlock);
    atomic_store(&losses, 0);
    renew_unheard_and_lose(LK_WRITE, lk_wrlock, lk_wrunlock);
}

TEST_WITH(cut_off_client, server_that_stops_for_less_than_the_lease_loses_nothing) {
    enum { LONG_LEASE_MS = 5000, STOPPED_MS = 2000 };
    lk_lock *lock = new_watched_lock(client, "a", LONG_LEASE_MS, &losses);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_renew(lock, 0));
    kill(test_server_pid(server), SIGSTOP);
    eventually(lk_remaining_ms(lock) < LONG_LEASE_MS - STOPPED_MS); /* a renewal is overdue */
    kill(test_server_pid(server), SIGCONT);
    eventually(lk_remaining_ms(lock) > LONG_LEASE_MS - STOPPED_MS);
    assert_true(lk_valid(lock));
    assert_int_equal(atomic_load(&losses), 0);
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

TEST_WITH(cut_off_client, loss_is_not_told_of_a_handle_that_was_freed) {
    lk_lock *lock = new_frail_lock(cut_off, "a"),
            *other = new_watched_lock(cut_off, "b", LEASE_MS, &losses);
    atomic_int others = 0;
    lk_lock *last = new_watched_lock(cut_off, "c", LEASE_MS, &others);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrlock(other));
    assert_ok(lk_wrlock(last));
    proxy_pause(net, PROXY_ALL, PROXY_BOTH);
    free_lock(lock);
    free_lock(other);
    eventually(atomic_load(&others) == 1); /* its lease began last */
    assert_int_equal(atomic_load(&losses), 0);
    proxy_resume(net, PROXY_ALL, PROXY_BOTH);
    assert_status(lk_wrunlock(last), LK_LOST);
}

/* ------------------------------------------------------------------------------ taken away */

TEST_WITH(cut_off_client, hold_taken_by_force_is_lost) {
    lk_lock *lock = new_watched_lock(cut_off, "a", 0, &losses);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_force_release(client, "a", lk_owner(lock)));
    expect_lost_once(lock);
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_ok(lk_wrlock(lock));
    assert_true(lk_abandoned(lock));
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(atomic_load(&losses), 1);
}

TEST_WITH(cut_off_client, hold_taken_by_force_is_lost_also_for_a_client_that_never_waited) {
    enum { LONG_LEASE_MS = 3000 }; /* it has no subscription, and learns it by renewing */
    lk_client *quiet = open_client_at(test_server_socket(server), PATIENT_MS);
    lk_lock *lock = new_watched_lock(quiet, "a", LONG_LEASE_MS, &losses);
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_force_release(client, "a", NULL));
    expect_lost_once(lock);
    assert_status(lk_rdunlock(lock), LK_LOST);
}

TEST_WITH(cut_off_client, force_that_nobody_heard_is_known_when_the_subscription_is_back) {
    enum { HOUR_MS = 3600000 }; /* the next renewal is twenty minutes away */
    lk_lock *lock = new_watched_lock(cut_off, "a", HOUR_MS, &losses);
    assert_ok(lk_rdlock(lock));
    proxy_refuse(net, true);
    proxy_cut_all(net, PROXY_SUBSCRIPTIONS);
    assert_true(proxy_wait_connections(net, PROXY_SUBSCRIPTIONS, 0, LONG_MS));
    assert_ok(lk_force_release(client, "a", NULL));
    proxy_refuse(net, false);
    expect_lost_once(lock);
    assert_status(lk_rdunlock(lock), LK_LOST);
}

TEST_WITH(cut_off_client, hold_whose_key_somebody_deleted_is_lost_with_the_next_renewal) {
    enum { LONG_LEASE_MS = 3000 };
    lk_lock *lock = new_watched_lock(client, "a", LONG_LEASE_MS, &losses);
    assert_ok(lk_wrlock(lock));
    assert_int_equal(ask("DEL lk:{a}"), 1);
    expect_lost_once(lock);
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(atomic_load(&losses), 1);
}

TEST_WITH(cut_off_client, every_call_notices_that_the_key_is_gone) {
    static lk_status (*const calls[])(lk_lock *) = {lk_wrlock, lk_wrunlock, lk_downgrade};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        lk_lock *lock = new_watched_lock(client, "a", 0, &losses);
        atomic_store(&losses, 0);
        assert_ok(lk_wrlock(lock));
        ask("FLUSHALL");
        assert_status(calls[i](lock), LK_LOST);
        eventually(atomic_load(&losses) == 1);
        lk_status left = lk_wrunlock(lock);
        assert_int_equal(left, calls[i] == lk_wrunlock ? LK_NOT_HELD : LK_LOST);
        assert_ok(lk_wrlock(lock));
        assert_ok(lk_wrunlock(lock));
        free_lock(lock);
    }
}

/* ------------------------------------------------------------------------------ upgrades */

TEST_WITH(cut_off_client, upgrade_whose_reads_are_forced_away_is_lost) {
    lk_lock *lock = new_watched_lock(cut_off, "a", 0, &losses), *reader = new_lock(client, "a");
    call upgrading;
    assert_ok(lk_rdlock(reader));
    assert_ok(lk_rdlock(lock));
    begin_wait(&upgrading, lock, LK_WRITE, client, "a", 1);
    assert_ok(lk_force_release(client, "a", lk_owner(lock)));
    assert_call(&upgrading, LK_LOST);
    expect_lost_once(lock);
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_status(lk_rdunlock(lock), LK_LOST);
    assert_int_equal(look_at(client, "a").waiters, 0);
    assert_ok(lk_rdunlock(reader));
    eventually(is_empty());
}

TEST_WITH(cut_off_client, upgrade_whose_reads_run_out_is_lost_and_leaves_nothing) {
    lk_lock *lock = new_frail_lock(cut_off, "a"), *reader = new_lock(client, "a");
    call upgrading;
    assert_ok(lk_rdlock(reader));
    assert_ok(lk_rdlock(lock));
    begin_wait(&upgrading, lock, LK_WRITE, client, "a", 1);
    proxy_pause(net, PROXY_ALL, PROXY_BOTH);
    assert_call(&upgrading, LK_LOST);
    expect_lost_once(lock);
    proxy_resume(net, PROXY_ALL, PROXY_BOTH);
    assert_status(lk_rdunlock(lock), LK_LOST);
    assert_ok(lk_rdunlock(reader));
    eventually(is_empty());
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

/* ------------------------------------------------------------------------------ who is next */

TEST_WITH(cut_off_client, holder_that_was_cut_off_is_not_valid_when_the_next_one_is_granted) {
    enum { SHORT_LEASE_MS = 300, TIMES = 20 };
    lk_lock *first = new_leased_lock(cut_off, "a", SHORT_LEASE_MS);
    lk_lock *second = new_lock(client, "a");
    for (int i = 0; i < TIMES; i++) {
        assert_ok(lk_wrlock(first));
        uint64_t fence = lk_fence(first);
        proxy_pause(net, PROXY_ALL, PROXY_BOTH);
        assert_ok(lk_wrlock(second));
        assert_false(lk_valid(first));
        assert_true(lk_valid(second));
        assert_true(lk_fence(second) > fence);
        proxy_resume(net, PROXY_ALL, PROXY_BOTH);
        assert_status(lk_wrunlock(first), LK_LOST);
        assert_ok(lk_wrunlock(second));
    }
}

TEST_WITH(cut_off_client, next_holder_is_told_that_a_writer_was_lost_until_one_ends_well) {
    lk_lock *first = new_frail_lock(cut_off, "a"), *second = new_lock(client, "a");
    assert_ok(lk_wrlock(first));
    assert_false(lk_abandoned(first));
    proxy_pause(net, PROXY_ALL, PROXY_BOTH);
    assert_ok(lk_rdlock(second));
    assert_true(lk_abandoned(second));
    assert_ok(lk_rdunlock(second));
    assert_ok(lk_wrlock(second));
    assert_true(lk_abandoned(second));
    assert_ok(lk_wrunlock(second));
    assert_false(lk_abandoned(second));
    assert_ok(lk_wrlock(second));
    assert_false(lk_abandoned(second));
    assert_ok(lk_wrunlock(second));
    proxy_resume(net, PROXY_ALL, PROXY_BOTH);
    assert_status(lk_wrunlock(first), LK_LOST);
    eventually(is_empty()); /* dropping takes the lock for a moment */
}

TEST_WITH(cut_off_client, renewal_does_not_outlive_the_unlock) {
    enum { SHORT_LEASE_MS = 600, RENEWALS = 5 };
    fake_server *fake = start_fake();
    lk_client *seen = open_client_at(fake_server_socket(fake), PATIENT_MS);
    lk_lock *lock = new_leased_lock(seen, "a", SHORT_LEASE_MS),
            *kept = new_leased_lock(seen, "b", SHORT_LEASE_MS);
    assert_ok(lk_wrlock(lock));
    assert_true(fake_server_wait_for(fake, "EVALSHA * 1 lk:{a}", 3, LONG_MS));
    assert_ok(lk_wrunlock(lock));
    size_t of_a = fake_server_count(fake, "EVALSHA * 1 lk:{a}");
    size_t of_both = fake_server_count(fake, "EVALSHA * 2");
    assert_ok(lk_wrlock(kept));
    size_t of_b = fake_server_count(fake, "EVALSHA * 1 lk:{b}");
    assert_true(fake_server_wait_for(fake, "EVALSHA * 1 lk:{b}", of_b + RENEWALS, LONG_MS));
    assert_int_equal(fake_server_count(fake, "EVALSHA * 1 lk:{a}"), of_a);
    assert_int_equal(fake_server_count(fake, "EVALSHA * 2"), of_both);
    assert_ok(lk_wrunlock(kept));
}

/* ------------------------------------------------------------------------------ stopped */

typedef struct {
    uint64_t fence; /* 0: it was not granted */
    bool valid_before, valid_after;
    lk_status unlocked;
} witness;

/* Takes the lock, stops itself, and looks at the lock first when it continues. */
static witness hold_and_stop(const char *url) {
    witness saw = {0};
    lk_client *own = NULL;
    lk_lock *lock = NULL;
    lk_lock_options options = {.lease_ms = 1000};
    if (lk_open(url, NULL, &own) || lk_lock_new(own, "a", &options, &lock) || lk_wrlock(lock))
        return saw;
    saw.fence = lk_fence(lock);
    saw.valid_before = lk_valid(lock);
    kill(getpid(), SIGSTOP);
    saw.valid_after = lk_valid(lock);
    saw.unlocked = lk_wrunlock(lock);
    lk_lock_free(lock);
    lk_close(own);
    return saw;
}

static int report_what_was_seen(const char *url, int report) {
    witness saw = hold_and_stop(url);
    return write(report, &saw, sizeof saw) == sizeof saw ? 0 : 1;
}

/* The child is forked before any client of this program has a thread. */
static pid_t child;
static int child_asks, child_reports;

static int begin_world_with_child(void **state) {
    int orders[2], reports[2];
    begin_world(state);
    assert_int_equal(pipe(orders), 0);
    assert_int_equal(pipe(reports), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char go;
        close(orders[1]);
        close(reports[0]);
        if (read(orders[0], &go, 1) != 1)
            _exit(0);
        _exit(report_what_was_seen(server_url, reports[1]));
    }
    close(orders[0]);
    close(reports[1]);
    child_asks = orders[1];
    child_reports = reports[0];
    return 0;
}

TEST_WITH(cut_off_client, process_that_was_stopped_for_longer_than_its_lease_knows_it_at_once) {
    lk_lock *next = new_lock(client, "a");
    witness saw;
    int status;
    assert_int_equal(write(child_asks, "!", 1), 1);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    assert_ok(lk_wrlock(next));
    assert_true(lk_abandoned(next));
    kill(child, SIGCONT);
    assert_int_equal(read(child_reports, &saw, sizeof saw), sizeof saw);
    assert_true(saw.fence > 0);
    assert_true(saw.valid_before);
    assert_false(saw.valid_after);
    assert_int_equal(saw.unlocked, LK_LOST);
    assert_true(lk_fence(next) > saw.fence);
    assert_true(lk_valid(next));
    assert_int_equal(look_at(client, "a").writes, 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_ok(lk_wrunlock(next));
}

int main(void) {
    return world_run(begin_world_with_child);
}
