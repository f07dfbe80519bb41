/* Waiting: grants, timeouts and cancels. A wait that ends leaves nothing behind. */
#include "world.h"

TEST(a_waiter_is_handed_the_lock) {
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {new_lock(clients[0], "w:hand"), new_lock(clients[1], "w:hand")};
    call waiter;
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&waiter, locks[1], LK_WRITE, clients[0], "w:hand", 1);
    assert_false(atomic_load(&waiter.over));
    assert_ok(lk_wrunlock(locks[0]));
    assert_true(is_holder(clients[0], "w:hand", locks[1]));
    assert_status(lk_trywrlock(locks[0]), LK_BUSY);
    assert_call(&waiter, LK_OK);
    assert_true(lk_valid(locks[1]));
    assert_ok(lk_wrunlock(locks[1]));
    assert_nothing_left();
}

/* --------------------------------------------------------------------------- time-outs */

TEST(a_time_out_comes_not_before_its_time) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "w:time"), new_lock(client, "w:time")};
    assert_ok(lk_wrlock(locks[0]));
    for (int64_t wait_ms = 1; wait_ms < 500; wait_ms *= 6) {
        int64_t began_ms = now_ms();
        assert_status(lock_as(locks[1], wait_ms % 2 ? LK_READ : LK_WRITE, wait_ms), LK_TIMEOUT);
        int64_t took_ms = now_ms() - began_ms;
        assert_true(took_ms >= wait_ms);
        assert_true(took_ms < PATIENT_MS);
    }
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

TEST(a_wait_of_minus_1_is_as_long_as_it_takes) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "w:endless"), new_lock(client, "w:endless")};
    endless waiters[] = {{.lock = locks[1], .call = lk_timedrdlock},
                         {.lock = locks[1], .call = lk_timedwrlock}};
    for (size_t i = 0; i < 2; i++) {
        assert_ok(lk_wrlock(locks[0]));
        pthread_t thread = thread_start(wait_endlessly, &waiters[i]);
        eventually(look_at(client, "w:endless").waiters == 1);
        assert_ok(lk_wrunlock(locks[0]));
        thread_join(thread);
        assert_ok(waiters[i].status);
        assert_ok(unlock_as(locks[1], i == 0 ? LK_READ : LK_WRITE));
    }
}

TEST(a_time_counts_from_the_call_also_behind_others_of_the_handle) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "w:from"), new_lock(client, "w:from")};
    call callers[3];
    assert_ok(lk_wrlock(locks[0]));
    begin_call(&callers[0], lk_wrlock, locks[1]);
    eventually(look_at(client, "w:from").waiters == 1);
    begin_lock(&callers[1], locks[1], LK_WRITE, 100);
    begin_lock(&callers[2], locks[1], LK_READ, 100);
    for (size_t i = 1; i < 3; i++) {
        assert_call(&callers[i], LK_TIMEOUT);
        assert_true(callers[i].took_ms >= 100);
    }
    assert_int_equal(look_at(client, "w:from").waiters, 1);
    assert_ok(lk_wrunlock(locks[0]));
    assert_call(&callers[0], LK_OK);
}

TEST(a_waiter_that_times_out_leaves_nothing_behind) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "w:left"), new_lock(client, "w:left"),
                        new_lock(client, "w:left")};
    assert_ok(lk_rdlock(locks[0]));
    assert_status(lk_timedwrlock(locks[1], 30), LK_TIMEOUT);
    assert_int_equal(look_at(client, "w:left").waiters, 0);
    assert_status(lk_wrunlock(locks[1]), LK_NOT_HELD);
    assert_true(lk_fence(locks[1]) == 0);
    assert_ok(lk_tryrdlock(locks[2])); /* no writer waits any more */
    assert_ok(lk_rdunlock(locks[2]));
    assert_ok(lk_rdunlock(locks[0]));
    assert_nothing_left();
}

TEST(readers_behind_a_writer_that_times_out_come_in) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "w:behind"), new_lock(client, "w:behind"),
                        new_lock(client, "w:behind")};
    call writer, reader;
    assert_ok(lk_rdlock(locks[0]));
    begin_lock(&writer, locks[1], LK_WRITE, 1500);
    eventually(look_at(client, "w:behind").waiters == 1);
    begin_call(&reader, lk_rdlock, locks[2]);
    assert_call(&writer, LK_TIMEOUT);
    assert_call(&reader, LK_OK);
    assert_true(lk_valid(locks[0]));
}

enum { RACES = 200, RACE_WAIT_MS = 5 };

/* The unlock comes a little before the end of the wait, or a little after it. */
TEST(a_grant_in_the_moment_of_the_time_out_is_one_or_the_other) {
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {new_lock(clients[0], "w:race"), new_lock(clients[1], "w:race")};
    int granted = 0, late = 0;
    for (int i = 0; i < RACES; i++) {
        call waiter;
        assert_ok(lk_trywrlock(locks[0]));
        int64_t end_us = (RACE_WAIT_MS - 2) * 1000 + i * 4000 / RACES;
        begin_lock(&waiter, locks[1], LK_WRITE, RACE_WAIT_MS);
        sleep_us(end_us);
        assert_ok(lk_wrunlock(locks[0]));
        lk_status status = end_call(&waiter);
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
}

/* --------------------------------------------------------------------------- cancelling */

TEST(a_waiting_call_is_canceled_from_another_thread) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "w:cancel"), new_lock(client, "w:cancel")};
    call waiter;
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&waiter, locks[1], LK_WRITE, client, "w:cancel", 1);
    assert_ok(lk_cancel(locks[1]));
    assert_call(&waiter, LK_CANCELED);
    assert_says(waiter.said, "w:cancel");
    assert_int_equal(look_at(client, "w:cancel").waiters, 0);
    assert_ok(lk_wrunlock(locks[0]));
    assert_nothing_left();
    assert_ok(lk_trywrlock(locks[1]));
}

