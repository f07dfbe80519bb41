/*
 * A server that answers a byte at a time, or late: every call keeps the bound that latchkey.h
 * states for it. A whole answer takes many times the bound. So a call that waited for it would
 * return something else than LK_UNAVAILABLE, and no test here looks at a clock.
 */
#include "network.h"

enum { BYTE_MS = 200, WAIT_MS = 100 };

static bool ignore_name(const char *name, void *arg) {
    (void)name, (void)arg;
    return true;
}

/* The client is connected. From now on each answer takes seconds. */
static void trickle(void) {
    proxy_trickle(net, PROXY_ALL, BYTE_MS);
}

TEST_WITH(hasty_network, taking_keeps_its_bound) {
    lk_lock *second = new_lock(client, "b");
    lk_lock *third = new_lock(client, "c");
    assert_ok(lk_wrlock(holder));
    trickle();
    assert_status(lk_timedwrlock(lock, WAIT_MS), LK_UNAVAILABLE);
    assert_status(lk_trywrlock(second), LK_UNAVAILABLE);
    assert_status(lk_rdlock(third), LK_UNAVAILABLE);
    proxy_trickle(net, PROXY_ALL, 0);
    free_lock(second);
    free_lock(third);
    assert_ok(lk_wrunlock(holder));
}

TEST_WITH(hasty_network, giving_back_keeps_its_bound) {
    assert_ok(lk_wrlock(lock));
    trickle();
    assert_status(lk_wrunlock(lock), LK_UNAVAILABLE);
    proxy_trickle(net, PROXY_ALL, 0);
    eventually(is_empty());
}

TEST_WITH(hasty_network, a_downgrade_keeps_its_bound) {
    assert_ok(lk_wrlock(lock));
    trickle();
    assert_status(lk_downgrade(lock), LK_UNAVAILABLE);
    proxy_trickle(net, PROXY_ALL, 0);
    assert_ok(lk_rdunlock(lock));
}

TEST_WITH(hasty_network, a_renewal_by_hand_keeps_its_bound) {
    assert_ok(lk_wrlock(lock));
    trickle();
    assert_status(lk_renew(lock, 0), LK_UNAVAILABLE);
    proxy_trickle(net, PROXY_ALL, 0);
    assert_ok(lk_wrunlock(lock));
}

TEST_WITH(hasty_network, looking_and_forcing_keep_their_bounds) {
    lk_info *info = NULL;
    assert_ok(lk_wrlock(holder));
    trickle();
    assert_status(lk_inspect(client, "a", &info), LK_UNAVAILABLE);
    assert_null(info);
    proxy_trickle(net, PROXY_ALL, 0);
    assert_ok(lk_inspect(client, "a", &info));
    lk_info_free(info);
    trickle();
    assert_status(lk_list(client, NULL, ignore_name, NULL), LK_UNAVAILABLE);
    proxy_trickle(net, PROXY_ALL, 0);
    assert_ok(lk_list(client, NULL, ignore_name, NULL));
    trickle();
    assert_status(lk_force_release(client, "a", "nobody"), LK_UNAVAILABLE);
    assert_said(" effect"); /* it may have taken effect, or may still: whichever was noticed first */
    proxy_trickle(net, PROXY_ALL, 0);
    assert_ok(lk_wrunlock(holder));
}

typedef struct {
    lk_client *client;
    lk_info *info;
    lk_status status;
    pthread_t thread;
} inspection;

static void *call_inspect(void *context) {
    inspection *self = context;
    self->status = lk_inspect(self->client, "a", &self->info);
    return NULL;
}

/* The server is busy for a part of the bound; its answer then takes less than the bound. */
TEST_WITH(hasty_network, an_inspection_that_is_asked_again_has_less_time_for_its_answer) {
    enum { BOUND_MS = 2000, BUSY_MS = 1800, LATE_MS = 1800 };
    fake = start_fake();
    inspection one = {.client = open_client_at(fake_server_socket(fake), BOUND_MS)};
    fake_server_on(fake, "EVALSHA", FAKE_FOREVER, "-BUSY somebody's script\r\n");
    assert_int_equal(pthread_create(&one.thread, NULL, call_inspect, &one), 0);
    assert_true(fake_server_wait_for(fake, "EVALSHA", 1, LONG_MS));
    sleep_ms(BUSY_MS);
    fake_server_forget(fake);
    fake_server_hold(fake, "EVALSHA");
    size_t before = fake_server_count(fake, "EVALSHA");
    fake_server_wait_for(fake, "EVALSHA", before + 1, BOUND_MS);
    sleep_ms(LATE_MS);
    fake_server_let_go(fake);
    pthread_join(one.thread, NULL);
    assert_int_equal(one.status, LK_UNAVAILABLE);
    assert_null(one.info);
}

/* A call that waits for another call on its lock gets no more time because of that. */
TEST_WITH(hasty_network, calls_that_share_a_handle_each_keep_their_bound) {
    enum { CALLS = 3 };
    call calls[CALLS];
    for (int i = 0; i < CALLS; i++)
        assert_ok(lk_rdlock(lock));
    trickle();
    for (int i = 0; i < CALLS; i++)
        begin_call(&calls[i], lk_rdunlock, lock);
    for (int i = 0; i < CALLS; i++)
        assert_call(&calls[i], LK_UNAVAILABLE);
    proxy_trickle(net, PROXY_ALL, 0);
    eventually(is_empty());
}

/*
 * Each whole answer is a sign of life, and comes before the server counts as silent. A call behind
 * many others would get its answer in the end, long after its bound.
 */
TEST_WITH(hasty_network, a_call_behind_many_answers_keeps_its_bound) {
    enum { CALLS = 8, BOUND_MS = 1000, ANSWER_BYTE_MS = 6 };
    lk_client *bound = open_client_at(proxy_socket(net), BOUND_MS);
    lk_lock *locks[CALLS];
    call calls[CALLS];
    proxy_trickle(net, PROXY_ALL, ANSWER_BYTE_MS);
    for (int i = 0; i < CALLS; i++) {
        char name[] = {(char)('a' + i), '\0'};
        size_t requests = proxy_requests(net, PROXY_ALL);
        locks[i] = new_lock(bound, name);
        begin_call(&calls[i], lk_trywrlock, locks[i]);
        assert_true(proxy_wait_requests(net, PROXY_ALL, requests + 1, LONG_MS));
    }
    assert_call(&calls[CALLS - 1], LK_UNAVAILABLE);
    proxy_trickle(net, PROXY_ALL, 0);
    for (int i = 0; i < CALLS - 1; i++)
        end_call(&calls[i]);
    free_locks(locks, CALLS);
    eventually(is_empty());
}

int main(void) {
    return world_run(begin_world);
}
