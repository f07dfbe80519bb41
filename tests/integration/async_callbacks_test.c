/* What user code may do inside a callback, and what is refused there. */
#include "old_world.h"

static bool hear_no_more(const char *name, void *arg) {
    (void)name, (void)arg;
    return false;
}

/* ------------------------------------------------------------------------------ refused */

enum { BLOCKING = 13 };

typedef struct {
    lk_client *client;
    lk_lock *other; /* another handle, that holds a write */
    lk_status statuses[BLOCKING];
    lk_info *info;
    bool all_explained;
    atomic_bool over;
} attempts;

static lk_status attempt(attempts *self, lk_lock *lock, int number) {
    static lk_status (*const calls[])(lk_lock *) = {lk_rdlock, lk_tryrdlock, lk_wrlock,
                                                    lk_trywrlock, lk_rdunlock};
    switch (number) {
    case 5:
        return lk_timedrdlock(lock, 10);
    case 6:
        return lk_timedwrlock(lock, 10);
    case 7:
        return lk_wrunlock(self->other);
    case 8:
        return lk_downgrade(self->other);
    case 9:
        return lk_renew(lock, 0);
    case 10:
        return lk_inspect(self->client, "a:block", &self->info);
    case 11:
        return lk_list(self->client, NULL, hear_no_more, NULL);
    case 12:
        return lk_force_release(self->client, "a:block", NULL);
    default:
        return calls[number](lock);
    }
}

static void try_to_block(lk_lock *lock, lk_status status, void *arg) {
    attempts *self = arg;
    (void)status;
    self->all_explained = true;
    for (int i = 0; i < BLOCKING; i++) {
        self->statuses[i] = attempt(self, lock, i);
        self->all_explained = self->all_explained && strstr(lk_last_error(), "callback");
    }
    atomic_store(&self->over, true);
}

static void calls_that_block_are_refused(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "a:block");
    attempts self = {.client = client, .other = handle_of(client, "a:block-2")};
    for (int i = 0; i < BLOCKING; i++)
        self.statuses[i] = LK_OK;
    assert_ok(lk_wrlock(self.other));
    assert_ok(lk_acquire_async(lock, LK_READ, -1, try_to_block, &self));
    assert_eventually(atomic_load(&self.over));
    for (int i = 0; i < BLOCKING; i++)
        assert_int_equal(self.statuses[i], LK_INVALID);
    assert_null(self.info);
    assert_true(self.all_explained);
    assert_true(lk_valid(lock) && lk_valid(self.other));
    assert_ok(lk_rdunlock(lock));
    assert_status(lk_rdunlock(lock), LK_NOT_HELD); /* none of the calls took anything */
    assert_ok(lk_wrunlock(self.other));
    free_handles((lk_lock *[]){lock, self.other}, 2);
    lk_close(client);
}

typedef struct {
    lk_client *client;
    atomic_bool over, logged;
} closer;

static void close_inside(lk_lock *lock, lk_status status, void *arg) {
    closer *self = arg;
    (void)lock, (void)status;
    lk_close(self->client);
    atomic_store(&self->over, true);
}

static void hear_log(lk_log_level level, const char *line, void *arg) {
    closer *self = arg;
    (void)level;
    if (strstr(line, "lk_close") && !strchr(line, '\n'))
        atomic_store(&self->logged, true);
}

static void closing_inside_a_callback_is_refused_and_logged(void **state) {
    (void)state;
    closer self = {.over = false};
    self.client = open_with(&(lk_client_options){.log = hear_log, .log_arg = &self});
    lk_lock *lock = handle_of(self.client, "a:close");
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, close_inside, &self));
    assert_eventually(atomic_load(&self.over));
    assert_eventually(atomic_load(&self.logged));
    assert_true(lk_valid(lock));
    assert_ok(lk_wrunlock(lock));
    lk_lock_free(lock);
    lk_close(self.client);
}

/* ------------------------------------------------------------------------------ allowed */

enum { CHAIN = 1000 };

typedef struct {
    int links;
    atomic_int status;
    atomic_bool over;
} chain;

static void chain_given(lk_lock *, lk_status, void *);

static void chain_taken(lk_lock *lock, lk_status status, void *arg) {
    chain *self = arg;
    if (status == LK_OK)
        status = lk_release_async(lock, LK_WRITE, chain_given, self);
    if (status != LK_OK) {
        atomic_store(&self->status, (int)status);
        atomic_store(&self->over, true);
    }
}

