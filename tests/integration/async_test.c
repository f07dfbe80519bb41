/* Async operations: each reports once, in order, on the client's callback thread. */
#include "world.h"

/* ------------------------------------------------------------------------------ once each */

typedef struct {
    lk_lock *_Atomic lock;
    _Atomic lk_status status;
    atomic_int count;
} report;

static void note(lk_lock *lock, lk_status status, void *arg) {
    report *self = arg;
    atomic_store(&self->lock, lock);
    atomic_store(&self->status, status);
    atomic_fetch_add(&self->count, 1);
}

TEST(a_lock_is_taken_and_given_back) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "a:both");
    report taken = {.status = LK_INTERNAL}, given = {.status = LK_INTERNAL};
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, note, &taken));
    eventually(atomic_load(&taken.count) == 1);
    assert_int_equal(atomic_load(&taken.status), LK_OK);
    assert_ptr_equal(atomic_load(&taken.lock), lock);
    assert_true(lk_valid(lock));
    assert_ok(lk_release_async(lock, LK_WRITE, note, &given));
    eventually(atomic_load(&given.count) == 1);
    assert_int_equal(atomic_load(&given.status), LK_OK);
    assert_false(lk_valid(lock));
    assert_nothing_left();
    free_lock(lock);
    close_client(client);
    assert_int_equal(atomic_load(&taken.count), 1);
    assert_int_equal(atomic_load(&given.count), 1);
}

enum { MANY = 500 };

typedef struct {
    report taken, given;
    lk_status begun;
} pair;

static void note_and_give_back(lk_lock *lock, lk_status status, void *arg) {
    pair *self = arg;
    note(lock, status, &self->taken);
    self->begun = lk_release_async(lock, LK_WRITE, note, &self->given);
}

TEST(each_of_many_callbacks_is_called_once) {
    static pair pairs[MANY];
    lk_client *client = open_client();
    lk_lock *locks[MANY];
    memset(pairs, 0, sizeof pairs);
    for (size_t i = 0; i < MANY; i++) {
        locks[i] = new_lock(client, "a:many");
        assert_ok(lk_acquire_async(locks[i], LK_WRITE, -1, note_and_give_back, &pairs[i]));
    }
    for (size_t i = 0; i < MANY; i++)
        eventually(atomic_load(&pairs[i].given.count) > 0);
    assert_nothing_left();
    free_locks(locks, MANY);
    close_client(client);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(atomic_load(&pairs[i].taken.count), 1);
        assert_int_equal(atomic_load(&pairs[i].taken.status), LK_OK);
        assert_ptr_equal(atomic_load(&pairs[i].taken.lock), locks[i]);
        assert_int_equal(pairs[i].begun, LK_OK);
        assert_int_equal(atomic_load(&pairs[i].given.count), 1);
        assert_int_equal(atomic_load(&pairs[i].given.status), LK_OK);
    }
}

TEST(a_callback_may_be_left_out) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "a:null");
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, NULL, NULL));
    eventually(lk_valid(lock));
    assert_ok(lk_release_async(lock, LK_WRITE, NULL, NULL));
    eventually(is_empty());
}

TEST(a_call_that_fails_calls_nobody) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "a:bad");
    tally done = {0};
    assert_status(lk_acquire_async(lock, (lk_mode)2, 0, tally_done, &done), LK_INVALID);
    assert_status(lk_release_async(lock, (lk_mode)2, tally_done, &done), LK_INVALID);
    assert_status(lk_acquire_async(NULL, LK_READ, 0, tally_done, &done), LK_INVALID);
    assert_status(lk_release_async(NULL, LK_READ, tally_done, &done), LK_INVALID);
    free_lock(lock);
    close_client(client);
    assert_int_equal(atomic_load(&done.count), 0);
}

/* ------------------------------------------------------------------------------ threads, order */

typedef struct {
    pthread_t threads[64];
    int order[64];
    atomic_int count;
} diary;

typedef struct {
    diary *diary;
    int number;
    lk_status status;
} page;

static void write_down(lk_lock *lock, lk_status status, void *arg) {
    page *self = arg;
    (void)lock;
    self->status = status;
    int at = atomic_load(&self->diary->count);
    self->diary->threads[at] = pthread_self();
    self->diary->order[at] = self->number;
    atomic_store(&self->diary->count, at + 1);
}

TEST(operations_of_a_handle_are_done_in_order_on_one_thread) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "a:order");
    diary kept = {.count = 0};
    page pages[60];
    for (int i = 0; i < 60; i++) {
        lk_mode mode = i % 4 < 2 ? LK_WRITE : LK_READ;
        pages[i] = (page){&kept, i, LK_INTERNAL};
        assert_ok(i % 2 ? lk_release_async(lock, mode, write_down, &pages[i])
                        : lk_acquire_async(lock, mode, -1, write_down, &pages[i]));
    }
    eventually(atomic_load(&kept.count) == 60);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(kept.order[i], i);
        assert_int_equal(pages[i].status, LK_OK);
        assert_true(pthread_equal(kept.threads[i], kept.threads[0]));
    }
    assert_false(pthread_equal(kept.threads[0], pthread_self()));
    assert_nothing_left();
}

