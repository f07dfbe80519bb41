/*
 * Servers that are killed and started again, with and without what they knew; and many threads
 * while connections are cut at random.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "faults_world.h"

#include <ftw.h>

/* ------------------------------------------------------------------------------ a lasting address
 */

/* Servers come and go; clients know the link, and the files of appendonly are beside it. */
typedef struct {
    char *folder, *address, *data;
    bool keeps;
    test_server *now;
} site;

static void point_at_server(const site *self) {
    char *fresh = test_print("%s/fresh", self->folder);
    assert_int_equal(symlink(test_server_socket(self->now), fresh), 0);
    assert_int_equal(rename(fresh, self->address), 0);
    free(fresh);
}

static void site_start(site *self) {
    const char *options[] = {
        "--dir",  self->data, "--appendonly", self->keeps ? "yes" : "no", "--appendfsync",
        "always", NULL};
    self->now = start_server(options);
    point_at_server(self);
}

static site site_open(bool keeps) {
    const char *parent = getenv("TMPDIR");
    site self = {.keeps = keeps};
    self.folder = test_print("%s/latchkey-site-XXXXXX", parent && *parent ? parent : "/tmp");
    assert_non_null(mkdtemp(self.folder));
    self.address = test_print("%s/socket", self.folder);
    self.data = test_print("%s", self.folder);
    site_start(&self);
    return self;
}

static void site_kill(site *self) {
    kill(test_server_pid(self->now), SIGKILL);
    test_server_stop(self->now);
    self->now = NULL;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static void site_close(site *self) {
    test_server_stop(self->now);
    nftw(self->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(self->folder);
    free(self->address);
    free(self->data);
}

/* ------------------------------------------------------------------------------ restarts */

enum { DAY_MS = 86400000 };

static void holds_survive_a_server_that_keeps_its_data(void **state) {
    (void)state;
    site place = site_open(true);
    atomic_int losses = 0;
    lk_client *client = open_client(place.address, PATIENT_MS);
    lk_lock *lock = new_watched_lock(client, "a", 0, &losses);
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_rdlock(lock), LK_OK);
    uint64_t fence = lk_fence(lock);
    site_kill(&place);
    site_start(&place);
    glance seen = look_at(client, "a");
    assert_int_equal(seen.writes, 1);
    assert_int_equal(seen.reads, 1);
    assert_true(lk_valid(lock));
    assert_status(lk_renew(lock, 0), LK_OK);
    assert_int_equal(lk_fence(lock), fence);
    assert_status(lk_rdunlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    assert_int_equal(atomic_load(&losses), 0);
    redisContext *inside = look_into(place.now);
    assert_true(is_empty(inside));
    redisFree(inside);
    lk_lock_free(lock);
    lk_close(client);
    site_close(&place);
}

static void waiters_survive_a_server_that_keeps_its_data(void **state) {
    (void)state;
    site place = site_open(true);
    lk_client *client = open_client(place.address, PATIENT_MS);
    lk_lock *holder = new_lock(client, "a", 0), *waiter = new_lock(client, "a", 0);
    call waiting;
    assert_status(lk_wrlock(holder), LK_OK);
    begin_wait(&waiting, waiter, client, "a");
    site_kill(&place);
    site_start(&place);
    eventually(look_at(client, "a").waiters == 1);
    assert_false(atomic_load(&waiting.over));
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_call(&waiting, LK_OK);
    assert_status(lk_wrunlock(waiter), LK_OK);
    lk_lock_free(holder);
    lk_lock_free(waiter);
    lk_close(client);
    site_close(&place);
}

static void holds_are_lost_with_a_server_that_forgets_and_waiters_ask_again(void **state) {
    (void)state;
    site place = site_open(false);
    atomic_int losses = 0;
    lk_client *client = open_client(place.address, PATIENT_MS);
    lk_client *other = open_client(place.address, PATIENT_MS);
    lk_lock *holder = new_watched_lock(client, "a", 0, &losses), *waiter = new_lock(other, "a", 0);
    call waiting;
    assert_status(lk_wrlock(holder), LK_OK);
    uint64_t fence = lk_fence(holder);
    begin_wait(&waiting, waiter, other, "a");
    site_kill(&place);
    site_start(&place);
    assert_call(&waiting, LK_OK);
    assert_true(lk_fence(waiter) > fence);
    assert_int_equal(look_at(client, "a").writes, 1); /* the holder's client connects again, */
    eventually(atomic_load(&losses) == 1);            /* and learns that it holds nothing */
    assert_false(lk_valid(holder));
    assert_status(lk_wrunlock(holder), LK_LOST);
    assert_true(lk_valid(waiter));
    assert_status(lk_wrunlock(waiter), LK_OK);
    assert_status(lk_wrlock(holder), LK_OK);
    assert_status(lk_wrunlock(holder), LK_OK);
    assert_int_equal(atomic_load(&losses), 1);
    lk_lock_free(holder);
    lk_lock_free(waiter);
    lk_close(client);
    lk_close(other);
    site_close(&place);
}

static void acquire_of_a_holder_that_its_server_forgot_is_lost(void **state) {
    (void)state;
    site place = site_open(false);
    lk_client *client = open_client(place.address, PATIENT_MS);
    lk_lock *lock = new_lock(client, "a", 0);
    assert_status(lk_wrlock(lock), LK_OK);
    site_kill(&place);
    site_start(&place);
    assert_status(lk_wrlock(lock), LK_LOST); /* not a first hold in place of a second */
    assert_status(lk_wrunlock(lock), LK_LOST);
    assert_status(lk_wrunlock(lock), LK_NOT_HELD);
    assert_status(lk_wrlock(lock), LK_OK);
    assert_status(lk_wrunlock(lock), LK_OK);
    lk_lock_free(lock);
    lk_close(client);
    site_close(&place);
}

/* Nobody calls, and the next renewal would be hours away: the end of the connection is enough. */
static void idle_holder_learns_that_its_server_forgot(void **state) {
    (void)state;
    site place = site_open(false);
    lk_client *client = open_client(place.address, PATIENT_MS);
    lk_lock *lock = new_lock(client, "a", DAY_MS);
    assert_status(lk_wrlock(lock), LK_OK);
    site_kill(&place);
    assert_true(lk_valid(lock)); /* it may have kept its data */
    site_start(&place);
    eventually(!lk_valid(lock));
    assert_status(lk_wrunlock(lock), LK_LOST);
    lk_lock_free(lock);
    lk_close(client);
    site_close(&place);
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

static void threads_stay_apart_while_connections_are_cut_at_random(void **state) {
    (void)state;
    atomic_int counter = 0, rounds = 0;
    worker workers[WORKERS] = {0};
    lk_client *clients[CLIENTS];
    unsigned seed = 20;
    proxy *net = start_proxy();
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = open_client(proxy_socket(net), PATIENT_MS);
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
    eventually(is_empty(eye));
    for (size_t i = 0; i < CLIENTS; i++)
        lk_close(clients[i]);
    assert_true(is_empty(eye));
    proxy_stop(net);
}

#define TEST(name) cmocka_unit_test_setup(name, empty_server)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(holds_survive_a_server_that_keeps_its_data),
        TEST(waiters_survive_a_server_that_keeps_its_data),
        TEST(holds_are_lost_with_a_server_that_forgets_and_waiters_ask_again),
        TEST(acquire_of_a_holder_that_its_server_forgot_is_lost),
        TEST(idle_holder_learns_that_its_server_forgot),
        TEST(threads_stay_apart_while_connections_are_cut_at_random),
    };
    return cmocka_run_group_tests_name("faults: restarts", tests, begin_world, end_world);
}
