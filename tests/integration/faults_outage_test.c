/* Outages: short, long, or without an end; and requests that arrive late. */
#include "world.h"

static proxy *net; /* before the server */

static void proxy_before_server(void) {
    net = start_proxy();
}

static lk_client *open_here(int64_t command_timeout_ms) {
    lk_client *client = open_client_at(proxy_socket(net), command_timeout_ms);
    teach_scripts(client);
    return client;
}

/* ------------------------------------------------------------------------------ for a moment */

static void is_waited_out_by(lk_status (*run)(lk_lock *), lk_lock *lock) {
    call running;
    take_server_away(net);
    size_t tried = proxy_connections_ever(net);
    begin_call(&running, run, lock);
    eventually(proxy_connections_ever(net) >= tried + 3);
    assert_false(atomic_load(&running.over));
    proxy_refuse(net, false);
    assert_call(&running, LK_OK);
}

static lk_client *inspecting;

static lk_status call_inspect(lk_lock *lock) {
    (void)lock;
    lk_info *info = NULL;
    lk_status status = lk_inspect(inspecting, "a", &info);
    lk_info_free(info);
    return status;
}

TEST_WITH(proxy_before_server, short_outage_is_waited_out) {
    lk_client *client = open_here(PATIENT_MS);
    lk_lock *lock = new_lock(client, "a");
    inspecting = client;
    is_waited_out_by(lk_wrlock, lock);
    assert_int_equal(look_at(client, "a").writes, 1);
    is_waited_out_by(call_inspect, lock);
    is_waited_out_by(lk_downgrade, lock);
    assert_int_equal(look_at(client, "a").reads, 1);
    is_waited_out_by(lk_rdunlock, lock);
    assert_nothing_left();
}

TEST_WITH(proxy_before_server, attempts_to_connect_again_become_rarer) {
    enum { OUTAGE_MS = 2000, LEAST = 3, MOST = 50 };
    lk_client *client = open_here(PATIENT_MS);
    lk_lock *lock = new_lock(client, "a");
    call running;
    size_t before = proxy_connections_ever(net);
    take_server_away(net);
    begin_call(&running, lk_wrlock, lock);
    sleep_ms(OUTAGE_MS); /* a slow machine tries even less often */
    size_t tried = proxy_connections_ever(net) - before;
    assert_in_range(tried, LEAST, MOST);
    proxy_refuse(net, false);
    assert_call(&running, LK_OK);
    assert_ok(lk_wrunlock(lock));
}

/* ------------------------------------------------------------------------------ for long */

TEST_WITH(proxy_before_server, calls_give_up_on_a_server_that_is_away_for_long) {
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a"), *held = new_lock(client, "b");
    lk_info *info = NULL;
    assert_ok(lk_wrlock(held));
    take_server_away(net);
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    assert_status(lk_trywrlock(lock), LK_UNAVAILABLE);
    assert_status(lk_renew(held, 0), LK_UNAVAILABLE);
    assert_true(lk_valid(held));
    assert_status(lk_inspect(client, "a", &info), LK_UNAVAILABLE);
    assert_status(lk_list(client, NULL, NULL, NULL), LK_INVALID);
    assert_status(lk_force_release(client, "a", NULL), LK_UNAVAILABLE);
    assert_null(info);
    proxy_refuse(net, false);
    eventually(lk_trywrlock(lock) == LK_OK);
    assert_ok(lk_wrunlock(lock));
    assert_ok(lk_wrunlock(held));
    eventually(is_empty());
}

TEST_WITH(proxy_before_server, timed_wait_that_ends_while_the_server_is_away_is_unavailable) {
    lk_client *client = open_here(PATIENT_MS);
    lk_lock *lock = new_lock(client, "a");
    take_server_away(net);
    assert_status(lk_timedwrlock(lock, 100), LK_UNAVAILABLE);
    assert_false(lk_valid(lock));
    proxy_refuse(net, false);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
    eventually(is_empty());
}

static lk_status wait_a_second(lk_lock *lock) {
    return lk_timedwrlock(lock, 1000);
}

