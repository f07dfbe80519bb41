/* Ending: clients that close, handles that are freed, with whatever is under way. */
#include "world.h"

#include <dirent.h>

/* ------------------------------------------------------------------------------ lk_close */

static void *close_in_a_thread(void *context) {
    lk_close(context);
    return NULL;
}

/* A close that hangs is to fail the test, and not to hang it. */
static void close_bounded(lk_client *client) {
    thread_join(thread_start(close_in_a_thread, client));
}

static void nothing_may_be_closed_and_freed(void **state) {
    (void)state;
    lk_close(NULL);
    lk_lock_free(NULL);
    lk_info_free(NULL);
}

static void closing_cancels_the_callers_that_wait(void **state) {
    (void)state;
    enum { CALLERS = 8 };
    lk_client *holder = open_client(), *client = open_client();
    lk_lock *held = handle_of(holder, "c:callers"), *locks[CALLERS];
    taker callers[CALLERS + 2];
    assert_ok(lk_wrlock(held));
    for (size_t i = 0; i < CALLERS; i++) {
        locks[i] = handle_of(client, "c:callers");
        taker_start(&callers[i], locks[i], i % 2 ? LK_READ : LK_WRITE, i % 3 ? -1 : 60000);
    }
    assert_eventually(waiter_total(holder, "c:callers") == CALLERS);
    taker_start(&callers[CALLERS], locks[0], LK_WRITE, -1); /* two more of one handle */
    taker_start(&callers[CALLERS + 1], locks[0], LK_READ, -1);
    pause_ms(20); /* they may also come too late */
    close_bounded(client);
    for (size_t i = 0; i < CALLERS; i++)
        assert_status(taker_join(&callers[i]), LK_CANCELED);
    for (size_t i = CALLERS; i < CALLERS + 2; i++) {
        lk_status status = taker_join(&callers[i]);
        assert_true(status == LK_CANCELED || status == LK_INVALID);
    }
    assert_int_equal(waiter_total(holder, "c:callers"), 0);
    free_handles(locks, CALLERS);
    assert_ok(lk_wrunlock(held));
    assert_nothing_left();
    lk_lock_free(held);
    lk_close(holder);
}

static void closing_calls_every_callback_once_before_it_returns(void **state) {
    (void)state;
    enum { HANDLES = 20, EACH = 3 };
    lk_client *holder = open_client(), *client = open_client();
    lk_lock *held = handle_of(holder, "c:async"), *locks[HANDLES];
    tally done = {0};
    assert_ok(lk_wrlock(held));
    for (size_t i = 0; i < HANDLES; i++) {
        locks[i] = handle_of(client, "c:async");
        for (int j = 0; j < EACH; j++)
            assert_ok(lk_acquire_async(locks[i], LK_WRITE, -1, tally_done, &done));
    }
    assert_eventually(waiter_total(holder, "c:async") == HANDLES);
    close_bounded(client);
    assert_int_equal(atomic_load(&done.count), HANDLES * EACH);
    assert_int_equal(atomic_load(&done.with[LK_CANCELED]), HANDLES * EACH);
    free_handles(locks, HANDLES);
    assert_ok(lk_wrunlock(held));
    assert_nothing_left();
    assert_int_equal(atomic_load(&done.count), HANDLES * EACH);
    lk_lock_free(held);
    lk_close(holder);
}

static void closing_right_after_beginning_loses_no_callback(void **state) {
    (void)state;
    for (int round = 0; round < 50; round++) {
        enum { HANDLES = 10 };
        lk_client *client = open_client();
        lk_lock *locks[HANDLES];
        tally done = {0};
        for (size_t i = 0; i < HANDLES; i++) {
            locks[i] = handle_of(client, "c:rush");
            assert_ok(lk_acquire_async(locks[i], i % 2 ? LK_READ : LK_WRITE, (int64_t)i - 1,
                                       tally_done, &done));
        }
        close_bounded(client);
        assert_int_equal(atomic_load(&done.count), HANDLES);
        assert_nothing_left();
        free_handles(locks, HANDLES);
    }
}

