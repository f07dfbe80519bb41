/* Waiting: hand-over, time-outs, cancelling; and that a wait that ends leaves nothing behind. */
#include "old_world.h"

static void a_waiter_is_handed_the_lock(void **state) {
    (void)state;
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {handle_of(clients[0], "w:hand"), handle_of(clients[1], "w:hand")};
    taker waiter;
    assert_ok(lk_wrlock(locks[0]));
    taker_queue(&waiter, locks[1], LK_WRITE, clients[0], "w:hand", 1);
    assert_false(atomic_load(&waiter.over));
    assert_ok(lk_wrunlock(locks[0]));
    assert_true(is_holder(clients[0], "w:hand", locks[1]));
    assert_status(lk_trywrlock(locks[0]), LK_BUSY);
    assert_ok(taker_join(&waiter));
    assert_true(lk_valid(locks[1]));
    assert_ok(lk_wrunlock(locks[1]));
    assert_nothing_left();
    free_handles(locks, 2);
    lk_close(clients[0]);
    lk_close(clients[1]);
}

/* --------------------------------------------------------------------------- time-outs */

static void a_time_out_comes_not_before_its_time(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "w:time"), handle_of(client, "w:time")};
    assert_ok(lk_wrlock(locks[0]));
    for (int64_t wait_ms = 1; wait_ms < 500; wait_ms *= 6) {
        int64_t began_ms = now_ms();
        assert_status(take(locks[1], wait_ms % 2 ? LK_READ : LK_WRITE, wait_ms), LK_TIMEOUT);
        int64_t took_ms = now_ms() - began_ms;
        assert_true(took_ms >= wait_ms);
        assert_true(took_ms < WORLD_PATIENCE_MS);
    }
    free_handles(locks, 2);
    lk_close(client);
}

typedef struct {
    lk_lock *lock;
    lk_status (*call)(lk_lock *, int64_t wait_ms);
    lk_status status;
} endless;

static void *wait_endlessly(void *context) {
    endless *self = context;
    self->status = self->call(self->lock, -1);
    return NULL;
}

static void a_wait_of_minus_1_is_as_long_as_it_takes(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "w:endless"), handle_of(client, "w:endless")};
    endless waiters[] = {{.lock = locks[1], .call = lk_timedrdlock},
                         {.lock = locks[1], .call = lk_timedwrlock}};
    for (size_t i = 0; i < 2; i++) {
        assert_ok(lk_wrlock(locks[0]));
        pthread_t thread = thread_start(wait_endlessly, &waiters[i]);
        assert_eventually(waiter_total(client, "w:endless") == 1);
        assert_ok(lk_wrunlock(locks[0]));
        thread_join(thread);
        assert_ok(waiters[i].status);
        assert_ok(give(locks[1], i == 0 ? LK_READ : LK_WRITE));
    }
    free_handles(locks, 2);
    lk_close(client);
}

static void a_time_counts_from_the_call_also_behind_others_of_the_handle(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "w:from"), handle_of(client, "w:from")};
    taker callers[3];
    assert_ok(lk_wrlock(locks[0]));
    taker_start(&callers[0], locks[1], LK_WRITE, -1);
    assert_eventually(waiter_total(client, "w:from") == 1);
    taker_start(&callers[1], locks[1], LK_WRITE, 100);
    taker_start(&callers[2], locks[1], LK_READ, 100);
    for (size_t i = 1; i < 3; i++) {
        assert_status(taker_join(&callers[i]), LK_TIMEOUT);
        assert_true(callers[i].took_ms >= 100);
    }
    assert_int_equal(waiter_total(client, "w:from"), 1);
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(taker_join(&callers[0]));
    free_handles(locks, 2);
    lk_close(client);
}

static void a_waiter_that_times_out_leaves_nothing_behind(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "w:left"), handle_of(client, "w:left"),
                        handle_of(client, "w:left")};
    assert_ok(lk_rdlock(locks[0]));
    assert_status(lk_timedwrlock(locks[1], 30), LK_TIMEOUT);
    assert_int_equal(waiter_total(client, "w:left"), 0);
    assert_status(lk_wrunlock(locks[1]), LK_NOT_HELD);
    assert_true(lk_fence(locks[1]) == 0);
    assert_ok(lk_tryrdlock(locks[2])); /* no writer waits any more */
    assert_ok(lk_rdunlock(locks[2]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_nothing_left();
    free_handles(locks, 3);
    lk_close(client);
}

static void readers_behind_a_writer_that_times_out_come_in(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "w:behind"), handle_of(client, "w:behind"),
                        handle_of(client, "w:behind")};
    taker writer, reader;
    assert_ok(lk_rdlock(locks[0]));
    taker_start(&writer, locks[1], LK_WRITE, 1500);
    assert_eventually(waiter_total(client, "w:behind") == 1);
    taker_start(&reader, locks[2], LK_READ, -1);
    assert_status(taker_join(&writer), LK_TIMEOUT);
    assert_ok(taker_join(&reader));
    assert_true(lk_valid(locks[0]));
    free_handles(locks, 3);
    lk_close(client);
}

