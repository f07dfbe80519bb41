/* Closing clients and freeing locks while they hold, wait or have calls pending. */
#include "world.h"

#include <dirent.h>

/* ------------------------------------------------------------------------------ lk_close */

TEST(nothing_may_be_closed_and_freed) {
    lk_close(NULL);
    lk_lock_free(NULL);
    lk_info_free(NULL);
}

TEST(closing_cancels_the_callers_that_wait) {
    enum { CALLERS = 8 };
    lk_client *holder = open_client(), *client = open_client();
    lk_lock *held = new_lock(holder, "c:callers"), *locks[CALLERS];
    call callers[CALLERS + 2];
    assert_ok(lk_wrlock(held));
    for (size_t i = 0; i < CALLERS; i++) {
        locks[i] = new_lock(client, "c:callers");
        begin_lock(&callers[i], locks[i], i % 2 ? LK_READ : LK_WRITE, i % 3 ? -1 : 60000);
    }
    eventually(look_at(holder, "c:callers").waiters == CALLERS);
    begin_call(&callers[CALLERS], lk_wrlock, locks[0]); /* two more of one handle */
    begin_call(&callers[CALLERS + 1], lk_rdlock, locks[0]);
    sleep_ms(20); /* they may also come too late */
    close_bounded(client);
    for (size_t i = 0; i < CALLERS; i++)
        assert_call(&callers[i], LK_CANCELED);
    for (size_t i = CALLERS; i < CALLERS + 2; i++) {
        lk_status status = end_call(&callers[i]);
        assert_true(status == LK_CANCELED || status == LK_INVALID);
    }
    assert_int_equal(look_at(holder, "c:callers").waiters, 0);
    free_locks(locks, CALLERS);
    assert_ok(lk_wrunlock(held));
    assert_nothing_left();
}

TEST(closing_calls_every_callback_once_before_it_returns) {
    enum { HANDLES = 20, EACH = 3 };
    lk_client *holder = open_client(), *client = open_client();
    lk_lock *held = new_lock(holder, "c:async"), *locks[HANDLES];
    tally done = {0};
    assert_ok(lk_wrlock(held));
    for (size_t i = 0; i < HANDLES; i++) {
        locks[i] = new_lock(client, "c:async");
        for (int j = 0; j < EACH; j++)
            assert_ok(lk_acquire_async(locks[i], LK_WRITE, -1, tally_done, &done));
    }
    eventually(look_at(holder, "c:async").waiters == HANDLES);
    close_bounded(client);
    assert_int_equal(atomic_load(&done.count), HANDLES * EACH);
    assert_int_equal(atomic_load(&done.with[LK_CANCELED]), HANDLES * EACH);
    free_locks(locks, HANDLES);
    assert_ok(lk_wrunlock(held));
    assert_nothing_left();
    assert_int_equal(atomic_load(&done.count), HANDLES * EACH);
}

TEST(closing_right_after_beginning_loses_no_callback) {
    for (int round = 0; round < 50; round++) {
        enum { HANDLES = 10 };
        lk_client *client = open_client();
        lk_lock *locks[HANDLES];
        tally done = {0};
        for (size_t i = 0; i < HANDLES; i++) {
            locks[i] = new_lock(client, "c:rush");
            assert_ok(lk_acquire_async(locks[i], i % 2 ? LK_READ : LK_WRITE, (int64_t)i - 1,
                                       tally_done, &done));
        }
        close_bounded(client);
        assert_int_equal(atomic_load(&done.count), HANDLES);
        assert_nothing_left();
        free_locks(locks, HANDLES);
    }
}

TEST(closing_gives_back_what_handles_hold) {
    lk_client *client = open_client(), *next = open_client();
    lk_lock *locks[] = {new_lock(client, "c:hold-1"), new_lock(client, "c:hold-2"),
                        new_lock(client, "c:hold-3")};
    lk_lock *after[] = {new_lock(next, "c:hold-1"), new_lock(next, "c:hold-2"),
                        new_lock(next, "c:hold-3")};
    call waiter;
    for (int i = 0; i < 3; i++)
        assert_ok(lk_wrlock(locks[0]));
    for (int i = 0; i < 2; i++)
        assert_ok(lk_rdlock(locks[1]));
    assert_ok(lk_wrlock(locks[2]));
    assert_ok(lk_rdlock(locks[2]));
    begin_wait(&waiter, after[0], LK_WRITE, next, "c:hold-1", 1);
    close_bounded(client);
    assert_call(&waiter, LK_OK);
    assert_ok(lk_trywrlock(after[1]));
    assert_ok(lk_trywrlock(after[2]));
    for (size_t i = 0; i < 3; i++) {
        assert_false(lk_abandoned(after[i]));
        assert_false(lk_valid(locks[i]));
    }
    free_locks(locks, 3);
    free_locks(after, 3);
    close_client(next);
    assert_nothing_left();
}

