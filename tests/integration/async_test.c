/* Async operations: each reports once, in order, on the client's callback thread. */
#include "old_world.h"

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

static void a_lock_is_taken_and_given_back(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "a:both");
    report taken = {.status = LK_INTERNAL}, given = {.status = LK_INTERNAL};
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, note, &taken));
    assert_eventually(atomic_load(&taken.count) == 1);
    assert_int_equal(atomic_load(&taken.status), LK_OK);
    assert_ptr_equal(atomic_load(&taken.lock), lock);
    assert_true(lk_valid(lock));
    assert_ok(lk_release_async(lock, LK_WRITE, note, &given));
    assert_eventually(atomic_load(&given.count) == 1);
    assert_int_equal(atomic_load(&given.status), LK_OK);
    assert_false(lk_valid(lock));
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
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

static void each_of_many_callbacks_is_called_once(void **state) {
    (void)state;
    static pair pairs[MANY];
    lk_client *client = open_client();
    lk_lock *locks[MANY];
    memset(pairs, 0, sizeof pairs);
    for (size_t i = 0; i < MANY; i++) {
        locks[i] = handle_of(client, "a:many");
        assert_ok(lk_acquire_async(locks[i], LK_WRITE, -1, note_and_give_back, &pairs[i]));
    }
    for (size_t i = 0; i < MANY; i++)
        assert_eventually(atomic_load(&pairs[i].given.count) > 0);
    assert_nothing_left();
    free_handles(locks, MANY);
    lk_close(client);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(atomic_load(&pairs[i].taken.count), 1);
        assert_int_equal(atomic_load(&pairs[i].taken.status), LK_OK);
        assert_ptr_equal(atomic_load(&pairs[i].taken.lock), locks[i]);
        assert_int_equal(pairs[i].begun, LK_OK);
        assert_int_equal(atomic_load(&pairs[i].given.count), 1);
        assert_int_equal(atomic_load(&pairs[i].given.status), LK_OK);
    }
}

static void a_callback_may_be_left_out(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "a:null");
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, NULL, NULL));
    assert_eventually(lk_valid(lock));
    assert_ok(lk_release_async(lock, LK_WRITE, NULL, NULL));
    assert_eventually(world_key_count() == 0);
    lk_lock_free(lock);
    lk_close(client);
}

static void a_call_that_fails_calls_nobody(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "a:bad");
    tally done = {0};
    assert_status(lk_acquire_async(lock, (lk_mode)2, 0, tally_done, &done), LK_INVALID);
    assert_status(lk_release_async(lock, (lk_mode)2, tally_done, &done), LK_INVALID);
    assert_status(lk_acquire_async(NULL, LK_READ, 0, tally_done, &done), LK_INVALID);
    assert_status(lk_release_async(NULL, LK_READ, tally_done, &done), LK_INVALID);
    lk_lock_free(lock);
    lk_close(client);
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

static void operations_of_a_handle_are_done_in_order_on_one_thread(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "a:order");
    diary kept = {.count = 0};
    page pages[60];
    for (int i = 0; i < 60; i++) {
        lk_mode mode = i % 4 < 2 ? LK_WRITE : LK_READ;
        pages[i] = (page){&kept, i, LK_INTERNAL};
        assert_ok(i % 2 ? lk_release_async(lock, mode, write_down, &pages[i])
                        : lk_acquire_async(lock, mode, -1, write_down, &pages[i]));
    }
    assert_eventually(atomic_load(&kept.count) == 60);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(kept.order[i], i);
        assert_int_equal(pages[i].status, LK_OK);
        assert_true(pthread_equal(kept.threads[i], kept.threads[0]));
    }
    assert_false(pthread_equal(kept.threads[0], pthread_self()));
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
}

static void a_release_that_has_nothing_to_give_says_so_in_its_turn(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "a:turn");
    diary kept = {.count = 0};
    page pages[4] = {{&kept, 0, LK_OK}, {&kept, 1, LK_OK}, {&kept, 2, LK_OK}, {&kept, 3, LK_OK}};
    assert_ok(lk_release_async(lock, LK_WRITE, write_down, &pages[0]));
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, write_down, &pages[1]));
    assert_ok(lk_release_async(lock, LK_WRITE, write_down, &pages[2]));
    assert_ok(lk_release_async(lock, LK_WRITE, write_down, &pages[3]));
    assert_eventually(atomic_load(&kept.count) == 4);
    static const lk_status wanted[] = {LK_NOT_HELD, LK_OK, LK_OK, LK_NOT_HELD};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(kept.order[i], i);
        assert_int_equal(pages[i].status, wanted[i]);
    }
    lk_lock_free(lock);
    lk_close(client);
}

