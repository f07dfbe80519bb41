/* Inside a callback: the calls that user code may make, and those that are refused. */
#include "world.h"

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

TEST(calls_that_block_are_refused) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "a:block");
    attempts self = {.client = client, .other = new_lock(client, "a:block-2")};
    for (int i = 0; i < BLOCKING; i++)
        self.statuses[i] = LK_OK;
    assert_ok(lk_wrlock(self.other));
    assert_ok(lk_acquire_async(lock, LK_READ, -1, try_to_block, &self));
    eventually(atomic_load(&self.over));
    for (int i = 0; i < BLOCKING; i++)
        assert_int_equal(self.statuses[i], LK_INVALID);
    assert_null(self.info);
    assert_true(self.all_explained);
    assert_true(lk_valid(lock) && lk_valid(self.other));
    assert_ok(lk_rdunlock(lock));
    assert_status(lk_rdunlock(lock), LK_NOT_HELD); /* none of the calls took anything */
    assert_ok(lk_wrunlock(self.other));
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

TEST(closing_inside_a_callback_is_refused_and_logged) {
    closer self = {.over = false};
    self.client = open_client_with(&(lk_client_options){.log = hear_log, .log_arg = &self});
    lk_lock *lock = new_lock(self.client, "a:close");
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, close_inside, &self));
    eventually(atomic_load(&self.over));
    eventually(atomic_load(&self.logged));
    assert_true(lk_valid(lock));
    assert_ok(lk_wrunlock(lock));
    close_client(self.client);
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

TEST(callbacks_begin_the_next_operation_a_thousand_times) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "a:chain");
    chain self = {.status = LK_INTERNAL};
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, chain_taken, &self));
    eventually(atomic_load(&self.over));
    assert_int_equal(atomic_load(&self.status), LK_OK);
    assert_int_equal(self.links, CHAIN);
    assert_nothing_left();
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

TEST(calls_that_do_not_block_work) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "a:ask");
    questions self = {.client = client, .canceled = LK_INTERNAL, .made = LK_INTERNAL};
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, ask_everything, &self));
    eventually(atomic_load(&self.over));
    assert_int_equal(self.canceled, LK_OK);
    assert_int_equal(self.made, LK_OK);
    assert_true(self.valid);
    assert_true(self.left_ms > 0);
    assert_true(self.fence == lk_fence(lock));
    free_lock(self.fresh);
}

typedef struct {
    atomic_bool may_free; /* no other thread uses the lock any more */
    atomic_int freed;
    tally others;
} freeing;

static void free_it(lk_lock *lock, lk_status status, void *arg) {
    freeing *self = arg;
    (void)status;
    while (!atomic_load(&self->may_free))
        sleep_ms(1);
    free_lock(lock);
    atomic_fetch_add(&self->freed, 1);
}

TEST(a_callback_may_free_its_handle) {
    enum { HANDLES = 50 };
    lk_client *client = open_client();
    freeing self = {.may_free = true};
    for (int i = 0; i < HANDLES; i++)
        assert_ok(lk_acquire_async(new_lock(client, "a:free"), LK_WRITE, -1, free_it, &self));
    eventually(atomic_load(&self.freed) == HANDLES);
    eventually(is_empty());
}