TEST_WITH(proxy_before_server,
          timed_wait_in_the_queue_that_ends_while_the_server_is_away_is_unavailable) {
    lk_client *client = open_here(PATIENT_MS);
    lk_client *other = open_client_at(test_server_socket(server), PATIENT_MS);
    lk_lock *holder = new_lock(other, "a"), *lock = new_lock(client, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    begin_call(&waiting, wait_a_second, lock);
    eventually(look_at(other, "a").waiters == 1 || atomic_load(&waiting.over));
    take_server_away(net);
    assert_call(&waiting, LK_UNAVAILABLE);
    proxy_refuse(net, false);
    eventually(look_at(other, "a").waiters ==
               0); /* canceled, long before the server would drop it */
    assert_ok(lk_wrunlock(holder));
    eventually(is_empty());
}

TEST_WITH(proxy_before_server, unlock_while_the_server_is_away_is_done_when_it_is_back) {
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    take_server_away(net);
    assert_status(lk_wrunlock(lock), LK_UNAVAILABLE);
    assert_false(lk_valid(lock));
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_false(is_empty());
    proxy_refuse(net, false);
    eventually(is_empty());
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(proxy_before_server,
          nested_unlocks_while_the_server_is_away_are_all_done_when_it_is_back) {
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrlock(lock));
    take_server_away(net);
    assert_status(lk_wrunlock(lock), LK_UNAVAILABLE);
    assert_true(lk_valid(lock));
    assert_status(lk_wrunlock(lock), LK_UNAVAILABLE);
    assert_false(lk_valid(lock));
    proxy_refuse(net, false);
    eventually(is_empty());
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_nothing_left();
}

TEST_WITH(proxy_before_server,
          downgrade_while_the_server_is_away_counts_and_is_done_when_it_is_back) {
    lk_client *client = open_here(HASTY_MS);
    lk_client *other = open_client_at(test_server_socket(server), PATIENT_MS);
    lk_lock *lock = new_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    take_server_away(net);
    assert_status(lk_downgrade(lock), LK_UNAVAILABLE);
    assert_true(lk_valid(lock));
    proxy_refuse(net, false);
    eventually(look_at(other, "a").reads == 1);
    assert_int_equal(look_at(other, "a").writes, 0);
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_ok(lk_rdunlock(lock));
    assert_nothing_left();
}

TEST_WITH(proxy_before_server, close_gives_up_on_a_server_that_stays_away) {
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a"), *freed = new_lock(client, "b");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrlock(freed));
    take_server_away(net);
    free_lock(freed);
    close_client(client);
    free_lock(lock);
    assert_false(is_empty()); /* the holds expire */
}

static void *close_on_thread(void *client) {
    close_client(client);
    return NULL;
}

/* Nobody listens for a moment, as in a restart. */
TEST_WITH(proxy_before_server, close_waits_for_a_server_that_comes_back) {
    lk_client *client = open_here(PATIENT_MS);
    lk_lock *lock = new_lock(client, "a");
    pthread_t closing;
    assert_ok(lk_wrlock(lock));
    take_server_away(net);
    size_t tried = proxy_connections_ever(net);
    eventually(proxy_connections_ever(net) >= tried + 3);
    assert_int_equal(pthread_create(&closing, NULL, close_on_thread, client), 0);
    tried = proxy_connections_ever(net);
    eventually(proxy_connections_ever(net) >= tried + 3);
    proxy_refuse(net, false);
    pthread_join(closing, NULL);
    assert_nothing_left();
}

/*
 * After a long outage the next attempt to connect is three quarters of a second away, or more. The
 * server is back, and lk_close() has less time than that: it does not wait for that attempt.
 */
TEST_WITH(proxy_before_server, close_looks_at_once_whether_the_server_is_back) {
    enum { CLOSING_MS = 500, SECOND_LONG_ATTEMPT = 10 };
    lk_client *client = open_client_at(proxy_socket(net), CLOSING_MS); /* it has one connection */
    lk_lock *lock = new_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    size_t before = proxy_connections_ever(net);
    take_server_away(net);
    eventually(proxy_connections_ever(net) >= before + SECOND_LONG_ATTEMPT);
    proxy_refuse(net, false);
    close_client(client);
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ late bytes */

TEST_WITH(proxy_before_server, acquire_whose_answer_never_comes_is_taken_back) {
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a");
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    assert_false(lk_valid(lock));
    assert_int_equal(lk_fence(lock), 0);
    assert_false(is_empty()); /* the server has granted it */
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    eventually(is_empty());
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

/* Returns when every late request has arrived and the client has reacted to it. */
static void let_everything_settle(lk_client *client) {
    lk_info *info = NULL;
    eventually(proxy_bytes_taken(net, PROXY_TO_SERVER) == proxy_bytes_passed(net, PROXY_TO_SERVER));
    eventually(lk_inspect(client, "z", &info) == LK_OK);
    lk_info_free(info);
    eventually(is_empty());
    for (int i = 0; i < 50; i++) {
        assert_nothing_left();
        sleep_ms(5);
    }
}

TEST_WITH(proxy_before_server, acquire_that_comes_late_holds_nothing) {
    for (int i = 0; i < 3; i++) {
        lk_client *client = open_here(HASTY_MS);
        lk_lock *lock = new_lock(client, "a");
        proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER);
        assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
        assert_nothing_left();
        proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
        let_everything_settle(client);
        free_lock(lock);
        close_client(client);
    }
}

TEST_WITH(proxy_before_server, request_of_an_earlier_connection_is_ended_before_another_is_made) {
    fake_server *fake = start_fake();
    lk_client *client = open_client_at(fake_server_socket(fake), HASTY_MS);
    lk_lock *lock = new_lock(client, "a");
    teach_scripts(client);
    fake_server_hold(fake,
                     "EVALSHA * 1 lk:{a}"); /* the server has the request, and has not run it yet */
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    assert_true(fake_server_wait_for(fake, "CLIENT KILL", 1, LONG_MS));
    assert_true(fake_server_wait_connections(
        fake, 2, LONG_MS)); /* the old connection is gone, and its request */
    fake_server_let_go(fake);
    assert_int_equal(look_at(client, "z").holders, 0);
    for (int i = 0; i < 50; i++) {
        assert_nothing_left();
        sleep_ms(5);
    }
}

TEST_WITH(proxy_before_server, acquire_that_comes_late_after_its_handle_was_freed_holds_nothing) {
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a");
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    free_lock(lock);
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    let_everything_settle(client);
}

TEST_WITH(proxy_before_server, release_that_comes_late_does_not_touch_the_next_hold) {
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a");
    assert_ok(lk_rdlock(lock));
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    assert_status(lk_rdunlock(lock), LK_UNAVAILABLE);
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    eventually(lk_tryrdlock(lock) == LK_OK);
    eventually(proxy_bytes_taken(net, PROXY_TO_SERVER) == proxy_bytes_passed(net, PROXY_TO_SERVER));
    assert_int_equal(look_at(client, "a").reads, 1);
    assert_true(lk_valid(lock));
    assert_ok(lk_rdunlock(lock));
    eventually(is_empty());
}

TEST_WITH(proxy_before_server, slow_network_is_no_fault) {
    lk_client *client = open_here(PATIENT_MS);
    lk_client *other = open_client_at(test_server_socket(server), PATIENT_MS);
    lk_lock *lock = new_lock(client, "a"), *holder = new_lock(other, "a");
    call waiting;
    proxy_delay(net, PROXY_ALL, PROXY_BOTH, 50);
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, lock, LK_WRITE, other, "a", 1);
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_true(lk_valid(lock));
    assert_ok(lk_downgrade(lock));
    assert_ok(lk_rdunlock(lock));
    assert_nothing_left();
}

/* The server answers one request after the other, for longer than the command timeout. */
TEST_WITH(proxy_before_server, server_with_much_to_do_is_not_silent) {
    enum { MANY = 80000 };
    static lk_lock *locks[MANY];
    lk_client *client = open_client_at(test_server_socket(server), 2 * HASTY_MS);
    tally done = {0};
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "many:%d", i);
        locks[i] = new_lock(client, name);
    }
    for (int i = 0; i < MANY; i++)
        assert_ok(lk_acquire_async(locks[i], LK_WRITE, -1, tally_done, &done));
    eventually(atomic_load(&done.count) == MANY);
    assert_int_equal(atomic_load(&done.with[LK_OK]), MANY);
    close_client(client); /* releases all at once, which freeing each lock would not */
}

static int64_t processor_ms(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* While a heartbeat has no answer, the client sends no other. */
TEST_WITH(proxy_before_server, server_that_says_nothing_is_waited_for_asleep) {
    enum { HEARTBEAT_MS = 10000, LOOK_MS = 2000 };
    open_here(10 * HEARTBEAT_MS);
    proxy_pause(net, PROXY_ALL, PROXY_TO_CLIENT);
    sleep_ms(2 * HEARTBEAT_MS);
    int64_t before_ms = processor_ms();
    sleep_ms(LOOK_MS);
    assert_true(processor_ms() - before_ms < LOOK_MS / 10);
    proxy_resume(net, PROXY_ALL, PROXY_TO_CLIENT);
}

int main(void) {
    return world_run(begin_world);
}