static void closing_gives_back_what_handles_hold(void **state) {
    (void)state;
    lk_client *client = open_client(), *next = open_client();
    lk_lock *locks[] = {handle_of(client, "c:hold-1"), handle_of(client, "c:hold-2"),
                        handle_of(client, "c:hold-3")};
    lk_lock *after[] = {handle_of(next, "c:hold-1"), handle_of(next, "c:hold-2"),
                        handle_of(next, "c:hold-3")};
    taker waiter;
    for (int i = 0; i < 3; i++)
        assert_ok(lk_wrlock(locks[0]));
    for (int i = 0; i < 2; i++)
        assert_ok(lk_rdlock(locks[1]));
    assert_ok(lk_wrlock(locks[2]));
    assert_ok(lk_rdlock(locks[2]));
    taker_queue(&waiter, after[0], LK_WRITE, next, "c:hold-1", 1);
    close_bounded(client);
    assert_ok(taker_join(&waiter));
    assert_ok(lk_trywrlock(after[1]));
    assert_ok(lk_trywrlock(after[2]));
    for (size_t i = 0; i < 3; i++) {
        assert_false(lk_abandoned(after[i]));
        assert_false(lk_valid(locks[i]));
    }
    free_handles(locks, 3);
    free_handles(after, 3);
    lk_close(next);
    assert_nothing_left();
}

static void count_calls(lk_lock *lock, lk_status status, void *arg) {
    (void)lock, (void)status;
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void handles_of_a_closed_client_say_that_it_is(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *lock = handle_of(client, "c:after");
    atomic_int called = 0;
    assert_ok(lk_wrlock(lock));
    char *owner = test_print("%s", lk_owner(lock));
    close_bounded(client);
    assert_status(lk_rdlock(lock), LK_INVALID);
    assert_says(lk_last_error(), "closed");
    assert_says(lk_last_error(), "c:after");
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
    lk_lock_free(lock);
    assert_int_equal(atomic_load(&called), 0);
    assert_nothing_left();
    free(owner);
}

/* A lost hold stays until it is unlocked; a closed client has nothing to unlock. */
static void a_lost_hold_of_a_closed_client_has_no_fence_and_no_mark(void **state) {
    (void)state;
    lk_client *client = open_client(), *eye = open_client();
    lk_lock *lock = handle_of(client, "c:lost");
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_force_release(eye, "c:lost", NULL));
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_ok(lk_wrlock(lock)); /* after a writer that was lost */
    uint64_t fence = lk_fence(lock);
    assert_ok(lk_force_release(eye, "c:lost", NULL));
    assert_status(lk_renew(lock, 0), LK_LOST);
    assert_true(fence > 0 && lk_fence(lock) == fence);
    assert_true(lk_abandoned(lock));
    close_bounded(client);
    assert_true(lk_fence(lock) == 0);
    assert_false(lk_abandoned(lock));
    assert_int_equal(lk_writes(lock), 0);
    lk_lock_free(lock);
    lk_close(eye);
    world_do("FLUSHALL");
}

static void closing_does_not_tell_of_a_loss(void **state) {
    (void)state;
    lk_client *client = open_client();
    tally lost = {0};
    lk_lock_options options = {.on_lost = tally_lost, .on_lost_arg = &lost};
    lk_lock *lock = handle_with(client, "c:no-loss", &options);
    assert_ok(lk_wrlock(lock));
    close_bounded(client);
    assert_int_equal(atomic_load(&lost.losses), 0);
    lk_lock_free(lock);
}

static void closing_gives_back_a_hold_however_deep_it_nests(void **state) {
    (void)state;
    enum { DEEP = 16000 };
    /* Too short for so many releases, but the server answers each of them. */
    lk_client *client = open_with(&(lk_client_options){.command_timeout_ms = 1000});
    lk_client *next = open_client();
    lk_lock *locks[] = {handle_of(client, "c:deep"), handle_of(next, "c:deep")};
    for (int i = 0; i < DEEP; i++)
        assert_ok(lk_rdlock(locks[0]));
    close_bounded(client);
    assert_ok(lk_trywrlock(locks[1]));
    free_handles(locks, 2);
    lk_close(next);
}

/* Ends what it can in its time, and leaks nothing then either (a leak checker says so). */
static void closing_does_not_hang_on_a_server_that_is_silent(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++) {
        lk_client *client = open_with(&(lk_client_options){.command_timeout_ms = 1000});
        lk_lock *locks[] = {handle_leased(client, "c:silent", 200),
                            handle_of(client, "c:silent-2")};
        tally done = {0};
        for (int i = 0; i < 10; i++)
            assert_ok(lk_wrlock(locks[0]));
        kill(test_server_pid(world_server), SIGSTOP);
        lk_status begun = lk_acquire_async(locks[1], LK_WRITE, -1, tally_done, &done);
        if (round)
            lk_lock_free(locks[0]);
        lk_close(client);
        kill(test_server_pid(world_server), SIGCONT);
        assert_int_equal(begun, LK_OK);
        assert_int_equal(atomic_load(&done.count), 1);
        if (!round)
            lk_lock_free(locks[0]);
        lk_lock_free(locks[1]);
    }
}

static atomic_bool is_continued;