/* A cancel does not reach a call that has not begun yet, so the test may need several. */
static bool cancel_until_over(lk_lock *lock, const call *callers, size_t count) {
    bool all = true;
    for (size_t i = 0; i < count; i++)
        all = all && atomic_load(&callers[i].over);
    return all || lk_cancel(lock) != LK_OK;
}

TEST(all_calls_that_wait_on_a_handle_are_canceled) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "w:cancel-all"), new_lock(client, "w:cancel-all"),
                        new_lock(client, "w:cancel-all")};
    call canceled[4], other;
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&other, locks[2], LK_WRITE, client, "w:cancel-all", 1);
    for (size_t i = 0; i < 4; i++)
        begin_lock(&canceled[i], locks[1], i % 2 ? LK_READ : LK_WRITE, -1);
    eventually(look_at(client, "w:cancel-all").waiters == 2);
    eventually(cancel_until_over(locks[1], canceled, 4));
    for (size_t i = 0; i < 4; i++)
        assert_call(&canceled[i], LK_CANCELED);
    eventually(look_at(client, "w:cancel-all").waiters == 1);
    assert_false(atomic_load(&other.over));
    assert_ok(lk_wrunlock(locks[0]));
    assert_call(&other, LK_OK);
}

TEST(a_cancel_leaves_what_is_held) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "w:cancel-held"), new_lock(client, "w:cancel-held")};
    call upgrader;
    assert_ok(lk_cancel(locks[0])); /* nothing waits */
    assert_ok(lk_rdlock(locks[0]));
    assert_ok(lk_rdlock(locks[1]));
    begin_wait(&upgrader, locks[0], LK_WRITE, client, "w:cancel-held", 1);
    assert_ok(lk_cancel(locks[0]));
    assert_call(&upgrader, LK_CANCELED);
    assert_true(lk_valid(locks[0]));
    assert_int_equal(look_at(client, "w:cancel-held").holders, 2);
    assert_ok(lk_rdunlock(locks[0]));
    assert_ok(lk_rdunlock(locks[1]));
    assert_nothing_left();
}

TEST(a_cancel_races_with_a_grant_and_one_of_them_wins) {
    lk_client *clients[] = {open_client(), open_client()};
    lk_lock *locks[] = {new_lock(clients[0], "w:cancel-race"),
                        new_lock(clients[1], "w:cancel-race")};
    for (int i = 0; i < RACES; i++) {
        call waiter;
        assert_ok(lk_trywrlock(locks[0]));
        begin_wait(&waiter, locks[1], LK_WRITE, clients[0], "w:cancel-race", 1);
        if (i % 2)
            assert_ok(lk_cancel(locks[1]));
        assert_ok(lk_wrunlock(locks[0]));
        assert_ok(lk_cancel(locks[1]));
        lk_status status = end_call(&waiter);
        if (status == LK_OK)
            assert_ok(lk_wrunlock(locks[1]));
        else
            assert_int_equal(status, LK_CANCELED);
        assert_status(lk_wrunlock(locks[1]), LK_NOT_HELD);
        assert_nothing_left();
    }
}

/* --------------------------------------------------------------------------- without polling */

TEST(a_wait_costs_the_server_next_to_nothing) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "w:quiet"), new_lock(client, "w:quiet")};
    call waiter;
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&waiter, locks[1], LK_WRITE, client, "w:quiet", 1);
    int64_t began_ms = now_ms();
    long long before = command_calls("evalsha");
    sleep_ms(1000);
    long long calls = command_calls("evalsha") - before;
    int64_t seconds = (now_ms() - began_ms) / 1000;
    assert_true(calls <= 1 + seconds); /* the heartbeat of a waiter: one in three seconds */
    before = command_calls("evalsha");
    assert_ok(lk_wrunlock(locks[0]));
    assert_call(&waiter, LK_OK);
    assert_ok(lk_wrunlock(locks[1]));
    calls = command_calls("evalsha") - before;
    assert_true(calls <= 4); /* two releases, a claim, perhaps one heartbeat */
}

enum { HERD = 60 };

TEST(a_release_wakes_the_next_waiter_alone) {
    lk_client *client = open_client();
    lk_lock *first = new_lock(client, "w:herd"), *locks[HERD];
    static call takers[HERD];
    assert_ok(lk_wrlock(first));
    for (size_t i = 0; i < HERD; i++) {
        locks[i] = new_lock(client, "w:herd");
        begin_call(&takers[i], lk_wrlock, locks[i]);
    }
    eventually(look_at(client, "w:herd").waiters == HERD);
    lk_info *info = inspect(client, "w:herd");
    long long before = command_calls("evalsha");
    assert_ok(lk_wrunlock(first));
    for (size_t i = 0; i < HERD; i++) {
        size_t next = 0;
        while (strcmp(lk_owner(locks[next]), info->waiters[i].owner) != 0)
            next++;
        assert_call(&takers[next], LK_OK);
        assert_ok(lk_wrunlock(locks[next]));
    }
    long long calls = command_calls("evalsha") - before;
    if (calls > 5 * HERD)
        fail_msg("%lld calls for %d hand-overs", calls, HERD);
}

int main(void) {
    return world_run(begin_world);
}