TEST(a_release_that_has_nothing_to_give_says_so_in_its_turn) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "a:turn");
    diary kept = {.count = 0};
    page pages[4] = {{&kept, 0, LK_OK}, {&kept, 1, LK_OK}, {&kept, 2, LK_OK}, {&kept, 3, LK_OK}};
    assert_ok(lk_release_async(lock, LK_WRITE, write_down, &pages[0]));
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, write_down, &pages[1]));
    assert_ok(lk_release_async(lock, LK_WRITE, write_down, &pages[2]));
    assert_ok(lk_release_async(lock, LK_WRITE, write_down, &pages[3]));
    eventually(atomic_load(&kept.count) == 4);
    static const lk_status wanted[] = {LK_NOT_HELD, LK_OK, LK_OK, LK_NOT_HELD};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(kept.order[i], i);
        assert_int_equal(pages[i].status, wanted[i]);
    }
}

TEST(a_release_begun_behind_an_acquire_that_waits_is_done_after_it) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "a:behind"), new_lock(client, "a:behind")};
    diary kept = {.count = 0};
    page pages[2] = {{&kept, 0, LK_INTERNAL}, {&kept, 1, LK_INTERNAL}};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_acquire_async(locks[1], LK_WRITE, -1, write_down, &pages[0]));
    eventually(look_at(client, "a:behind").waiters == 1);
    assert_ok(lk_release_async(locks[1], LK_WRITE, write_down, &pages[1]));
    assert_ok(lk_wrunlock(locks[0]));
    eventually(atomic_load(&kept.count) == 2);
    assert_int_equal(kept.order[0], 0);
    assert_int_equal(pages[0].status, LK_OK);
    assert_int_equal(pages[1].status, LK_OK);
    assert_nothing_left();
}

/* ------------------------------------------------------------------------------ waiting */

TEST(a_wait_of_0_does_not_wait) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "a:zero"), new_lock(client, "a:zero")};
    tally done = {0};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_acquire_async(locks[1], LK_READ, 0, tally_done, &done));
    eventually(atomic_load(&done.count) == 1);
    assert_int_equal(atomic_load(&done.status), LK_BUSY);
}

TEST(a_wait_above_0_ends_with_the_time_out) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "a:above"), new_lock(client, "a:above")};
    tally done = {0};
    assert_ok(lk_wrlock(locks[0]));
    int64_t began_ms = now_ms();
    assert_ok(lk_acquire_async(locks[1], LK_READ, 100, tally_done, &done));
    eventually(atomic_load(&done.count) == 1);
    assert_true(now_ms() - began_ms >= 100);
    assert_int_equal(atomic_load(&done.status), LK_TIMEOUT);
    assert_int_equal(look_at(client, "a:above").waiters, 0);
}

TEST(a_wait_of_minus_1_is_as_long_as_it_takes) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "a:below"), new_lock(client, "a:below")};
    tally done = {0};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_acquire_async(locks[1], LK_WRITE, -1, tally_done, &done));
    eventually(look_at(client, "a:below").waiters == 1);
    assert_int_equal(atomic_load(&done.count), 0);
    assert_ok(lk_wrunlock(locks[0]));
    eventually(atomic_load(&done.count) == 1);
    assert_int_equal(atomic_load(&done.status), LK_OK);
    assert_true(lk_valid(locks[1]));
}

TEST(a_cancel_ends_all_that_wait_on_the_handle) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "a:cancel"), new_lock(client, "a:cancel")};
    tally done = {0};
    assert_ok(lk_wrlock(locks[0]));
    for (int i = 0; i < 5; i++)
        assert_ok(lk_acquire_async(locks[1], i % 2 ? LK_READ : LK_WRITE, -1, tally_done, &done));
    eventually(look_at(client, "a:cancel").waiters == 1);
    assert_ok(lk_cancel(locks[1]));
    eventually(atomic_load(&done.count) == 5);
    assert_int_equal(atomic_load(&done.with[LK_CANCELED]), 5);
    eventually(look_at(client, "a:cancel").waiters == 0);
    assert_ok(lk_wrunlock(locks[0]));
    assert_nothing_left();
}

static void sleeper(lk_lock *lock, lk_status status, void *arg) {
    (void)lock, (void)status;
    sleep_ms(3000);
    atomic_store((atomic_bool *)arg, true);
}

TEST(a_slow_callback_does_not_stop_renewals) {
    lk_client *client = open_client();
    atomic_int lost = 0;
    lk_lock *held = new_watched_lock(client, "a:held", 1000, &lost),
            *slow = new_lock(client, "a:slow");
    atomic_bool awake = false;
    assert_ok(lk_wrlock(held));
    assert_ok(lk_acquire_async(slow, LK_WRITE, -1, sleeper, &awake));
    while (!atomic_load(&awake)) {
        assert_true(lk_valid(held));
        sleep_ms(POLL_MS);
    }
    assert_true(is_holder(client, "a:held", held));
    assert_int_equal(atomic_load(&lost), 0);
}

int main(void) {
    return world_run(begin_world);
}
