/*
 * Calls that begin while the master of sentinels is silent, and end at the next master: try calls,
 * and async ones. docs/GUARANTEES.md has the table. sentinel_test.c has the holders and waiters.
 */
#include "sentinels.h"
#include "world.h"

enum { FAILOVER_MS = 60000, LEASE_MS = 60000 };

static test_sentinels *site;
static int former; /* the first master */

static void stop_site(void) {
    test_sentinels_stop(site);
    site = NULL;
}

/* A busy machine must not look like a master that is down. */
static void start_site(void) {
    site = test_sentinels_start(&(test_sentinels_options){.down_after_ms = 2500});
    assert_non_null(site);
    run_after_closing(stop_site);
    former = test_sentinels_wait_for_master(site, FAILOVER_MS);
    assert_true(former >= 0);
}

static lk_client *open_at_site(void) {
    return open_client_url(test_sentinels_url(site),
                           &(lk_client_options){.command_timeout_ms = FAILOVER_MS});
}

static test_node *server_at(int index) {
    return test_sentinels_server(site, (size_t)index);
}

/*
 * Until the replicas have what the master has. WAIT only waits for what its own connection has
 * written.
 */
static void replicate(void) {
    redisContext *context = test_node_connect(server_at(former));
    freeReplyObject(redisCommand(context, "SET replicated yes"));
    freeReplyObject(redisCommand(context, "DEL replicated"));
    redisReply *reply = redisCommand(context, "WAIT 2 %d", FAILOVER_MS);
    assert_non_null(reply);
    assert_int_equal(reply->integer, 2);
    freeReplyObject(reply);
    redisFree(context);
}

/* From now on, the replicas learn nothing more, until the failover. */
static void cut_replicas(void) {
    for (int i = 0; i < (int)test_sentinels_server_count(site); i++)
        if (i != former)
            test_node_pause(server_at(i));
    assert_true(test_node_tell(server_at(former), "CLIENT KILL TYPE replica"));
}

/* Nobody answers. What is asked now, only the next master can answer. */
static void stop_master(void) {
    test_node_pause(server_at(former));
}

static void fail_over(void) {
    for (int i = 0; i < (int)test_sentinels_server_count(site); i++)
        if (i != former)
            test_node_continue(server_at(i));
    assert_true(test_sentinels_wait_for_other_master(site, former, FAILOVER_MS) >= 0);
}

static void begin_acquire(lk_lock *lock, int64_t wait_ms, tally *done) {
    assert_ok(lk_acquire_async(lock, LK_WRITE, wait_ms, tally_done, done));
}

static void assert_done(tally *done, lk_status wanted) {
    eventually(atomic_load(&done->count) > 0);
    assert_status(atomic_load(&done->status), wanted);
    assert_int_equal(atomic_load(&done->count), 1);
}

/* ------------------------------------------------------------------------------ try */

TEST_WITH(start_site, a_try_call_is_answered_by_the_new_master) {
    lk_client *client = open_at_site(), *other = open_at_site();
    lk_lock *held = new_leased_lock(client, "a", LEASE_MS);
    lk_lock *busy = new_lock(other, "a"), *unheld = new_lock(other, "b");
    call writing, reading, taking;
    assert_ok(lk_wrlock(held));
    uint64_t fence = lk_fence(held);
    replicate();
    stop_master();
    begin_call(&writing, lk_trywrlock, busy);
    begin_call(&reading, lk_tryrdlock, new_lock(other, "a"));
    begin_call(&taking, lk_trywrlock, unheld);
    fail_over();
    assert_call(&writing, LK_BUSY);
    assert_call(&reading, LK_BUSY);
    assert_call(&taking, LK_OK);
    assert_true(lk_valid(held));
    assert_int_equal(lk_fence(held), fence);
    assert_ok(lk_wrunlock(unheld));
    assert_ok(lk_wrunlock(held));
    assert_ok(lk_trywrlock(busy));
    assert_true(lk_fence(busy) > fence);
    assert_ok(lk_wrunlock(busy));
}