static void count_calls(lk_lock *lock, lk_status status, void *arg) {
    (void)lock, (void)status;
    atomic_fetch_add((atomic_int *)arg, 1);
}

TEST(handles_of_a_closed_client_say_that_it_is) {
    lk_client *client = open_client();
    lk_lock *lock = new_lock(client, "c:after");
    atomic_int called = 0;
    assert_ok(lk_wrlock(lock));
    char *owner = world_print("%s", lk_owner(lock));
    close_bounded(client);
    assert_status(lk_rdlock(lock), LK_INVALID);
    assert_said("closed");
    assert_said("c:after");
    assert_status(lk_tryrdlock(lock), LK_INVALID);
    assert_status(lk_timedrdlock(lock, 10), LK_INVALID);
    assert_status(lk_wrlock(lock), LK_INVALID);
    assert_status(lk_trywrlock(lock), LK_INVALID);
    assert_status(lk_timedwrlock(lock, 10), LK_INVALID);
    assert_status(lk_rdunlock(lock), LK_INVALID);
    assert_status(lk_wrunlock(lock), LK_INVALID);
    assert_status(lk_downgrade(lock), LK_INVALID);
    assert_status(lk_renew(lock, 0), LK_INVALID);
    assert_status(lk_cancel(lock), LK_INVALID);
    assert_status(lk_acquire_async(lock, LK_READ, 0, count_calls, &called), LK_INVALID);
    assert_status(lk_release_async(lock, LK_READ, count_calls, &called), LK_INVALID);
    assert_false(lk_valid(lock));
    assert_int_equal(lk_remaining_ms(lock), 0);
    assert_string_equal(lk_owner(lock), owner);
    free_lock(lock);
    assert_int_equal(atomic_load(&called), 0);
    assert_nothing_left();
}

/* A lost hold stays until it is unlocked; a closed client has nothing to unlock. */
TEST(a_lost_hold_of_a_closed_client_has_no_fence_and_no_mark) {
    lk_client *client = open_client(), *other = open_client();
    lk_lock *lock = new_lock(client, "c:lost");
    ask_at_end("FLUSHALL"); /* the mark stays */
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_force_release(other, "c:lost", NULL));
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_ok(lk_wrlock(lock)); /* after a writer that was lost */
    uint64_t fence = lk_fence(lock);
    assert_ok(lk_force_release(other, "c:lost", NULL));
    assert_status(lk_renew(lock, 0), LK_LOST);
    assert_true(fence > 0 && lk_fence(lock) == fence);
    assert_true(lk_abandoned(lock));
    close_bounded(client);
    assert_true(lk_fence(lock) == 0);
    assert_false(lk_abandoned(lock));
    assert_int_equal(lk_writes(lock), 0);
}

TEST(closing_does_not_tell_of_a_loss) {
    lk_client *client = open_client();
    atomic_int lost = 0;
    lk_lock *lock = new_watched_lock(client, "c:no-loss", 0, &lost);
    assert_ok(lk_wrlock(lock));
    close_bounded(client);
    assert_int_equal(atomic_load(&lost), 0);
}

TEST(closing_gives_back_a_hold_however_deep_it_nests) {
    enum { DEEP = 16000 };
    /* Too short for so many releases, but the server answers each of them. */
    lk_client *client = open_client_with(&(lk_client_options){.command_timeout_ms = 1000});
    lk_client *next = open_client();
    lk_lock *locks[] = {new_lock(client, "c:deep"), new_lock(next, "c:deep")};
    for (int i = 0; i < DEEP; i++)
        assert_ok(lk_rdlock(locks[0]));
    close_bounded(client);
    assert_ok(lk_trywrlock(locks[1]));
}

/* The close gives up in time, and leaks nothing: a leak checker would see it. */
TEST(closing_does_not_hang_on_a_server_that_is_silent) {
    for (int round = 0; round < 2; round++) {
        lk_client *client = open_client_with(&(lk_client_options){.command_timeout_ms = 1000});
        lk_lock *locks[] = {new_leased_lock(client, "c:silent", 200),
                            new_lock(client, "c:silent-2")};
        tally done = {0};
        for (int i = 0; i < 10; i++)
            assert_ok(lk_wrlock(locks[0]));
        kill(test_server_pid(server), SIGSTOP);
        lk_status begun = lk_acquire_async(locks[1], LK_WRITE, -1, tally_done, &done);
        if (round)
            free_lock(locks[0]);
        close_client(client);
        kill(test_server_pid(server), SIGCONT);
        assert_int_equal(begun, LK_OK);
        assert_int_equal(atomic_load(&done.count), 1);
        if (!round)
            free_lock(locks[0]);
        free_lock(locks[1]);
    }
}

