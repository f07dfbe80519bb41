/*
 * Servers that are killed and started again, with and without their data; and many threads while
 * connections are cut at random.
 */
#include "world.h"

#include <ftw.h>

/* ------------------------------------------------------------------------------ the address */

/* Servers come and go. Clients connect to the link `address`, and the data is in its folder. */
static struct {
    char *folder, *address;
    bool keeps;
    test_server *now;
} site;

static void start_site(void) {
    char *fresh = world_print("%s/fresh", site.folder);
    site.now =
        test_server_start(test_server_any(), (const char *[]){"--dir", site.folder, "--appendonly",
                                                              site.keeps ? "yes" : "no",
                                                              "--appendfsync", "always", NULL});
    assert_non_null(site.now);
    assert_int_equal(symlink(test_server_socket(site.now), fresh), 0);
    assert_int_equal(rename(fresh, site.address), 0);
}

static void kill_site(void) {
    kill(test_server_pid(site.now), SIGKILL);
    test_server_stop(site.now);
    site.now = NULL;
}

static void restart_site(void) {
    kill_site();
    start_site();
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static void close_site(void) {
    test_server_stop(site.now);
    nftw(site.folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(site.folder);
    free(site.address);
}

static void open_site(bool keeps) {
    const char *parent = getenv("TMPDIR");
    site.keeps = keeps;
    site.folder = test_print("%s/latchkey-site-XXXXXX", parent && *parent ? parent : "/tmp");
    assert_non_null(mkdtemp(site.folder));
    site.address = test_print("%s/socket", site.folder);
    run_after_closing(close_site);
    start_site();
}

static void keeping_server(void) {
    open_site(true);
}

static void forgetful_server(void) {
    open_site(false);
}

/* ------------------------------------------------------------------------------ restarts */

enum { DAY_MS = 86400000 };

TEST_WITH(keeping_server, holds_survive_a_server_that_keeps_its_data) {
    atomic_int losses = 0;
    lk_client *client = open_client_at(site.address, PATIENT_MS);
    lk_lock *lock = new_watched_lock(client, "a", 0, &losses);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_rdlock(lock));
    uint64_t fence = lk_fence(lock);
    restart_site();
    glance seen = look_at(client, "a");
    assert_int_equal(seen.writes, 1);
    assert_int_equal(seen.reads, 1);
    assert_true(lk_valid(lock));
    assert_ok(lk_renew(lock, 0));
    assert_int_equal(lk_fence(lock), fence);
    assert_ok(lk_rdunlock(lock));
    assert_ok(lk_wrunlock(lock));
    assert_int_equal(atomic_load(&losses), 0);
    assert_int_equal(ask_at(connect_to(site.now), "DBSIZE"), 0);
}

TEST_WITH(keeping_server, waiters_survive_a_server_that_keeps_its_data) {
    lk_client *client = open_client_at(site.address, PATIENT_MS);
    lk_lock *holder = new_lock(client, "a"), *waiter = new_lock(client, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    begin_wait(&waiting, waiter, LK_WRITE, client, "a", 1);
    restart_site();
    eventually(look_at(client, "a").waiters == 1);
    assert_false(atomic_load(&waiting.over));
    assert_ok(lk_wrunlock(holder));
    assert_call(&waiting, LK_OK);
    assert_ok(lk_wrunlock(waiter));
}

TEST_WITH(forgetful_server, holds_are_lost_with_a_server_that_forgets_and_waiters_ask_again) {
    atomic_int losses = 0;
    lk_client *client = open_client_at(site.address, PATIENT_MS);
    lk_client *other = open_client_at(site.address, PATIENT_MS);
    lk_lock *holder = new_watched_lock(client, "a", 0, &losses), *waiter = new_lock(other, "a");
    call waiting;
    assert_ok(lk_wrlock(holder));
    uint64_t fence = lk_fence(holder);
    begin_wait(&waiting, waiter, LK_WRITE, other, "a", 1);
    restart_site();
    assert_call(&waiting, LK_OK);
    assert_true(lk_fence(waiter) > fence);
    assert_int_equal(look_at(client, "a").writes, 1); /* the holder's client connects again, */
    eventually(atomic_load(&losses) == 1);            /* and learns that it holds nothing */
    assert_false(lk_valid(holder));
    assert_status(lk_wrunlock(holder), LK_LOST);
    assert_true(lk_valid(waiter));
    assert_ok(lk_wrunlock(waiter));
    assert_ok(lk_wrlock(holder));
    assert_ok(lk_wrunlock(holder));
    assert_int_equal(atomic_load(&losses), 1);
}

TEST_WITH(forgetful_server, acquire_of_a_holder_that_its_server_forgot_is_lost) {
    lk_client *client = open_client_at(site.address, PATIENT_MS);
    lk_lock *lock = new_lock(client, "a");
    assert_ok(lk_wrlock(lock));
    restart_site();
    assert_status(lk_wrlock(lock), LK_LOST); /* the server must not grant it as a first hold */
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_ok(lk_wrlock(lock));
    assert_ok(lk_wrunlock(lock));
}

/* Nobody calls, and the next renewal is hours away. The end of the connection is enough. */
TEST_WITH(forgetful_server, idle_holder_learns_that_its_server_forgot) {
    lk_client *client = open_client_at(site.address, PATIENT_MS);
    lk_lock *lock = new_leased_lock(client, "a", DAY_MS);
    assert_ok(lk_wrlock(lock));
    kill_site();
    assert_true(lk_valid(lock)); /* the server may have kept its data */
    start_site();
    eventually(!lk_valid(lock));
    assert_status(lk_wrunlock(lock), LK_LOST);
}

/* ------------------------------------------------------------------------------ many, while cut */

enum { CLIENTS = 2, WORKERS = 6, ROUNDS = 60, CUTS = 10 };

typedef struct {
    lk_client *client;
    atomic_int *counter; /* written by a load and a store: two writers at once would show */
    atomic_int *rounds;
    pthread_t thread;
    lk_status status; /* the first that is not LK_OK */
    char said[512];
} worker;

static bool went_well(worker *self, lk_status status) {
    if (status == LK_OK)
        return true;
    self->status = status;
    snprintf(self->said, sizeof self->said, "%s", lk_last_error());
    return false;
}

static void *work(void *context) {
    worker *self = context;
    lk_lock *lock = NULL;
    if (!went_well(self, lk_lock_new(self->client, "counter", NULL, &lock)))
        return NULL;
    for (int i = 0; i < ROUNDS; i++) {
        if (!went_well(self, lk_wrlock(lock)))
            break;
        int seen = atomic_load(self->counter);
        sched_yield();
        atomic_store(self->counter, seen + 1);
        bool reads_on = i % 3 == 0;
        if (reads_on && !went_well(self, lk_downgrade(lock)))
            break;
        if (!went_well(self, reads_on ? lk_rdunlock(lock) : lk_wrunlock(lock)))
            break;
        atomic_fetch_add(self->rounds, 1);
    }
    lk_lock_free(lock);
    return NULL;
}

TEST(threads_stay_apart_while_connections_are_cut_at_random) {
    atomic_int counter = 0, rounds = 0;
    worker workers[WORKERS] = {0};
    lk_client *clients[CLIENTS];
    unsigned seed = 20;
    proxy *net = start_proxy();
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = open_client_at(proxy_socket(net), PATIENT_MS);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] =
            (worker){.client = clients[i % CLIENTS], .counter = &counter, .rounds = &rounds};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < CUTS; i++) {
        int reached = WORKERS * ROUNDS * i / CUTS / 2;
        eventually(atomic_load(&rounds) >= reached);
        switch (rand_r(&seed) % 3) {
        case 0:
            proxy_cut_after_request(net, PROXY_COMMANDS, 1 + (size_t)rand_r(&seed) % 3);
            break;
        case 1:
            proxy_cut_before_request(net, PROXY_COMMANDS, 1 + (size_t)rand_r(&seed) % 3);
            break;
        default:
            proxy_cut_all(net, rand_r(&seed) % 2 ? PROXY_ALL : PROXY_SUBSCRIPTIONS);
            break;
        }
    }
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < WORKERS; i++)
        if (workers[i].status != LK_OK)
            fail_msg("%s: %s", lk_status_name(workers[i].status), workers[i].said);
    assert_int_equal(atomic_load(&counter), WORKERS * ROUNDS);
    eventually(is_empty());
    for (size_t i = 0; i < CLIENTS; i++)
        close_client(clients[i]);
    assert_nothing_left();
}

int main(void) {
    return world_run(begin_world);
}