TEST(freeing_inside_a_callback_ends_the_operations_behind_it) {
    lk_client *client = open_client();
    lk_lock *holder = new_lock(client, "a:free-2"), *lock = new_lock(client, "a:free-2");
    freeing self = {.may_free = false};
    assert_ok(lk_wrlock(holder));
    assert_ok(lk_acquire_async(lock, LK_READ, 0, free_it, &self)); /* busy */
    for (int i = 0; i < 3; i++)
        assert_ok(lk_acquire_async(lock, LK_WRITE, -1, tally_done, &self.others));
    atomic_store(&self.may_free, true);
    eventually(atomic_load(&self.others.count) == 3);
    assert_int_equal(atomic_load(&self.others.with[LK_CANCELED]), 3);
    assert_int_equal(atomic_load(&self.freed), 1);
    assert_ok(lk_wrunlock(holder));
    eventually(is_empty());
    free_lock(holder);
    close_client(client);
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

TEST(the_last_error_is_that_of_the_operation) {
    lk_client *client = open_client();
    lk_lock *holder = new_lock(client, "a:error-1");
    lk_lock *locks[] = {new_lock(client, "a:error-1"), new_lock(client, "a:error-2")};
    sentence sentences[2] = {{.over = false}, {.over = false}};
    assert_ok(lk_wrlock(holder));
    assert_ok(lk_acquire_async(locks[0], LK_WRITE, 0, keep_sentence, &sentences[0]));
    assert_ok(lk_release_async(locks[1], LK_READ, keep_sentence, &sentences[1]));
    for (size_t i = 0; i < 2; i++)
        eventually(atomic_load(&sentences[i].over));
    assert_says(sentences[0].text, "a:error-1");
    assert_says(sentences[1].text, "a:error-2");
}

/* The server refuses at first, and grants then: the callback finds nothing of the refusal. */
TEST(an_operation_that_succeeds_in_the_end_has_no_last_error) {
    fake_server *fake = start_fake();
    lk_client *client = open_client_at(fake_server_socket(fake), PATIENT_MS);
    lk_lock *lock = new_lock(client, "a:late");
    sentence told = {.text = "?", .over = false};
    fake_server_on(fake, "EVALSHA", 2, "-LOADING Redis is loading the dataset in memory\r\n");
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, keep_sentence, &told));
    eventually(atomic_load(&told.over));
    assert_string_equal(told.text, "");
    assert_ok(lk_wrunlock(lock));
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

TEST(a_loss_is_told_on_the_callback_thread_and_the_lock_taken_again) {
    lk_client *client = open_client();
    loss self = {.status = LK_INTERNAL};
    lk_lock_options options = {.lease_ms = 200, .on_lost = take_again, .on_lost_arg = &self};
    lk_lock *lock = new_lock_with(client, "a:lost", &options);
    assert_ok(lk_acquire_async(lock, LK_WRITE, -1, note_thread, &self));
    eventually(atomic_load(&self.done));
    assert_ok(lk_force_release(client, "a:lost", NULL));
    eventually(atomic_load(&self.losses) == 1);
    assert_ptr_equal(atomic_load(&self.lock), lock);
    assert_true(pthread_equal(self.thread, self.done_thread));
    assert_int_equal(self.blocked, LK_INVALID);
    assert_int_equal(self.status, LK_LOST);
    assert_int_equal(self.begun, LK_OK);
    eventually(atomic_load(&self.again.count) == 1);
    assert_int_equal(atomic_load(&self.again.status), LK_OK);
    assert_true(lk_valid(lock));
    assert_ok(lk_force_release(client, "a:lost", NULL)); /* a second loss is told too */
    eventually(atomic_load(&self.losses) == 2);
    close_client(client); /* the lock is being taken again */
}

TEST(operations_on_a_lost_handle_say_so_until_it_is_given_back) {
    lk_client *client = open_client();
    lk_lock *lock = new_leased_lock(client, "a:lost-2", 200);
    tally done = {0};
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_force_release(client, "a:lost-2", NULL));
    eventually(!lk_valid(lock));
    assert_ok(lk_acquire_async(lock, LK_READ, -1, tally_done, &done));
    assert_ok(lk_release_async(lock, LK_WRITE, tally_done, &done));
    assert_ok(lk_acquire_async(lock, LK_READ, -1, tally_done, &done));
    eventually(atomic_load(&done.count) == 3);
    assert_int_equal(atomic_load(&done.with[LK_LOST]), 2);
    assert_int_equal(atomic_load(&done.status), LK_OK);
}

int main(void) {
    return world_run(begin_world);
}
