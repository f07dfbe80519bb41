/*
 * A writer dies, and the lock is then granted to a caller that has given up. The client releases
 * that grant in the background. The next holder still learns that a writer died: only a caller that
 * was told of it can clear the mark (SPEC 6.3).
 */
#include "network.h"

enum { LEASE_MS = 400, WAIT_MS = 100 };

/* ------------------------------------------------------------------------------ the story */

static long long scripts_before;

/* Returns when the hold of a writer has expired. Nobody has dropped it yet. */
static void let_a_writer_expire(void) {
    lk_lock_options options = {.lease_ms = LEASE_MS, .manual_renew = true};
    assert_ok(lk_wrlock(new_lock_with(other, "a", &options)));
    eventually(inspect(other, "a")->abandoned);
}

/* Requests of `client` do not reach the server from now on. */
static void hold_requests(void) {
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    scripts_before = command_calls("evalsha");
}

/* The request of the caller reaches the server now, and is granted. */
static void let_requests_through(void) {
    assert_int_equal(command_calls("evalsha"), scripts_before);
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    eventually(command_calls("evalsha") > scripts_before);
}

/* Waits until the grant is released. */
static void expect_mark(void) {
    begin_call(&waiting, lk_wrlock, holder);
    assert_call(&waiting, LK_OK);
    assert_true(lk_abandoned(holder));
    assert_ok(lk_wrunlock(holder));
    eventually(is_empty());
}

/* ------------------------------------------------------------------------------ acquires */

TEST_WITH(hasty_network, a_mark_outlives_a_grant_to_a_caller_that_timed_out) {
    let_a_writer_expire();
    hold_requests();
    begin_lock(&waiting, lock, LK_WRITE, WAIT_MS);
    assert_call(&waiting, LK_UNAVAILABLE);
    let_requests_through();
    expect_mark();
}

TEST_WITH(hasty_network, a_mark_outlives_a_grant_to_a_caller_that_was_cancelled) {
    let_a_writer_expire();
    hold_requests();
    size_t requests = proxy_requests(net, PROXY_COMMANDS);
    begin_call(&waiting, lk_wrlock, lock);
    assert_true(proxy_wait_requests(net, PROXY_COMMANDS, requests + 1, LONG_MS));
    assert_ok(lk_cancel(lock));
    lk_status status = end_call(&waiting);
    assert_true(status == LK_CANCELED || status == LK_UNAVAILABLE);
    let_requests_through();
    expect_mark();
}

TEST_WITH(network, a_mark_outlives_a_grant_to_a_handle_that_was_freed) {
    tally taken = {0};
    let_a_writer_expire();
    hold_requests();
    lk_lock *freed = new_lock(client, "a");
    assert_ok(lk_acquire_async(freed, LK_WRITE, -1, tally_done, &taken));
    free_lock(freed);
    assert_int_equal(atomic_load(&taken.status), LK_CANCELED);
    let_requests_through();
    expect_mark();
}

static void *close_on_a_thread(void *closed) {
    lk_close(closed);
    return NULL;
}

TEST_WITH(network, a_mark_outlives_a_grant_to_a_client_that_is_closed) {
    tally taken = {0};
    lk_client *closed = NULL;
    char *url = world_print("unix://%s", proxy_socket(net));
    assert_ok(lk_open(url, NULL, &closed));
    lk_lock *of_closed = NULL;
    assert_ok(lk_lock_new(closed, "a", NULL, &of_closed));
    let_a_writer_expire();
    hold_requests();
    assert_ok(lk_acquire_async(of_closed, LK_WRITE, -1, tally_done, &taken));
    pthread_t closing = thread_start(close_on_a_thread, closed);
    eventually(atomic_load(&taken.count) == 1);
    assert_int_equal(atomic_load(&taken.status), LK_CANCELED);
    let_requests_through();
    thread_join(closing);
    lk_lock_free(of_closed);
    expect_mark();
}

/* The callers had the hold, so they were told of the mark, and this release clears it. */
TEST_WITH(network, a_hold_that_a_freed_handle_had_clears_the_mark) {
    let_a_writer_expire();
    lk_lock *freed = new_lock(client, "a");
    assert_ok(lk_wrlock(freed));
    assert_true(lk_abandoned(freed));
    free_lock(freed);
    begin_call(&waiting, lk_wrlock, holder);
    assert_call(&waiting, LK_OK);
    assert_false(lk_abandoned(holder));
    assert_ok(lk_wrunlock(holder));
}

/* ------------------------------------------------------------------------------ upgrades */

TEST_WITH(hasty_network, a_mark_outlives_an_upgrade_for_a_caller_that_timed_out) {
    let_a_writer_expire();
    assert_ok(lk_rdlock(lock));
    assert_true(lk_abandoned(lock));
    hold_requests();
    begin_lock(&waiting, lock, LK_WRITE, WAIT_MS);
    assert_call(&waiting, LK_UNAVAILABLE);
    let_requests_through();
    eventually(look_at(other, "a").writes == 0);
    eventually(lk_rdunlock(lock) != LK_UNAVAILABLE);
    expect_mark();
}

/* The upgrade waits for `holder`, and is granted when the caller has given up. */
TEST_WITH(hasty_network, a_mark_outlives_an_upgrade_that_waited_and_was_cancelled) {
    let_a_writer_expire();
    assert_ok(lk_rdlock(lock));
    assert_ok(lk_rdlock(holder));
    begin_wait(&waiting, lock, LK_WRITE, other, "a", 1);
    proxy_pause(net, PROXY_ALL, PROXY_BOTH);
    assert_ok(lk_rdunlock(holder)); /* grants the upgrade, and nobody hears of it */
    assert_ok(lk_cancel(lock));
    lk_status status = end_call(&waiting);
    assert_true(status == LK_CANCELED || status == LK_UNAVAILABLE);
    proxy_resume(net, PROXY_ALL, PROXY_BOTH);
    eventually(look_at(other, "a").writes == 0);
    eventually(lk_rdunlock(lock) != LK_UNAVAILABLE);
    expect_mark();
}

/* ------------------------------------------------------------------------------ outages */

static void wake_server(void) {
    kill(test_server_pid(server), SIGCONT);
}

/* The server stands still until the lease of the writer is over and the waiter has given up. */
TEST_WITH(hasty_network, a_mark_outlives_a_grant_after_an_outage) {
    lk_lock *writer = new_leased_lock(other, "a", LEASE_MS);
    assert_ok(lk_wrlock(writer));
    begin_wait(&waiting, lock, LK_WRITE, other, "a", 1);
    run_before_closing(wake_server);
    kill(test_server_pid(server), SIGSTOP);
    assert_ok(lk_cancel(lock));
    lk_status status = end_call(&waiting);
    assert_true(status == LK_CANCELED || status == LK_UNAVAILABLE);
    eventually(!lk_valid(writer));
    sleep_ms(LEASE_MS);
    wake_server();
    expect_mark();
    assert_status(lk_wrunlock(writer), LK_LOST);
}

int main(void) {
    return world_run(begin_world);
}
