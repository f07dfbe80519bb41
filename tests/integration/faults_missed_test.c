/*
 * The server grants the lock to a waiter, and the waiter's client cannot claim the grant within a
 * second. The client comes back later, and keeps its place (SPEC 5.6). It tells its caller of a
 * grant only when no request that speaks for the waiter is without an answer: such a request
 * proves to the server that nobody was told.
 */
#include "network.h"

enum { CLAIM_MS = 1000, REFRESHED_LEASE_MS = 3000 }; /* a waiter refreshes after a third */

/* ------------------------------------------------------------------------------ the line */

/* `holder` writes; `first` of `client`, a reader and a writer wait, in this order. */
static lk_lock *first, *reader, *writer;
static call reading, writing;

static void stand_in_line(int64_t lease_ms) {
    first = new_leased_lock(client, "a", lease_ms);
    reader = new_lock(other, "a");
    writer = new_lock(other, "a");
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, first, LK_WRITE, other, "a", 1);
    begin_wait(&reading, reader, LK_READ, other, "a", 2);
    begin_wait(&writing, writer, LK_WRITE, other, "a", 3);
}

/* `first` does not claim its grant, so the reader has its turn, and learns of a dead writer. */
static void miss_the_grant(void) {
    assert_ok(lk_wrunlock(holder));
    assert_call(&reading, LK_OK);
    assert_true(lk_abandoned(reader));
    assert_false(atomic_load(&waiting.over));
    assert_false(lk_valid(first));
}

/* `first` is before the writer again, and has left no mark. */
static void expect_place_kept(void) {
    eventually(look_at(other, "a").waiters == 2);
    assert_ok(lk_rdunlock(reader));
    assert_call(&waiting, LK_OK);
    assert_false(atomic_load(&writing.over));
    assert_false(lk_abandoned(first));
    assert_ok(lk_wrunlock(first));
    assert_call(&writing, LK_OK);
    assert_false(lk_abandoned(writer));
    assert_ok(lk_wrunlock(writer));
    eventually(is_empty());
}

/* ------------------------------------------------------------------------------ coming back */

TEST_WITH(network, a_client_that_missed_its_grant_keeps_its_place_and_leaves_no_mark) {
    enum { AWAY_MS = 700 }; /* after the claim second */
    stand_in_line(30000);
    take_server_away(net);
    miss_the_grant();
    sleep_ms(AWAY_MS);
    proxy_refuse(net, false);
    expect_place_kept();
}

TEST_WITH(network, a_client_that_missed_its_grant_on_a_silent_network_keeps_its_place) {
    stand_in_line(30000);
    proxy_pause(net, PROXY_ALL, PROXY_BOTH);
    miss_the_grant();
    proxy_resume(net, PROXY_ALL, PROXY_BOTH);
    expect_place_kept();
}

TEST_WITH(network, a_client_that_is_away_for_longer_than_its_lease_loses_its_place) {
    enum { LEASE_MS = 1500, AWAY_MS = 1000 }; /* after the claim second */
    stand_in_line(LEASE_MS);
    take_server_away(net);
    miss_the_grant();
    sleep_ms(AWAY_MS);
    proxy_refuse(net, false);
    eventually(look_at(other, "a").waiters == 2); /* it asks again, and is last */
    assert_ok(lk_rdunlock(reader));
    assert_call(&writing, LK_OK);
    assert_true(lk_abandoned(writer));
    assert_false(atomic_load(&waiting.over));
    assert_ok(lk_wrunlock(writer));
    assert_call(&waiting, LK_OK);
    assert_false(lk_abandoned(first));
    assert_ok(lk_wrunlock(first));
    eventually(is_empty());
}

/* ------------------------------------------------------------------------------ unanswered */

static void wait_for_refresh(void) {
    size_t requests = proxy_requests(net, PROXY_COMMANDS);
    assert_true(proxy_wait_requests(net, PROXY_COMMANDS, requests + 1, LONG_MS));
}