enum { RACES = 200, RACE_WAIT_MS = 5 };

/* The unlock comes from a little before the end of the wait to a little after it. */
static void a_grant_in_the_moment_of_the_time_out_is_one_or_the_other(void **state) {
    (void)state;
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {handle_of(clients[0], "w:race"), handle_of(clients[1], "w:race")};
    int granted = 0, late = 0;
    for (int i = 0; i < RACES; i++) {
        taker waiter;
        assert_ok(lk_trywrlock(locks[0]));
        int64_t end_us = (RACE_WAIT_MS - 2) * 1000 + i * 4000 / RACES;
        taker_start(&waiter, locks[1], LK_WRITE, RACE_WAIT_MS);
        pause_us(end_us);
        assert_ok(lk_wrunlock(locks[0]));
        lk_status status = taker_join(&waiter);
        if (status == LK_OK) {
            granted++;
            assert_true(lk_valid(locks[1]));
            assert_true(is_holder(clients[0], "w:race", locks[1]));
            assert_ok(lk_wrunlock(locks[1]));
        } else {
            late++;
            assert_int_equal(status, LK_TIMEOUT);
            assert_false(lk_valid(locks[1]));
            assert_true(lk_fence(locks[1]) == 0);
            assert_status(lk_wrunlock(locks[1]), LK_NOT_HELD);
        }
        assert_nothing_left();
    }
    assert_int_equal(granted + late, RACES);
    free_handles(locks, 2);
    lk_close(clients[0]);
    lk_close(clients[1]);
}

/* --------------------------------------------------------------------------- cancelling */

static void a_waiting_call_is_canceled_from_another_thread(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "w:cancel"), handle_of(client, "w:cancel")};
    taker waiter;
    assert_ok(lk_wrlock(locks[0]));
    taker_queue(&waiter, locks[1], LK_WRITE, client, "w:cancel", 1);
    assert_ok(lk_cancel(locks[1]));
    assert_status(taker_join(&waiter), LK_CANCELED);
    assert_says(waiter.error, "w:cancel");
    assert_int_equal(waiter_total(client, "w:cancel"), 0);
    assert_ok(lk_wrunlock(locks[0]));
    assert_nothing_left();
    assert_ok(lk_trywrlock(locks[1]));
    free_handles(locks, 2);
    lk_close(client);
}

/* A call that has not begun yet is not reached by a cancel, so it takes more than one. */
static bool cancel_until_over(lk_lock *lock, const taker *callers, size_t count) {
    bool all = true;
    for (size_t i = 0; i < count; i++)
        all = all && atomic_load(&callers[i].over);
    return all || lk_cancel(lock) != LK_OK;
}

static void all_calls_that_wait_on_a_handle_are_canceled(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "w:cancel-all"), handle_of(client, "w:cancel-all"),
                        handle_of(client, "w:cancel-all")};
    taker canceled[4], other;
    assert_ok(lk_wrlock(locks[0]));
    taker_queue(&other, locks[2], LK_WRITE, client, "w:cancel-all", 1);
    for (size_t i = 0; i < 4; i++)
        taker_start(&canceled[i], locks[1], i % 2 ? LK_READ : LK_WRITE, -1);
    assert_eventually(waiter_total(client, "w:cancel-all") == 2);
    assert_eventually(cancel_until_over(locks[1], canceled, 4));
    for (size_t i = 0; i < 4; i++)
        assert_status(taker_join(&canceled[i]), LK_CANCELED);
    assert_eventually(waiter_total(client, "w:cancel-all") == 1);
    assert_false(atomic_load(&other.over));
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(taker_join(&other));
    free_handles(locks, 3);
    lk_close(client);
}

static void a_cancel_leaves_what_is_held(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "w:cancel-held"), handle_of(client, "w:cancel-held")};
    taker upgrader;
    assert_ok(lk_cancel(locks[0])); /* nothing waits */
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    taker_queue(&upgrader, locks[0], LK_WRITE, client, "w:cancel-held", 1);
    assert_ok(lk_cancel(locks[0]));
    assert_status(taker_join(&upgrader), LK_CANCELED);
    assert_true(lk_valid(locks[0]));
    assert_int_equal(holder_total(client, "w:cancel-held"), 2);
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(lk_rdunlock(locks[1]));
    assert_nothing_left();
    free_handles(locks, 2);
    lk_close(client);
}