static void *continue_server_later(void *wait_ms) {
    pause_ms(*(const int64_t *)wait_ms);
    atomic_store(&is_continued, true);
    kill(test_server_pid(world_server), SIGCONT);
    return NULL;
}

static void *renew_lock(void *lock) {
    lk_renew(lock, 0);
    return NULL;
}

/* An operation that gives up is no sign that the server answers. */
static void closing_takes_no_longer_when_a_call_times_out_meanwhile(void **state) {
    (void)state;
    enum { TIMEOUT_MS = 1500 };
    int64_t silence_ms = 2 * TIMEOUT_MS - TIMEOUT_MS / 5;
    lk_client *client = open_with(&(lk_client_options){.command_timeout_ms = TIMEOUT_MS});
    lk_lock *locks[] = {handle_of(client, "c:renewed"), handle_of(client, "c:held")};
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_wrlock(locks[1]));
    atomic_store(&is_continued, false);
    kill(test_server_pid(world_server), SIGSTOP);
    pthread_t renewing = thread_start(renew_lock, locks[0]);
    pause_ms(TIMEOUT_MS / 5); /* so that it times out in the midst of the close */
    pthread_t continuing = thread_start(continue_server_later, &silence_ms);
    lk_close(client);
    bool was_too_long = atomic_load(&is_continued);
    thread_join(continuing);
    thread_join(renewing);
    free_handles(locks, 2);
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
    redisReply *reply = world_ask("INFO commandstats");
    bool has = strstr(reply->str, "cmdstat_scan:");
    freeReplyObject(reply);
    return has;
}

/* A listing is many questions. The client is not freed between two of them (a checker says so). */
static void a_listing_is_one_call_to_whoever_closes(void **state) {
    (void)state;
    enum { ROUNDS = 20 };
    world_do("EVAL %s 0", "for i = 1, 20000 do redis.call('SET', 'lk:{n' .. i .. '}', '') end");
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread;
        lister self = {.client = open_client()};
        world_do("CONFIG RESETSTAT");
        assert_int_equal(pthread_create(&thread, NULL, list_all, &self), 0);
        assert_eventually(server_has_scanned());
        close_bounded(self.client);
        pthread_join(thread, NULL);
        if (self.status != LK_OK)
            assert_status(self.status, LK_CANCELED);
    }
    world_do("FLUSHALL");
}

/* ------------------------------------------------------------------------------ pthread_cancel */

static void *wait_to_write(void *lock) {
    return lk_wrlock(lock) == LK_OK ? lock : NULL;
}

static void a_thread_that_is_canceled_ends_when_its_call_has_returned(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "c:pc"), handle_of(client, "c:pc"),
                        handle_of(client, "c:pc-2")};
    pthread_t thread;
    assert_ok(lk_wrlock(locks[0]));
    assert_int_equal(pthread_create(&thread, NULL, wait_to_write, locks[1]), 0);
    assert_eventually(waiter_total(client, "c:pc") == 1);
    pthread_cancel(thread);
    assert_ok(lk_wrlock(locks[2])); /* others are served */
    assert_ok(lk_wrunlock(locks[0]));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(lk_valid(locks[1]));
    free_handles(locks, 3);
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

static void a_call_without_a_client_is_not_canceled_halfway(void **state) {
    (void)state;
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

static void freeing_a_handle_gives_back_what_it_holds(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "c:free"), handle_of(client, "c:free")};
    taker waiter;
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_wrlock(locks[0]));
    assert_ok(lk_rdlock(locks[0]));
    taker_queue(&waiter, locks[1], LK_WRITE, client, "c:free", 1);
    lk_lock_free(locks[0]);
    assert_ok(taker_join(&waiter));
    assert_false(lk_abandoned(locks[1]));
    lk_lock_free(locks[1]);
    assert_eventually(world_key_count() == 0);
    lk_close(client);
}

static void freeing_a_handle_cancels_the_callers_that_wait_on_it(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "c:free-wait"), handle_of(client, "c:free-wait")};
    taker waiter;
    assert_ok(lk_wrlock(locks[0]));
    taker_queue(&waiter, locks[1], LK_WRITE, client, "c:free-wait", 1);
    lk_lock_free(locks[1]);
    assert_status(taker_join(&waiter), LK_CANCELED);
    assert_eventually(waiter_total(client, "c:free-wait") == 0);
    assert_ok(lk_wrunlock(locks[0]));
    assert_nothing_left();
    lk_lock_free(locks[0]);
    lk_close(client);
}