static void a_release_begun_behind_an_acquire_that_waits_is_done_after_it(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "a:behind"), handle_of(client, "a:behind")};
    diary kept = {.count = 0};
    page pages[2] = {{&kept, 0, LK_INTERNAL}, {&kept, 1, LK_INTERNAL}};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_acquire_async(locks[1], LK_WRITE, -1, write_down, &pages[0]));
    assert_eventually(waiter_total(client, "a:behind") == 1);
    assert_ok(lk_release_async(locks[1], LK_WRITE, write_down, &pages[1]));
    assert_ok(lk_wrunlock(locks[0]));
    assert_eventually(atomic_load(&kept.count) == 2);
    assert_int_equal(kept.order[0], 0);
    assert_int_equal(pages[0].status, LK_OK);
    assert_int_equal(pages[1].status, LK_OK);
    assert_nothing_left();
    free_handles(locks, 2);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ waiting */

static void a_wait_of_0_does_not_wait(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "a:zero"), handle_of(client, "a:zero")};
    tally done = {0};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_acquire_async(locks[1], LK_READ, 0, tally_done, &done));
    assert_eventually(atomic_load(&done.count) == 1);
    assert_int_equal(atomic_load(&done.status), LK_BUSY);
    free_handles(locks, 2);
    lk_close(client);
}

static void a_wait_above_0_ends_with_the_time_out(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "a:above"), handle_of(client, "a:above")};
    tally done = {0};
    assert_ok(lk_wrlock(locks[0]));
    int64_t began_ms = now_ms();
    assert_ok(lk_acquire_async(locks[1], LK_READ, 100, tally_done, &done));
    assert_eventually(atomic_load(&done.count) == 1);
    assert_true(now_ms() - began_ms >= 100);
    assert_int_equal(atomic_load(&done.status), LK_TIMEOUT);
    assert_int_equal(waiter_total(client, "a:above"), 0);
    free_handles(locks, 2);
    lk_close(client);
}

static void a_wait_of_minus_1_is_as_long_as_it_takes(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "a:below"), handle_of(client, "a:below")};
    tally done = {0};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_acquire_async(locks[1], LK_WRITE, -1, tally_done, &done));
    assert_eventually(waiter_total(client, "a:below") == 1);
    assert_int_equal(atomic_load(&done.count), 0);
    assert_ok(lk_wrunlock(locks[0]));
    assert_eventually(atomic_load(&done.count) == 1);
    assert_int_equal(atomic_load(&done.status), LK_OK);
    assert_true(lk_valid(locks[1]));
    free_handles(locks, 2);
    lk_close(client);
}

static void a_cancel_ends_all_that_wait_on_the_handle(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "a:cancel"), handle_of(client, "a:cancel")};
    tally done = {0};
    assert_ok(lk_wrlock(locks[0]));
    for (int i = 0; i < 5; i++)
        assert_ok(lk_acquire_async(locks[1], i % 2 ? LK_READ : LK_WRITE, -1, tally_done, &done));
    assert_eventually(waiter_total(client, "a:cancel") == 1);
    assert_ok(lk_cancel(locks[1]));
    assert_eventually(atomic_load(&done.count) == 5);
    assert_int_equal(atomic_load(&done.with[LK_CANCELED]), 5);
    assert_eventually(waiter_total(client, "a:cancel") == 0);
    assert_ok(lk_wrunlock(locks[0]));
    assert_nothing_left();
    free_handles(locks, 2);
    lk_close(client);
}

static void sleeper(lk_lock *lock, lk_status status, void *arg) {
    (void)lock, (void)status;
    pause_ms(3000);
    atomic_store((atomic_bool *)arg, true);
}

static void a_slow_callback_does_not_stop_renewals(void **state) {
    (void)state;
    lk_client *client = open_client();
    tally lost = {0};
    lk_lock_options options = {.lease_ms = 1000, .on_lost = tally_lost, .on_lost_arg = &lost};
    lk_lock *held = handle_with(client, "a:held", &options), *slow = handle_of(client, "a:slow");
    atomic_bool awake = false;
    assert_ok(lk_wrlock(held));
    assert_ok(lk_acquire_async(slow, LK_WRITE, -1, sleeper, &awake));
    while (!atomic_load(&awake)) {
        assert_true(lk_valid(held));
        pause_ms(WORLD_POLL_MS);
    }
    assert_true(is_holder(client, "a:held", held));
    assert_int_equal(atomic_load(&lost.losses), 0);
    free_handles((lk_lock *[]){held, slow}, 2);
    lk_close(client);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(a_lock_is_taken_and_given_back),
        world_test(each_of_many_callbacks_is_called_once),
        world_test(a_callback_may_be_left_out),
        world_test(a_call_that_fails_calls_nobody),
        world_test(operations_of_a_handle_are_done_in_order_on_one_thread),
        world_test(a_release_that_has_nothing_to_give_says_so_in_its_turn),
        world_test(a_release_begun_behind_an_acquire_that_waits_is_done_after_it),
        world_test(a_wait_of_0_does_not_wait),
        world_test(a_wait_above_0_ends_with_the_time_out),
        world_test(a_wait_of_minus_1_is_as_long_as_it_takes),
        world_test(a_cancel_ends_all_that_wait_on_the_handle),
        world_test(a_slow_callback_does_not_stop_renewals),
    };
    return world_main(argc, argv, tests);
}