static atomic_bool is_continued;

static void *continue_server_later(void *wait_ms) {
    sleep_ms(*(const int64_t *)wait_ms);
    atomic_store(&is_continued, true);
    kill(test_server_pid(server), SIGCONT);
    return NULL;
}

static void *renew_lock(void *lock) {
    lk_renew(lock, 0);
    return NULL;
}

/* An operation that times out is not a sign of life of the server. */
TEST(closing_takes_no_longer_when_a_call_times_out_meanwhile) {
    enum { TIMEOUT_MS = 1500 };
    int64_t silence_ms = 2 * TIMEOUT_MS - TIMEOUT_MS / 5;
    lk_client *client = open_client_with(&(lk_client_options){.command_timeout_ms = TIMEOUT_MS});
    lk_lock *locks[] = {new_lock(client, "c:renewed"), new_lock(client, "c:held")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_wrlock(locks[1]));
    atomic_store(&is_continued, false);
    kill(test_server_pid(server), SIGSTOP);
    pthread_t renewing = thread_start(renew_lock, locks[0]);
    sleep_ms(TIMEOUT_MS / 5); /* so that it times out in the midst of the close */
    pthread_t continuing = thread_start(continue_server_later, &silence_ms);
    close_client(client);
    bool was_too_long = atomic_load(&is_continued);
    thread_join(continuing);
    thread_join(renewing);
    free_locks(locks, 2);
    assert_false(was_too_long);
}

/* ------------------------------------------------------------------------------ beside lk_list */

typedef struct {
    lk_client *client;
    lk_status status;
} lister;

static bool hear_name(const char *name, void *arg) {
    (void)name, (void)arg;
    return true;
}

static void *list_all(void *context) {
    lister *self = context;
    self->status = lk_list(self->client, NULL, hear_name, NULL);
    return NULL;
}

static bool server_has_scanned(void) {
    redisReply *reply = ask_reply("INFO commandstats");
    return strstr(reply->str, "cmdstat_scan:");
}

/*
 * A listing sends many requests. The client is not freed between two of them: a sanitizer would see
 * it.
 */
TEST(a_listing_is_one_call_to_whoever_closes) {
    enum { ROUNDS = 20 };
    ask("EVAL %s 0", "for i = 1, 20000 do redis.call('SET', 'lk:{n' .. i .. '}', '') end");
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread;
        lister self = {.client = open_client()};
        ask("CONFIG RESETSTAT");
        assert_int_equal(pthread_create(&thread, NULL, list_all, &self), 0);
        eventually(server_has_scanned());
        close_bounded(self.client);
        pthread_join(thread, NULL);
        if (self.status != LK_OK)
            assert_status(self.status, LK_CANCELED);
    }
    ask("FLUSHALL");
}

/* ------------------------------------------------------------------------------ pthread_cancel */

static void *wait_to_write(void *lock) {
    return lk_wrlock(lock) == LK_OK ? lock : NULL;
}

TEST(a_thread_that_is_canceled_ends_when_its_call_has_returned) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "c:pc"), new_lock(client, "c:pc"),
                        new_lock(client, "c:pc-2")};
    pthread_t thread;
    assert_ok(lk_wrlock(locks[0]));
    assert_int_equal(pthread_create(&thread, NULL, wait_to_write, locks[1]), 0);
    eventually(look_at(client, "c:pc").waiters == 1);
    pthread_cancel(thread);
    assert_ok(lk_wrlock(locks[2])); /* the client serves other calls */
    assert_ok(lk_wrunlock(locks[0]));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(lk_valid(locks[1]));
    free_locks(locks, 3);
    close_bounded(client);
}

/* The cancellation is pending from the start: the first cancellation point would end the thread. */
static void *canceled_from_the_start(void *returned) {
    lk_defaults *defaults = NULL;
    lk_local_info *info = NULL;
    pthread_cancel(pthread_self());
    int before;
    bool all = lk_defaults_read(&defaults) == LK_OK && lk_local_status(&info) == LK_OK &&
               lk_local_stop(NULL) == LK_OK;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    lk_defaults_free(defaults);
    lk_local_info_free(info);
    atomic_store((atomic_bool *)returned, all);
    return NULL;
}