static void freeing_a_handle_calls_its_callbacks_before_it_returns(void **state) {
    (void)state;
    lk_client *client = open_client();
    lk_lock *locks[] = {handle_of(client, "c:free-async"), handle_of(client, "c:free-async")};
    tally done = {0};
    assert_ok(lk_wrlock(locks[0]));
    for (int i = 0; i < 3; i++)
        assert_ok(lk_acquire_async(locks[1], LK_WRITE, -1, tally_done, &done));
    assert_eventually(waiter_total(client, "c:free-async") == 1);
    lk_lock_free(locks[1]);
    assert_int_equal(atomic_load(&done.count), 3);
    assert_int_equal(atomic_load(&done.with[LK_CANCELED]), 3);
    assert_ok(lk_wrunlock(locks[0]));
    assert_eventually(world_key_count() == 0);
    lk_lock_free(locks[0]);
    lk_close(client);
    assert_int_equal(atomic_load(&done.count), 3);
}

static void a_freed_handle_is_told_of_no_loss(void **state) {
    (void)state;
    lk_client *client = open_client();
    tally lost = {0};
    lk_lock_options options = {
        .lease_ms = 100, .manual_renew = true, .on_lost = tally_lost, .on_lost_arg = &lost};
    lk_lock *lock = handle_with(client, "c:free-lost", &options);
    assert_ok(lk_wrlock(lock));
    lk_lock_free(lock);
    lk_lock *other = handle_of(client, "c:free-lost");
    assert_ok(lk_wrlock(other));
    pause_ms(200);
    lk_lock_free(other);
    lk_close(client);
    assert_int_equal(atomic_load(&lost.losses), 0);
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
    lk_lock *locks[] = {handle_of(client, "c:leak"), handle_of(client, "c:leak")};
    tally done = {0};
    assert_ok(lk_wrlock(locks[0]));
    assert_status(lk_timedwrlock(locks[1], 1), LK_TIMEOUT);
    assert_ok(lk_release_async(locks[0], LK_WRITE, tally_done, &done));
    free_handles(locks, 2);
    lk_close(client);
    assert_int_equal(atomic_load(&done.count), 1);
}

static void opening_and_closing_leaks_no_descriptor_and_no_thread(void **state) {
    (void)state;
    use_and_close();
    int descriptors = entries_of("/proc/self/fd"), threads = entries_of("/proc/self/task");
    for (int i = 0; i < 200; i++)
        use_and_close();
    assert_int_equal(entries_of("/proc/self/fd"), descriptors);
    assert_eventually(entries_of("/proc/self/task") == threads); /* a joined one may linger */
    assert_nothing_left();
}

static void opening_in_vain_leaks_no_descriptor_and_no_thread(void **state) {
    (void)state;
    char *url = test_print("%s-that-nobody-has", world_url);
    lk_client *client = NULL;
    assert_status(lk_open(url, NULL, &client), LK_UNAVAILABLE);
    int descriptors = entries_of("/proc/self/fd"), threads = entries_of("/proc/self/task");
    for (int i = 0; i < 50; i++)
        assert_status(lk_open(url, NULL, &client), LK_UNAVAILABLE);
    assert_int_equal(entries_of("/proc/self/fd"), descriptors);
    assert_eventually(entries_of("/proc/self/task") == threads);
    free(url);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        world_test(nothing_may_be_closed_and_freed),
        world_test(closing_cancels_the_callers_that_wait),
        world_test(closing_calls_every_callback_once_before_it_returns),
        world_test(closing_right_after_beginning_loses_no_callback),
        world_test(closing_gives_back_what_handles_hold),
        world_test(handles_of_a_closed_client_say_that_it_is),
        world_test(a_lost_hold_of_a_closed_client_has_no_fence_and_no_mark),
        world_test(closing_does_not_tell_of_a_loss),
        world_test(closing_gives_back_a_hold_however_deep_it_nests),
        world_test(closing_does_not_hang_on_a_server_that_is_silent),
        world_test(closing_takes_no_longer_when_a_call_times_out_meanwhile),
        world_test(freeing_a_handle_gives_back_what_it_holds),
        world_test(a_listing_is_one_call_to_whoever_closes),
        world_test(a_thread_that_is_canceled_ends_when_its_call_has_returned),
        world_test(a_call_without_a_client_is_not_canceled_halfway),
        world_test(freeing_a_handle_cancels_the_callers_that_wait_on_it),
        world_test(freeing_a_handle_calls_its_callbacks_before_it_returns),
        world_test(a_freed_handle_is_told_of_no_loss),
        world_test(opening_and_closing_leaks_no_descriptor_and_no_thread),
        world_test(opening_in_vain_leaks_no_descriptor_and_no_thread),
    };
    return world_main(argc, argv, tests);
}
