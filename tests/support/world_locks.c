/* Clients and locks of a test, looking at them, and calls on other threads. */
#include "world.h"

#include "world_private.h"

/* ------------------------------------------------------------------------------ clients, locks */

/* On a busy machine a hasty client may find that connecting takes too long: it is opened again. */
lk_client *open_client_url(const char *url, const lk_client_options *options) {
    enum { TRIES = 30 };
    lk_client *client = NULL;
    lk_status status = lk_open(url, options, &client);
    for (int i = 1; status == LK_UNAVAILABLE && i < TRIES; i++)
        status = lk_open(url, options, &client);
    assert_ok(status);
    world_own(WORLD_CLIENT, client);
    return client;
}

lk_client *open_client_with(const lk_client_options *options) {
    return open_client_url(server_url, options);
}

lk_client *open_client(void) {
    return open_client_with(NULL);
}

lk_client *open_client_at(const char *socket, int64_t command_timeout_ms) {
    lk_client_options options = {.command_timeout_ms = command_timeout_ms,
                                 .connect_timeout_ms = command_timeout_ms};
    char *url = test_print("unix://%s", socket);
    lk_client *client = open_client_url(url, &options);
    free(url);
    return client;
}

lk_lock *new_lock_with(lk_client *client, const char *name, const lk_lock_options *options) {
    lk_lock *lock = NULL;
    assert_ok(lk_lock_new(client, name, options, &lock));
    world_own(WORLD_LOCK, lock);
    return lock;
}

lk_lock *new_lock(lk_client *client, const char *name) {
    return new_lock_with(client, name, NULL);
}

lk_lock *new_leased_lock(lk_client *client, const char *name, int64_t lease_ms) {
    return new_lock_with(client, name, &(lk_lock_options){.lease_ms = lease_ms});
}

lk_lock *new_policy_lock(lk_client *client, const char *name, lk_policy policy) {
    return new_lock_with(client, name, &(lk_lock_options){.policy = policy});
}

lk_lock *new_watched_lock(lk_client *client, const char *name, int64_t lease_ms,
                          atomic_int *losses) {
    lk_lock_options options = {.lease_ms = lease_ms, .on_lost = count_loss, .on_lost_arg = losses};
    return new_lock_with(client, name, &options);
}

void close_client(lk_client *client) {
    world_disown(client);
    lk_close(client);
}

static void *close_on_thread(void *client) {
    close_client(client);
    return NULL;
}

void close_bounded(lk_client *client) {
    thread_join(thread_start(close_on_thread, client));
}

void free_lock(lk_lock *lock) {
    world_disown(lock);
    lk_lock_free(lock);
}

void free_locks(lk_lock *const *locks, size_t count) {
    for (size_t i = 0; i < count; i++)
        free_lock(locks[i]);
}

lk_status lock_as(lk_lock *lock, lk_mode mode, int64_t wait_ms) {
    if (wait_ms < 0)
        return mode == LK_READ ? lk_rdlock(lock) : lk_wrlock(lock);
    return mode == LK_READ ? lk_timedrdlock(lock, wait_ms) : lk_timedwrlock(lock, wait_ms);
}

lk_status unlock_as(lk_lock *lock, lk_mode mode) {
    return mode == LK_READ ? lk_rdunlock(lock) : lk_wrunlock(lock);
}

/*
 * The client may be hasty, and give up on a busy machine. So another client does all that it can,
 * and this one tries again.
 */
static bool keep_waiting(lk_lock *waiter, tally *ended, int *begun) {
    if (atomic_load(&ended->count) == *begun) {
        assert_ok(lk_acquire_async(waiter, LK_WRITE, -1, tally_done, ended));
        ++*begun;
    }
    return true;
}

static void listen_with(lk_client *client, lk_client *helper) {
    lk_lock *holder = new_lock(helper, "listening"), *waiter = new_lock(client, "listening");
    tally ended = {0};
    int begun = 0;
    assert_ok(lk_wrlock(holder));
    eventually(keep_waiting(waiter, &ended, &begun) && look_at(helper, "listening").waiters == 1);
    assert_ok(lk_wrunlock(holder));
    eventually(atomic_load(&ended.count) == begun);
    free_lock(waiter);
    free_lock(holder);
    eventually(is_empty());
}

void make_it_listen(lk_client *client) {
    lk_client *helper = open_client();
    listen_with(client, helper);
    close_client(helper);
}