TEST(a_call_without_a_client_is_not_canceled_halfway) {
    char folder[] = "/tmp/latchkey-cancel-XXXXXX";
    atomic_bool returned = false;
    pthread_t thread;
    assert_non_null(mkdtemp(folder));
    setenv("LATCHKEY_LOCAL_DIR", folder, 1);
    assert_int_equal(pthread_create(&thread, NULL, canceled_from_the_start, &returned), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    unsetenv("LATCHKEY_LOCAL_DIR");
    assert_true(atomic_load(&returned));
    char *lock_file = test_print("%s/start.lock", folder);
    unlink(lock_file);
    free(lock_file);
    assert_int_equal(rmdir(folder), 0);
}

/* ------------------------------------------------------------------------------ lk_lock_free */

TEST(freeing_a_handle_gives_back_what_it_holds) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "c:free"), new_lock(client, "c:free")};
    call waiter;
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_rdlock(locks[0]));
    begin_wait(&waiter, locks[1], LK_WRITE, client, "c:free", 1);
    free_lock(locks[0]);
    assert_call(&waiter, LK_OK);
    assert_false(lk_abandoned(locks[1]));
    free_lock(locks[1]);
    eventually(is_empty());
}

TEST(freeing_a_handle_cancels_the_callers_that_wait_on_it) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "c:free-wait"), new_lock(client, "c:free-wait")};
    call waiter;
    assert_ok(lk_wrlock(locks[0]));
    begin_wait(&waiter, locks[1], LK_WRITE, client, "c:free-wait", 1);
    free_lock(locks[1]);
    assert_call(&waiter, LK_CANCELED);
    eventually(look_at(client, "c:free-wait").waiters == 0);
    assert_ok(lk_wrunlock(locks[0]));
    assert_nothing_left();
}

TEST(freeing_a_handle_calls_its_callbacks_before_it_returns) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "c:free-async"), new_lock(client, "c:free-async")};
    tally done = {0};
    assert_ok(lk_wrlock(locks[0]));
    for (int i = 0; i < 3; i++)
        assert_ok(lk_acquire_async(locks[1], LK_WRITE, -1, tally_done, &done));
    eventually(look_at(client, "c:free-async").waiters == 1);
    free_lock(locks[1]);
    assert_int_equal(atomic_load(&done.count), 3);
    assert_int_equal(atomic_load(&done.with[LK_CANCELED]), 3);
    assert_ok(lk_wrunlock(locks[0]));
    eventually(is_empty());
    free_lock(locks[0]);
    close_client(client);
    assert_int_equal(atomic_load(&done.count), 3);
}

TEST(a_freed_handle_is_told_of_no_loss) {
    lk_client *client = open_client();
    atomic_int lost = 0;
    lk_lock_options options = {
        .lease_ms = 100, .manual_renew = true, .on_lost = count_loss, .on_lost_arg = &lost};
    lk_lock *lock = new_lock_with(client, "c:free-lost", &options);
    assert_ok(lk_wrlock(lock));
    free_lock(lock);
    lk_lock *other = new_lock(client, "c:free-lost");
    assert_ok(lk_wrlock(other));
    sleep_ms(200);
    free_lock(other);
    close_client(client);
    assert_int_equal(atomic_load(&lost), 0);
}

/* ------------------------------------------------------------------------------ leaks */

static int entries_of(const char *folder) {
    DIR *open_folder = opendir(folder);
    int count = 0;
    assert_non_null(open_folder);
    while (readdir(open_folder))
        count++;
    closedir(open_folder);
    return count;
}

static void use_and_close(void) {
    lk_client *client = open_client();
    lk_lock *locks[] = {new_lock(client, "c:leak"), new_lock(client, "c:leak")};
    tally done = {0};
    assert_ok(lk_wrlock(locks[0]));
    assert_status(lk_timedwrlock(locks[1], 1), LK_TIMEOUT);
    assert_ok(lk_release_async(locks[0], LK_WRITE, tally_done, &done));
    free_locks(locks, 2);
    close_client(client);
    assert_int_equal(atomic_load(&done.count), 1);
}

TEST(opening_and_closing_leaks_no_descriptor_and_no_thread) {
    use_and_close();
    int descriptors = entries_of("/proc/self/fd"), threads = entries_of("/proc/self/task");
    for (int i = 0; i < 200; i++)
        use_and_close();
    assert_int_equal(entries_of("/proc/self/fd"), descriptors);
    eventually(entries_of("/proc/self/task") == threads); /* a joined thread may still be listed */
    assert_nothing_left();
}

TEST(opening_in_vain_leaks_no_descriptor_and_no_thread) {
    char *url = world_print("%s-that-nobody-has", server_url);
    lk_client *client = NULL;
    assert_status(lk_open(url, NULL, &client), LK_UNAVAILABLE);
    int descriptors = entries_of("/proc/self/fd"), threads = entries_of("/proc/self/task");
    for (int i = 0; i < 50; i++)
        assert_status(lk_open(url, NULL, &client), LK_UNAVAILABLE);
    assert_int_equal(entries_of("/proc/self/fd"), descriptors);
    eventually(entries_of("/proc/self/task") == threads);
}

int main(void) {
    return world_run(begin_world);
}
