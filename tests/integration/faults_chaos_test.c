/*
 * Threads lock and unlock in all ways, while the network cuts, stalls and refuses connections at
 * random, and the server is stopped, full and restarted. Nobody ever holds beside a writer, fences
 * rise, and nothing is left when the faults are over. The argument of the program is the seed.
 * Default: the time.
 */
#include "harm.h"
#include "judge.h"

enum { CLIENTS = 3, NAMES = 2, FAULTS = 60 };

static unsigned first_seed;
static proxy *net;
static atomic_bool over;
static atomic_int rounds;

typedef struct {
    lk_client *client;
    size_t index, name;
    unsigned seed;
    pthread_t thread;
} worker;

/* ------------------------------------------------------------------------------ a worker */

static lk_status take(lk_lock *lock, lk_mode mode, unsigned *seed) {
    switch (draw(seed, 3)) {
    case 0:
        return mode == LK_WRITE ? lk_wrlock(lock) : lk_rdlock(lock);
    case 1:
        return mode == LK_WRITE ? lk_trywrlock(lock) : lk_tryrdlock(lock);
    default: {
        int64_t wait_ms = draw(seed, 30);
        return mode == LK_WRITE ? lk_timedwrlock(lock, wait_ms) : lk_timedrdlock(lock, wait_ms);
    }
    }
}

static void take_and_give_back(worker *self, lk_lock *lock) {
    lk_mode mode = draw(&self->seed, 2) ? LK_WRITE : LK_READ;
    lk_status status = take(lock, mode, &self->seed);
    EXPECT(status, "taking", LK_OK, LK_BUSY, LK_TIMEOUT, LK_UNAVAILABLE);
    if (status != LK_OK)
        return;
    show_guest(self->name, self->index, (guest){lock, mode});
    if (draw(&self->seed, 4) == 0)
        sleep_ms(1);
    show_guest(self->name, self->index, (guest){NULL, mode});
    if (mode == LK_WRITE && draw(&self->seed, 3) == 0) {
        status = lk_downgrade(lock);
        EXPECT(status, "downgrading", LK_OK, LK_UNAVAILABLE, LK_LOST);
        mode = status == LK_LOST ? LK_WRITE : LK_READ;
    }
    status = mode == LK_WRITE ? lk_wrunlock(lock) : lk_rdunlock(lock);
    EXPECT(status, "unlocking", LK_OK, LK_UNAVAILABLE, LK_LOST);
    if (lk_valid(lock))
        odd("unlocked", "and valid");
}

static void *work(void *context) {
    worker *self = context;
    char name[16];
    lk_lock *lock = NULL;
    snprintf(name, sizeof name, "lock:%zu", self->name);
    while (!atomic_load(&over)) {
        if (!lock && lk_lock_new(self->client, name, NULL, &lock) != LK_OK)
            odd("making a handle", "");
        take_and_give_back(self, lock);
        if (draw(&self->seed, 20) == 0) {
            lk_lock_free(lock);
            lock = NULL;
        }
        atomic_fetch_add(&rounds, 1);
    }
    lk_lock_free(lock);
    return NULL;
}

/* ------------------------------------------------------------------------------ all of it */

static worker workers[GUESTS];
static size_t working; /* so many of them */

static void end_workers(void) {
    atomic_store(&over, true);
    while (working > 0)
        pthread_join(workers[--working].thread, NULL);
}

TEST(nobody_is_beside_a_writer_and_nothing_is_left_whatever_goes_wrong) {
    unsigned seed = first_seed;
    lk_client *clients[CLIENTS];
    net = start_proxy();
    run_before_closing(end_workers);
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = open_client_at(proxy_socket(net), HASTY_MS);
    for (size_t i = 0; i < GUESTS; i++) {
        workers[i] = (worker){.client = clients[i % CLIENTS],
                              .index = i,
                              .name = i % NAMES,
                              .seed = seed + (unsigned)i * 7919};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
        working++;
    }
    for (int i = 0; i < FAULTS; i++) {
        int before = atomic_load(&rounds);
        do_harm(net, 2 * HASTY_MS, &seed);
        eventually(atomic_load(&rounds) > before);
    }
    stop_harm(net);
    end_workers();
    assert_int_equal(atomic_load(&clashes), 0);
    assert_int_equal(atomic_load(&old_fences), 0);
    assert_int_equal(atomic_load(&oddities), 0);
    lk_client *calm = open_client_at(test_server_socket(server), PATIENT_MS);
    take_once_more(calm, "lock:0");
    take_once_more(calm, "lock:1");
    eventually(is_empty());
    for (size_t i = 0; i < CLIENTS; i++)
        close_client(clients[i]);
    assert_nothing_left();
}

int main(int count, char **words) {
    first_seed = first_seed_of(count, words);
    return world_run(begin_harmed_world);
}
