/* A server that is away: for a moment, for long, for ever with what it knew, or with late bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faults_world.h"

static proxy *net; /* before the server */

static int setup(void **state) {
    empty_server(state);
    net = start_proxy();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    proxy_stop(net);
    return 0;
}

static lk_client *open_here(int64_t command_timeout_ms) {
    lk_client *client = open_client(proxy_socket(net), command_timeout_ms);
    teach_scripts(client, eye);
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

static lk_status inspect(lk_lock *lock) {
    (void)lock;
    lk_info *info = NULL;
    lk_status status = lk_inspect(inspecting, "a", &info);
    lk_info_free(info);
    return status;
}

static void short_outage_is_waited_out(void **state) {
    (void)state;
    lk_client *client = open_here(PATIENT_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    inspecting = client;
    is_waited_out_by(lk_wrlock, lock);
    assert_int_equal(look_at(client, "a").writes, 1);
    is_waited_out_by(inspect, lock);
    is_waited_out_by(lk_downgrade, lock);
    assert_int_equal(look_at(client, "a").reads, 1);
    is_waited_out_by(lk_rdunlock, lock);
    assert_true(is_empty(eye));
    lk_lock_free(lock);
    lk_close(client);
}

static void attempts_to_connect_again_become_rarer(void **state) {
    (void)state;
    enum { OUTAGE_MS = 2000, LEAST = 3, MOST = 50 };
    lk_client *client = open_here(PATIENT_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    call running;
    size_t before = proxy_connections_ever(net);
    take_server_away(net);
    begin_call(&running, lk_wrlock, lock);
    nap_ms(OUTAGE_MS); /* a slow machine tries less often still */
    size_t tried = proxy_connections_ever(net) - before;
    assert_in_range(tried, LEAST, MOST);
    proxy_refuse(net, false);
    assert_call(&running, LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    lk_lock_free(lock);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ for long */

static void calls_give_up_on_a_server_that_is_away_for_long(void **state) {
    (void)state;
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a", 0), *held = new_lock(client, "b", 0);
    lk_info *info = NULL;
    assert_status(lk_wrlock(held), LK_OK);
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
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_status(lk_wrunlock(held), LK_OK);
    eventually(is_empty(eye));
    lk_lock_free(lock);
    lk_lock_free(held);
    lk_close(client);
}

static void timed_wait_that_ends_while_the_server_is_away_is_unavailable(void **state) {
    (void)state;
    lk_client *client = open_here(PATIENT_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    take_server_away(net);
    assert_status(lk_timedwrlock(lock, 100), LK_UNAVAILABLE);
    assert_false(lk_valid(lock));
    proxy_refuse(net, false);
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    eventually(is_empty(eye));
    lk_lock_free(lock);
    lk_close(client);
}

static lk_status wait_a_second(lk_lock *lock) {
    return lk_timedwrlock(lock, 1000);
}

static void
timed_wait_in_the_queue_that_ends_while_the_server_is_away_is_unavailable(void **state) {
    (void)state;
    lk_client *client = open_here(PATIENT_MS);
    lk_client *other = open_client(test_server_socket(server), PATIENT_MS);
    lk_lock *holder = new_lock(other, "a", 0), *lock = new_lock(client, "a", 0);
    call waiting;
    assert_status(lk_wrlock(holder), LK_OK);
    begin_call(&waiting, wait_a_second, lock);
    eventually(look_at(other, "a").waiters == 1 || atomic_load(&waiting.over));
    take_server_away(net);
    assert_call(&waiting, LK_UNAVAILABLE);
    proxy_refuse(net, false);
    eventually(look_at(other, "a").waiters == 0); /* taken back, long before its liveness ends */
    assert_status(lk_wrunlock(holder), LK_OK);
    eventually(is_empty(eye));
    lk_lock_free(holder);
    lk_lock_free(lock);
    lk_close(client);
    lk_close(other);
}

static void unlock_while_the_server_is_away_is_done_when_it_is_back(void **state) {
    (void)state;
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    assert_status(lk_wrlock(lock), LK_OK);
    take_server_away(net);
    assert_status(lk_wrunlock(lock), LK_UNAVAILABLE);
    assert_false(lk_valid(lock));
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_false(is_empty(eye));
    proxy_refuse(net, false);
    eventually(is_empty(eye));
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    lk_lock_free(lock);
    lk_close(client);
}

static void nested_unlocks_while_the_server_is_away_are_all_done_when_it_is_back(void **state) {
    (void)state;
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrlock(lock), LK_OK);
    take_server_away(net);
    assert_status(lk_wrunlock(lock), LK_UNAVAILABLE);
    assert_true(lk_valid(lock));
    assert_status(lk_wrunlock(lock), LK_UNAVAILABLE);
    assert_false(lk_valid(lock));
    proxy_refuse(net, false);
    eventually(is_empty(eye));
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_true(is_empty(eye));
    lk_lock_free(lock);
    lk_close(client);
}

static void downgrade_while_the_server_is_away_counts_and_is_done_when_it_is_back(void **state) {
    (void)state;
    lk_client *client = open_here(HASTY_MS);
    lk_client *other = open_client(test_server_socket(server), PATIENT_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    assert_status(lk_wrlock(lock), LK_OK);
    take_server_away(net);
    assert_status(lk_downgrade(lock), LK_UNAVAILABLE);
    assert_true(lk_valid(lock));
    proxy_refuse(net, false);
    eventually(look_at(other, "a").reads == 1);
    assert_int_equal(look_at(other, "a").writes, 0);
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_status(lk_rdunlock(lock), LK_OK);
    assert_true(is_empty(eye));
    lk_lock_free(lock);
    lk_close(client);
    lk_close(other);
}

static void close_gives_up_on_a_server_that_stays_away(void **state) {
    (void)state;
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a", 0), *freed = new_lock(client, "b", 0);
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrlock(freed), LK_OK);
    take_server_away(net);
    lk_lock_free(freed);
    lk_close(client);
    lk_lock_free(lock);
    assert_false(is_empty(eye)); /* it runs out */
}

static void *close_client(void *client) {
    lk_close(client);
    return NULL;
}

/* As a restart does: nobody listens for a moment. */
static void close_waits_for_a_server_that_comes_back(void **state) {
    (void)state;
    lk_client *client = open_here(PATIENT_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    pthread_t closing;
    assert_status(lk_wrlock(lock), LK_OK);
    take_server_away(net);
    size_t tried = proxy_connections_ever(net);
    eventually(proxy_connections_ever(net) >= tried + 3);
    assert_int_equal(pthread_create(&closing, NULL, close_client, client), 0);
    tried = proxy_connections_ever(net);
    eventually(proxy_connections_ever(net) >= tried + 3);
    proxy_refuse(net, false);
    pthread_join(closing, NULL);
    assert_true(is_empty(eye));
    lk_lock_free(lock);
}

/*
 * After a long outage the next attempt to connect is three quarters of a second away, or more. The
 * server is back, and lk_close() has less time than that: it does not wait for that attempt.
 */
static void close_looks_at_once_whether_the_server_is_back(void **state) {
    (void)state;
    enum { CLOSING_MS = 500, SECOND_LONG_ATTEMPT = 10 };
    lk_client *client = open_client(proxy_socket(net), CLOSING_MS); /* it has one connection */
    lk_lock *lock = new_lock(client, "a", 0);
    assert_status(lk_wrlock(lock), LK_OK);
    size_t before = proxy_connections_ever(net);
    take_server_away(net);
    eventually(proxy_connections_ever(net) >= before + SECOND_LONG_ATTEMPT);
    proxy_refuse(net, false);
    lk_close(client);
    assert_true(is_empty(eye));
    lk_lock_free(lock);
}

/* ------------------------------------------------------------------------------ late bytes */

static void acquire_whose_answer_never_comes_is_taken_back(void **state) {
    (void)state;
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    assert_false(lk_valid(lock));
    assert_int_equal(lk_fence(lock), 0);
    assert_false(is_empty(eye)); /* the server has granted it */
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_CLIENT);
    eventually(is_empty(eye));
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    lk_lock_free(lock);
    lk_close(client);
}

/* Whatever comes late has come, and the client has had its say. */
static void let_everything_settle(lk_client *client) {
    lk_info *info = NULL;
    eventually(proxy_bytes_taken(net, PROXY_TO_SERVER) == proxy_bytes_passed(net, PROXY_TO_SERVER));
    eventually(lk_inspect(client, "z", &info) == LK_OK);
    lk_info_free(info);
    eventually(is_empty(eye));
    for (int i = 0; i < 50; i++) {
        assert_true(is_empty(eye));
        nap_ms(5);
    }
}

static void acquire_that_comes_late_holds_nothing(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        lk_client *client = open_here(HASTY_MS);
        lk_lock *lock = new_lock(client, "a", 0);
        proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER);
        assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
        assert_true(is_empty(eye));
        proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
        let_everything_settle(client);
        lk_lock_free(lock);
        lk_close(client);
    }
}

static void request_of_an_earlier_connection_is_ended_before_another_is_made(void **state) {
    (void)state;
    fake_server *fake = start_fake();
    lk_client *client = open_client(fake_server_socket(fake), HASTY_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    teach_scripts(client, eye);
    fake_server_hold(fake, "EVALSHA * 4 lk:{a}"); /* the server has it, and has not yet done it */
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    assert_true(fake_server_wait_for(fake, "CLIENT KILL", 1, LONG_MS));
    assert_true(fake_server_wait_connections(fake, 2, LONG_MS)); /* with its request it is gone */
    fake_server_let_go(fake);
    assert_int_equal(look_at(client, "z").holders, 0);
    for (int i = 0; i < 50; i++) {
        assert_true(is_empty(eye));
        nap_ms(5);
    }
    lk_lock_free(lock);
    lk_close(client);
    fake_server_stop(fake);
}

static void acquire_that_comes_late_after_its_handle_was_freed_holds_nothing(void **state) {
    (void)state;
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    assert_status(lk_wrlock(lock), LK_UNAVAILABLE);
    lk_lock_free(lock);
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    let_everything_settle(client);
    lk_close(client);
}

static void release_that_comes_late_does_not_touch_the_next_hold(void **state) {
    (void)state;
    lk_client *client = open_here(HASTY_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    assert_status(lk_rdlock(lock), LK_OK);
    proxy_pause(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    assert_status(lk_rdunlock(lock), LK_UNAVAILABLE);
    proxy_resume(net, PROXY_COMMANDS, PROXY_TO_SERVER);
    eventually(lk_tryrdlock(lock) == LK_OK);
    eventually(proxy_bytes_taken(net, PROXY_TO_SERVER) == proxy_bytes_passed(net, PROXY_TO_SERVER));
    assert_int_equal(look_at(client, "a").reads, 1);
    assert_true(lk_valid(lock));
    assert_status(lk_rdunlock(lock), LK_OK);
    eventually(is_empty(eye));
    lk_lock_free(lock);
    lk_close(client);
}

static void slow_network_is_no_fault(void **state) {
    (void)state;
    lk_client *client = open_here(PATIENT_MS);
    lk_client *other = open_client(test_server_socket(server), PATIENT_MS);
    lk_lock *lock = new_lock(client, "a", 0), *holder = new_lock(other, "a", 0);
    call waiting;
    proxy_delay(net, PROXY_ALL, PROXY_BOTH, 50);
    assert_status(lk_wrlock(holder), LK_OK);
    begin_wait(&waiting, lock, other, "a");
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    assert_true(lk_valid(lock));
    assert_status(lk_downgrade(lock), LK_OK);
    assert_status(lk_rdunlock(lock), LK_OK);
    assert_true(is_empty(eye));
    lk_lock_free(lock);
    lk_lock_free(holder);
    lk_close(client);
    lk_close(other);
}

static void count_granted(lk_lock *lock, lk_status status, void *arg) {
    outcome *self = arg;
    (void)lock;
    if (status != LK_OK)
        atomic_store(&self->status, (int)status);
    atomic_fetch_add(&self->calls, 1);
}

/* It answers one after the other, for longer than anybody would wait for a silent server. */
static void server_with_much_to_do_is_not_silent(void **state) {
    (void)state;
    enum { MANY = 80000 };
    static lk_lock *locks[MANY];
    lk_client *client = open_client(test_server_socket(server), 2 * HASTY_MS);
    outcome done = {0};
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "many:%d", i);
        locks[i] = new_lock(client, name, 0);
    }
    for (int i = 0; i < MANY; i++)
        assert_status(lk_acquire_async(locks[i], LK_WRITE, -1, count_granted, &done), LK_OK);
    eventually(atomic_load(&done.calls) == MANY);
    assert_int_equal(atomic_load(&done.status), LK_OK);
    lk_close(client);
    for (int i = 0; i < MANY; i++)
        lk_lock_free(locks[i]);
}

static int64_t processor_ms(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* While a heartbeat is without an answer, the next one is not due. */
static void server_that_says_nothing_is_waited_for_asleep(void **state) {
    (void)state;
    enum { HEARTBEAT_MS = 10000, LOOK_MS = 2000 };
    lk_client *client = open_here(10 * HEARTBEAT_MS);
    proxy_pause(net, PROXY_ALL, PROXY_TO_CLIENT);
    nap_ms(2 * HEARTBEAT_MS);
    int64_t before_ms = processor_ms();
    nap_ms(LOOK_MS);
    assert_true(processor_ms() - before_ms < LOOK_MS / 10);
    proxy_resume(net, PROXY_ALL, PROXY_TO_CLIENT);
    lk_close(client);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(short_outage_is_waited_out),
        TEST(attempts_to_connect_again_become_rarer),
        TEST(calls_give_up_on_a_server_that_is_away_for_long),
        TEST(timed_wait_that_ends_while_the_server_is_away_is_unavailable),
        TEST(timed_wait_in_the_queue_that_ends_while_the_server_is_away_is_unavailable),
        TEST(unlock_while_the_server_is_away_is_done_when_it_is_back),
        TEST(nested_unlocks_while_the_server_is_away_are_all_done_when_it_is_back),
        TEST(downgrade_while_the_server_is_away_counts_and_is_done_when_it_is_back),
        TEST(close_gives_up_on_a_server_that_stays_away),
        TEST(close_waits_for_a_server_that_comes_back),
        TEST(close_looks_at_once_whether_the_server_is_back),
        TEST(acquire_whose_answer_never_comes_is_taken_back),
        TEST(acquire_that_comes_late_holds_nothing),
        TEST(request_of_an_earlier_connection_is_ended_before_another_is_made),
        TEST(acquire_that_comes_late_after_its_handle_was_freed_holds_nothing),
        TEST(release_that_comes_late_does_not_touch_the_next_hold),
        TEST(slow_network_is_no_fault),
        TEST(server_with_much_to_do_is_not_silent),
        TEST(server_that_says_nothing_is_waited_for_asleep),
    };
    return cmocka_run_group_tests_name("faults: outages", tests, begin_world, end_world);
}