void teach_scripts(lk_client *client) {
    lk_client *helper = open_client();
    lk_lock *lock = new_lock(helper, "scripts"), *other = new_lock(client, "scripts");
    listen_with(client, helper);
    assert_ok(lk_wrlock(lock));
    eventually(lk_timedwrlock(other, 1) == LK_TIMEOUT);
    assert_ok(lk_renew(lock, 0));
    assert_ok(lk_downgrade(lock));
    assert_int_equal(look_at(helper, "scripts").reads, 1);
    assert_status(lk_force_release(helper, "scripts", "nobody"), LK_NOT_HELD);
    assert_ok(lk_rdunlock(lock));
    free_lock(lock);
    free_lock(other);
    close_client(helper);
    eventually(is_empty());
}

/* ------------------------------------------------------------------------------ looking */

lk_info *inspect(lk_client *client, const char *name) {
    lk_info *info = NULL;
    assert_ok(lk_inspect(client, name, &info));
    world_own(WORLD_INFO, info);
    return info;
}

static void free_info(lk_info *info) {
    world_disown(info);
    lk_info_free(info);
}

glance look_at(lk_client *client, const char *name) {
    lk_info *info = inspect(client, name);
    glance seen = {.holders = info->holder_total, .waiters = info->waiter_total};
    if (info->holder_count) {
        seen.reads = info->holders[0].reads;
        seen.writes = info->holders[0].writes;
        seen.left_ms = info->holders[0].left_ms;
    }
    free_info(info);
    return seen;
}

bool is_holder(lk_client *client, const char *name, const lk_lock *lock) {
    lk_info *info = inspect(client, name);
    bool found = false;
    for (size_t i = 0; i < info->holder_count; i++)
        found = found || strcmp(info->holders[i].owner, lk_owner(lock)) == 0;
    free_info(info);
    return found;
}

/* ------------------------------------------------------------------------------ threads */

pthread_t thread_start(void *(*run)(void *), void *context) {
    enum { STACK_SIZE = 256 * 1024 };
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    int fault = pthread_create(&thread, &attributes, run, context);
    pthread_attr_destroy(&attributes);
    if (fault)
        fail_msg("pthread_create: %s", strerror(fault));
    return thread;
}

void thread_join(pthread_t thread) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 3 * PATIENT_MS / 1000;
    if (pthread_timedjoin_np(thread, NULL, &end) != 0)
        fail_msg("a thread hangs");
}

static void *run_call(void *context) {
    call *self = context;
    int64_t began_ms = now_ms();
    self->status =
        self->run ? self->run(self->lock) : lock_as(self->lock, self->mode, self->wait_ms);
    self->took_ms = now_ms() - began_ms;
    snprintf(self->said, sizeof self->said, "%s", lk_last_error());
    atomic_store(&self->over, true);
    return NULL;
}

static void start_call(call *self) {
    self->thread = thread_start(run_call, self);
    world_own(WORLD_CALL, self);
}

void begin_call(call *self, lk_status (*run)(lk_lock *), lk_lock *lock) {
    *self = (call){.lock = lock, .run = run};
    start_call(self);
}

void begin_lock(call *self, lk_lock *lock, lk_mode mode, int64_t wait_ms) {
    *self = (call){.lock = lock, .mode = mode, .wait_ms = wait_ms};
    start_call(self);
}

void begin_wait(call *self, lk_lock *lock, lk_mode mode, lk_client *looker, const char *name,
                size_t place) {
    begin_lock(self, lock, mode, -1);
    eventually(look_at(looker, name).waiters == place);
}

lk_status end_call(call *self) {
    world_disown(self);
    thread_join(self->thread);
    return self->status;
}

void check_call(call *self, lk_status wanted, const char *name, const char *file, int line) {
    lk_status got = end_call(self);
    if (got == wanted)
        return;
    print_error("%s is %s, not %s: %s\n", name, lk_status_name(got), lk_status_name(wanted),
                self->said);
    _fail(file, line);
}

/* ------------------------------------------------------------------------------ callbacks */

void tally_done(lk_lock *lock, lk_status status, void *arg) {
    tally *self = arg;
    (void)lock;
    atomic_store(&self->status, status);
    atomic_fetch_add(&self->with[status], 1);
    atomic_fetch_add(&self->count, 1);
}

void count_loss(lk_lock *lock, void *losses) {
    (void)lock;
    atomic_fetch_add((atomic_int *)losses, 1);
}