TEST_WITH(start_site, a_try_call_gets_the_lock_if_the_new_master_lacks_the_hold) {
    atomic_int losses = 0;
    lk_client *client = open_at_site(), *other = open_at_site();
    lk_lock *held = new_watched_lock(client, "a", LEASE_MS, &losses);
    lk_lock *next = new_lock(other, "a");
    call taking;
    cut_replicas();
    assert_ok(lk_wrlock(held));
    stop_master();
    begin_call(&taking, lk_trywrlock, next);
    fail_over();
    assert_call(&taking, LK_OK);
    eventually(atomic_load(&losses) == 1);
    assert_false(lk_valid(held));
    assert_status(lk_wrunlock(held), LK_LOST);
    assert_true(lk_valid(next));
    assert_ok(lk_wrunlock(next));
}

/* ------------------------------------------------------------------------------ async */

TEST_WITH(start_site, async_calls_are_answered_by_the_new_master) {
    tally trying = {0}, waiting = {0}, asking = {0}, releasing = {0};
    lk_client *client = open_at_site(), *other = open_at_site();
    lk_lock *held = new_leased_lock(client, "a", LEASE_MS);
    lk_lock *waiter = new_lock(other, "a"), *late = new_lock(other, "a");
    assert_ok(lk_wrlock(held));
    begin_acquire(waiter, -1, &waiting);
    eventually(look_at(other, "a").waiters == 1);
    replicate();
    stop_master();
    begin_acquire(new_lock(other, "a"), 0, &trying);
    fail_over();
    assert_done(&trying, LK_BUSY);
    eventually(look_at(other, "a").waiters == 1);
    assert_int_equal(atomic_load(&waiting.count), 0);
    begin_acquire(late, -1, &asking);
    eventually(look_at(other, "a").waiters == 2);
    assert_ok(lk_release_async(held, LK_WRITE, tally_done, &releasing));
    assert_done(&releasing, LK_OK);
    assert_done(&waiting, LK_OK); /* it has kept its place */
    assert_int_equal(atomic_load(&asking.count), 0);
    assert_ok(lk_wrunlock(waiter));
    assert_done(&asking, LK_OK);
    assert_ok(lk_wrunlock(late));
    close_client(other);
    close_client(client);
    assert_int_equal(atomic_load(&trying.count) + atomic_load(&waiting.count) +
                         atomic_load(&asking.count) + atomic_load(&releasing.count),
                     4);
}

TEST_WITH(start_site, an_async_release_that_the_old_master_never_saw_is_done_by_the_new_one) {
    tally releasing = {0};
    lk_client *client = open_at_site();
    lk_lock *held = new_leased_lock(client, "a", LEASE_MS);
    assert_ok(lk_wrlock(held));
    replicate();
    stop_master();
    assert_ok(lk_release_async(held, LK_WRITE, tally_done, &releasing));
    fail_over();
    assert_done(&releasing, LK_OK);
    assert_int_equal(look_at(client, "a").holders, 0);
    close_client(client);
    assert_int_equal(atomic_load(&releasing.count), 1);
}

TEST_WITH(start_site, an_async_release_is_lost_if_the_new_master_lacks_the_hold) {
    tally releasing = {0}, waiting = {0};
    lk_client *client = open_at_site(), *other = open_at_site();
    lk_lock *held = new_leased_lock(client, "a", LEASE_MS), *waiter = new_lock(other, "a");
    cut_replicas();
    assert_ok(lk_wrlock(held));
    begin_acquire(waiter, -1, &waiting);
    eventually(look_at(other, "a").waiters == 1);
    stop_master();
    assert_ok(lk_release_async(held, LK_WRITE, tally_done, &releasing));
    fail_over();
    assert_done(&releasing, LK_LOST);
    assert_done(&waiting, LK_OK); /* it has queued again */
    assert_ok(lk_wrunlock(waiter));
    close_client(other);
    close_client(client);
    assert_int_equal(atomic_load(&releasing.count) + atomic_load(&waiting.count), 2);
}

int main(int argc, char **argv) {
    return world_main(argc, argv);
}