static void a_cancel_races_with_a_grant_and_one_of_them_wins(void **state) {
    (void)state;
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {handle_of(clients[0], "w:cancel-race"),
                        handle_of(clients[1], "w:cancel-race")};
    for (int i = 0; i < RACES; i++) {
        taker waiter;
        assert_ok(lk_trywrlock(locks[0]));
        taker_queue(&waiter, locks[1], LK_WRITE, clients[0], "w:cancel-race", 1);
        if (i % 2)
            assert_ok(lk_cancel(locks[1]));
        assert_ok(lk_wrunlock(locks[0]));
        assert_ok(lk_cancel(locks[1]));
        lk_status status = taker_join(&waiter);
        if (status == LK_OK)
            assert_ok(lk_wrunlock(locks[1]));
        else
            assert_int_equal(status, LK_CANCELED);
        assert_status(lk_wrunlock(locks[1]), LK_NOT_HELD);
        assert_nothing_left();
    }
    free_handles(locks, 2);
    lk_close(clients[0]);
    lk_close(clients[1]);
}

/* --------------------------------------------------------------------------- without polling */

static void a_wait_costs_the_server_next_to_nothing(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "w:quiet"), handle_of(client, "w:quiet")};
    taker waiter;
    assert_ok(lk_wrlock(locks[0]));
    taker_queue(&waiter, locks[1], LK_WRITE, client, "w:quiet", 1);
    int64_t began_ms = now_ms();
    long long before = world_calls("evalsha");
    pause_ms(1000);
    long long calls = world_calls("evalsha") - before;
    int64_t seconds = (now_ms() - began_ms) / 1000;
    assert_true(calls <= 1 + seconds); /* the heartbeat of a waiter: one in three seconds */
    before = world_calls("evalsha");
    assert_ok(lk_wrunlock(locks[0]));
    assert_ok(taker_join(&waiter));
    assert_ok(lk_wrunlock(locks[1]));
    calls = world_calls("evalsha") - before;
    assert_true(calls <= 4); /* two releases, a claim, perhaps one heartbeat */
    free_handles(locks, 2);
    lk_close(client);
}

enum { HERD = 60 };

static void a_release_wakes_the_next_waiter_alone(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *first = handle_of(client, "w:herd"), *locks[HERD];
    static taker takers[HERD];
    assert_ok(lk_wrlock(first));
    for (size_t i = 0; i < HERD; i++) {
        locks[i] = handle_of(client, "w:herd");
        taker_start(&takers[i], locks[i], LK_WRITE, -1);
    }
    assert_eventually(waiter_total(client, "w:herd") == HERD);
    lk_info *info = look(client, "w:herd");
    long long before = world_calls("evalsha");
    assert_ok(lk_wrunlock(first));
    for (size_t i = 0; i < HERD; i++) {
        size_t next = 0;
        while (strcmp(lk_owner(locks[next]), info->waiters[i].owner) != 0)
            next++;
        assert_ok(taker_join(&takers[next]));
        assert_ok(lk_wrunlock(locks[next]));
    }
    long long calls = world_calls("evalsha") - before;
    if (calls > 5 * HERD)
        fail_msg("%lld calls for %d hand-overs", calls, HERD);
    lk_info_free(info);
    lk_lock_free(first);
    free_handles(locks, HERD);
    lk_close(client);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(a_waiter_is_handed_the_lock),
        world_test(a_time_out_comes_not_before_its_time),
        world_test(a_wait_of_minus_1_is_as_long_as_it_takes),
        world_test(a_time_counts_from_the_call_also_behind_others_of_the_handle),
        world_test(a_waiter_that_times_out_leaves_nothing_behind),
        world_test(readers_behind_a_writer_that_times_out_come_in),
        world_test(a_grant_in_the_moment_of_the_time_out_is_one_or_the_other),
        world_test(a_waiting_call_is_canceled_from_another_thread),
        world_test(all_calls_that_wait_on_a_handle_are_canceled),
        world_test(a_cancel_leaves_what_is_held),
        world_test(a_cancel_races_with_a_grant_and_one_of_them_wins),
        world_test(a_wait_costs_the_server_next_to_nothing),
        world_test(a_release_wakes_the_next_waiter_alone),
    };
    return world_main(argc, argv, tests);
}