static void chain_given(lk_lock *lock, lk_status status, void *arg) {
    chain *self = arg;
    if (status == LK_OK && ++self->links < CHAIN)
        status = lk_acquire_async(lock, LK_WRITE, -1, chain_taken, self);
    if (status != LK_OK || self->links == CHAIN) {
        atomic_store(&self->status, (int)status);
        atomic_store(&self->over, true);
    }
}

static void callbacks_begin_the_next_operation_a_thousand_times(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "a:chain");
    chain self = {.status = LK_INTERNAL};
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, chain_taken, &self));
    assert_eventually(atomic_load(&self.over));
    assert_int_equal(atomic_load(&self.status), LK_OK);
    assert_int_equal(self.links, CHAIN);
    assert_nothing_left();
    lk_lock_free(lock);
    lk_close(client);
}

typedef struct {
    lk_client *client;
    lk_status canceled, made;
    bool valid;
    int64_t left_ms;
    uint64_t fence;
    lk_lock *fresh;
    atomic_bool over;
} questions;

static void ask_everything(lk_lock *lock, lk_status status, void *arg) {
    questions *self = arg;
    (void)status;
    self->canceled = lk_cancel(lock);
    self->made = lk_lock_new(self->client, "a:fresh", NULL, &self->fresh);
    self->valid = lk_valid(lock) && !lk_abandoned(lock) && lk_owner(lock);
    self->left_ms = lk_remaining_ms(lock);
    self->fence = lk_fence(lock);
    atomic_store(&self->over, true);
}

static void calls_that_do_not_block_work(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "a:ask");
    questions self = {.client = client, .canceled = LK_INTERNAL, .made = LK_INTERNAL};
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, ask_everything, &self));
    assert_eventually(atomic_load(&self.over));
    assert_int_equal(self.canceled, LK_OK);
    assert_int_equal(self.made, LK_OK);
    assert_true(self.valid);
    assert_true(self.left_ms > 0);
    assert_true(self.fence == lk_fence(lock));
    free_handles((lk_lock *[]){lock, self.fresh}, 2);
    lk_close(client);
}

typedef struct {
    atomic_bool may_free; /* nobody else uses the handle any more */
    atomic_int freed;
    tally others;
} freeing;

static void free_it(lk_lock *lock, lk_status status, void *arg) {
    freeing *self = arg;
    (void)status;
    while (!atomic_load(&self->may_free))
        pause_ms(1);
    lk_lock_free(lock);
    atomic_fetch_add(&self->freed, 1);
}

static void a_callback_may_free_its_handle(void **state) {
    (void)state;
    enum { HANDLES = 50 };
    lk_client *client = open_client();
    freeing self = {.may_free = true};
    for (int i = 0; i < HANDLES; i++)
        assert_ok(lk_acquire_async(handle_of(client, "a:free"), LK_WRITE, -1, free_it, &self));
    assert_eventually(atomic_load(&self.freed) == HANDLES);
    assert_eventually(world_key_count() == 0);
    lk_close(client);
}

static void freeing_inside_a_callback_ends_the_operations_behind_it(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *holder = handle_of(client, "a:free-2"), *lock = handle_of(client, "a:free-2");
    freeing self = {.may_free = false};
    assert_ok(lk_wrlock(holder));
    assert_ok(lk_acquire_async(lock, LK_READ, 0, free_it, &self)); /* busy */
    for (int i = 0; i < 3; i++)
        assert_ok(lk_acquire_async(lock, LK_WRITE, -1, tally_done, &self.others));
    atomic_store(&self.may_free, true);
    assert_eventually(atomic_load(&self.others.count) == 3);
    assert_int_equal(atomic_load(&self.others.with[LK_CANCELED]), 3);
    assert_int_equal(atomic_load(&self.freed), 1);
    assert_ok(lk_wrunlock(holder));
    assert_eventually(world_key_count() == 0);
    lk_lock_free(holder);
    lk_close(client);
    assert_int_equal(atomic_load(&self.others.count), 3);
}

typedef struct {
    char text[512];
    atomic_bool over;
} sentence;

static void keep_sentence(lk_lock *lock, lk_status status, void *arg) {
    sentence *self = arg;
    (void)lock, (void)status;
    snprintf(self->text, sizeof self->text, "%s", lk_last_error());
    atomic_store(&self->over, true);
}