/* The message arrives. But the refresh is late: the server runs it when the grant has expired. */
TEST_WITH(network, a_grant_is_not_told_while_a_refresh_is_on_its_way) {
    stand_in_line(REFRESHED_LEASE_MS);
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    wait_for_refresh();
    miss_the_grant();
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    expect_place_kept();
}

/* The server ran the refresh before the grant, and its answer `queued` is late. */
TEST_WITH(network, a_grant_behind_a_late_answer_is_claimed_when_that_answer_comes) {
    stand_in_line(REFRESHED_LEASE_MS);
    long long scripts = command_calls("evalsha");
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    wait_for_refresh();
    eventually(command_calls("evalsha") > scripts);
    assert_ok(lk_wrunlock(holder));
    sleep_ms(CLAIM_MS / 10);
    assert_false(atomic_load(&waiting.over));
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    assert_call(&waiting, LK_OK);
    eventually(lk_remaining_ms(first) > CLAIM_MS); /* it is claimed */
    assert_false(atomic_load(&reading.over));
    assert_ok(lk_wrunlock(first));
    assert_call(&reading, LK_OK);
    assert_false(lk_abandoned(reader));
    assert_ok(lk_rdunlock(reader));
    assert_call(&writing, LK_OK);
    assert_ok(lk_wrunlock(writer));
}

/* The connection of the refresh ends, and the message of the grant comes before there is another. */
TEST_WITH(network, a_grant_is_not_told_while_a_lost_refresh_may_still_run) {
    stand_in_line(REFRESHED_LEASE_MS);
    proxy_pause(net, PROXY_COMMANDS, PROXY_BOTH);
    wait_for_refresh();
    proxy_refuse(net, true);
    proxy_cut_all(net, PROXY_COMMANDS);
    miss_the_grant();
    proxy_resume(net, PROXY_COMMANDS, PROXY_BOTH);
    proxy_refuse(net, false);
    expect_place_kept();
}

TEST_WITH(network, a_grant_is_not_told_while_its_cancel_is_on_its_way) {
    stand_in_line(30000);
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    size_t requests = proxy_requests(net, PROXY_COMMANDS);
    assert_ok(lk_cancel(first));
    assert_true(proxy_wait_requests(net, PROXY_COMMANDS, requests + 1, LONG_MS));
    miss_the_grant();
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    assert_call(&waiting, LK_CANCELED);
    assert_ok(lk_rdunlock(reader));
    assert_call(&writing, LK_OK);
    assert_false(lk_abandoned(writer)); /* the cancel has withdrawn the mark */
    assert_ok(lk_wrunlock(writer));
    eventually(is_empty());
}

/* The answer to the acquire is lost, and the acquire that repeats it is late. */
TEST_WITH(fake_network, a_grant_is_not_told_while_the_repeated_acquire_is_on_its_way) {
    enum { SOON_MS = 150 };
    open_here(PATIENT_MS);
    teach_scripts(client);
    other = open_client_at(test_server_socket(server), PATIENT_MS);
    holder = new_lock(other, "a");
    assert_ok(lk_wrlock(holder));
    fake_server_hold(fake, "EVALSHA * 1 lk:{a}"); /* but not the first one: see the next rules */
    fake_server_do(fake, "EVALSHA * 1 lk:{a}", 1, FAKE_PASS);
    fake_server_do(fake, "EVALSHA * 1 lk:{a}", 1, FAKE_RUN_AND_DROP);
    size_t count = fake_server_count(fake, "EVALSHA * 1 lk:{a}");
    begin_wait(&waiting, lock, LK_WRITE, other, "a", 1);
    assert_true(fake_server_wait_for(fake, "EVALSHA * 1 lk:{a}", count + 2, LONG_MS));
    assert_ok(lk_wrunlock(holder));
    sleep_ms(SOON_MS);
    assert_false(atomic_load(&waiting.over));
    fake_server_let_go(fake);
    assert_call(&waiting, LK_OK);
    eventually(look_at(other, "a").left_ms > 2 * CLAIM_MS);
    assert_ok(lk_wrunlock(lock));
    eventually(is_empty());
}

int main(void) {
    return world_run(begin_world);
}
