/*
 * Everything at once: threads take and give back locks in all ways, while their network is cut,
 * silent, refused and late at random. Nobody is ever beside a writer, and when the faults are over
 * nothing is left. An argument is the seed; without one it is drawn, and told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harm.h"

enum { CLIENTS = 3, WORKERS = 9, NAMES = 2, FAULTS = 60 };

static unsigned first_seed;
static proxy *net;
static atomic_bool over;

/*
 * Who is inside of each lock, as far as those who were granted know. A hold that was handed over is
 * lost if it cannot be claimed for a second: who lost it may have met others.
 */
static struct { atomic_int readers, writers; } inside[NAMES];
static atomic_int clashes, losses, rounds;

typedef struct {
    lk_client *client;
    size_t name;
    unsigned seed;
    pthread_t thread;
} worker;

/* ------------------------------------------------------------------------------ a worker */

static void enter(size_t name, lk_mode mode) {
    atomic_fetch_add(mode == LK_WRITE ? &inside[name].writers : &inside[name].readers, 1);
    int writers = atomic_load(&inside[name].writers);
    int readers = atomic_load(&inside[name].readers);
    if (mode == LK_WRITE ? writers != 1 || readers != 0 : writers != 0)
        atomic_fetch_add(&clashes, 1);
}

static void leave(size_t name, lk_mode mode) {
    atomic_fetch_sub(mode == LK_WRITE ? &inside[name].writers : &inside[name].readers, 1);
}

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
    enter(self->name, mode);
    if (draw(&self->seed, 4) == 0)
        nap_ms(1);
    leave(self->name, mode);
    if (!lk_valid(lock))
        atomic_fetch_add(&losses, 1);
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

static void nobody_is_beside_a_writer_and_nothing_is_left_whatever_the_network_does(void **state) {
    (void)state;
    unsigned seed = first_seed;
    worker workers[WORKERS];
    lk_client *clients[CLIENTS];
    print_message("the seed is %u\n", seed);
    net = start_proxy();
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = open_client(proxy_socket(net), HASTY_MS);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] = (worker){
            .client = clients[i % CLIENTS], .name = i % NAMES, .seed = seed + (unsigned)i * 7919};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < FAULTS; i++) {
        int before = atomic_load(&rounds);
        do_harm(net, 2 * HASTY_MS, &seed);
        eventually(atomic_load(&rounds) > before);
    }
    stop_harm(net);
    atomic_store(&over, true);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    if (!atomic_load(&losses))
        assert_int_equal(atomic_load(&clashes), 0);
    assert_int_equal(atomic_load(&oddities), 0);
    lk_client *calm = open_client(test_server_socket(server), PATIENT_MS);
    take_once_more(calm, "lock:0");
    take_once_more(calm, "lock:1");
    lk_close(calm);
    eventually(is_empty(eye));
    for (size_t i = 0; i < CLIENTS; i++)
        lk_close(clients[i]);
    assert_true(is_empty(eye));
    proxy_stop(net);
}

int main(int count, char **words) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(
            nobody_is_beside_a_writer_and_nothing_is_left_whatever_the_network_does, empty_server),
    };
    first_seed = count > 1 ? (unsigned)strtoul(words[1], NULL, 10) : (unsigned)time(NULL);
    return cmocka_run_group_tests_name("faults: chaos", tests, begin_world, end_world);
}