static void the_last_error_is_that_of_the_operation(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *holder = handle_of(client, "a:error-1");
    lk_lock *locks[] = {handle_of(client, "a:error-1"), handle_of(client, "a:error-2")};
    sentence sentences[2] = {{.over = false}, {.over = false}};
    assert_ok(lk_wrlock(holder));
    assert_ok(lk_acquire_async(locks[0], LK_WRITE, 0, keep_sentence, &sentences[0]));
    assert_ok(lk_release_async(locks[1], LK_READ, keep_sentence, &sentences[1]));
    for (size_t i = 0; i < 2; i++)
        assert_eventually(atomic_load(&sentences[i].over));
    assert_says(sentences[0].text, "a:error-1");
    assert_says(sentences[1].text, "a:error-2");
    lk_lock_free(holder);
    free_handles(locks, 2);
    lk_close(client);
}

/* ------------------------------------------------------------------------------ losses */

typedef struct {
    lk_lock *_Atomic lock;
    lk_status status, begun, blocked;
    pthread_t thread;
    atomic_int losses;
    tally again;
    pthread_t done_thread;
    atomic_bool done;
} loss;

static void note_thread(lk_lock *lock, lk_status status, void *arg) {
    loss *self = arg;
    (void)lock, (void)status;
    self->done_thread = pthread_self();
    atomic_store(&self->done, true);
}

static void take_again(lk_lock *lock, void *arg) {
    loss *self = arg;
    self->thread = pthread_self();
    self->blocked = lk_trywrlock(lock);
    self->status = lk_wrunlock(lock); /* of a lost hold: does not block */
    self->begun = lk_acquire_async(lock, LK_WRITE, -1, tally_done, &self->again);
    atomic_store(&self->lock, lock);
    atomic_fetch_add(&self->losses, 1);
}

static void a_loss_is_told_on_the_callback_thread_and_the_lock_taken_again(void **state) {
    (void)state;
    lk_client *client = open_client();
    loss self = {.status = LK_INTERNAL};
    lk_lock_options options = {.lease_ms = 200, .on_lost = take_again, .on_lost_arg = &self};
    lk_lock *lock = handle_with(client, "a:lost", &options);
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, note_thread, &self));
    assert_eventually(atomic_load(&self.done));
    assert_ok(lk_force_release(client, "a:lost", NULL));
    assert_eventually(atomic_load(&self.losses) == 1);
    assert_ptr_equal(atomic_load(&self.lock), lock);
    assert_true(pthread_equal(self.thread, self.done_thread));
    assert_int_equal(self.blocked, LK_INVALID);
    assert_int_equal(self.status, LK_LOST);
    assert_int_equal(self.begun, LK_OK);
    assert_eventually(atomic_load(&self.again.count) == 1);
    assert_int_equal(atomic_load(&self.again.status), LK_OK);
    assert_true(lk_valid(lock));
    assert_ok(lk_force_release(client, "a:lost", NULL)); /* a second loss is told too */
    assert_eventually(atomic_load(&self.losses) == 2);
    lk_close(client);
    lk_lock_free(lock);
}

static void operations_on_a_lost_handle_say_so_until_it_is_given_back(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_leased(client, "a:lost-2", 200);
    tally done = {0};
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_force_release(client, "a:lost-2", NULL));
    assert_eventually(!lk_valid(lock));
    assert_ok(lk_acquire_async(lock, LK_READ, -1, tally_done, &done));
    assert_ok(lk_release_async(lock, LK_WRITE, tally_done, &done));
    assert_ok(lk_acquire_async(lock, LK_READ, -1, tally_done, &done));
    assert_eventually(atomic_load(&done.count) == 3);
    assert_int_equal(atomic_load(&done.with[LK_LOST]), 2);
    assert_int_equal(atomic_load(&done.status), LK_OK);
    lk_lock_free(lock);
    lk_close(client);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(calls_that_block_are_refused),
        world_test(closing_inside_a_callback_is_refused_and_logged),
        world_test(callbacks_begin_the_next_operation_a_thousand_times),
        world_test(calls_that_do_not_block_work),
        world_test(a_callback_may_free_its_handle),
        world_test(freeing_inside_a_callback_ends_the_operations_behind_it),
        world_test(the_last_error_is_that_of_the_operation),
        world_test(a_loss_is_told_on_the_callback_thread_and_the_lock_taken_again),
        world_test(operations_on_a_lost_handle_say_so_until_it_is_given_back),
    };
    return world_main(argc, argv, tests);
}
