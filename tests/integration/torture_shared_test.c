/*
 * Threads share locks under faults. The threads of a lock are one holder, and their calls meet in
 * every order. Meanwhile connections are cut, paused and refused, and the server is stopped, full
 * and restarted. Two locks that exclude each other must never be valid at once, every status must
 * be one that the header lists, and nothing may be left. The argument of the program is the seed.
 * Default: the time.
 */
#include "harm.h"
#include "judge.h"

enum { CLIENTS = 3, HANDLES = 6, THREADS = 3, COUNTS_MOST = 3, FOR_MS = 8000, HASTE_MS = 400 };
enum { OUTAGE_MS = 1250 };
enum { SHORT_LEASE_MS = 300, LONG_LEASE_MS = 600000, CALLBACK_MOST_MS = 15000 };

#define AFTER_TAKE LK_OK, LK_BUSY, LK_TIMEOUT, LK_UNAVAILABLE, LK_LOST, LK_DEADLOCK, LK_CANCELED
#define AFTER_GIVE LK_OK, LK_LOST, LK_UNAVAILABLE
#define AFTER_RENEW AFTER_GIVE, LK_NOT_HELD

static unsigned seed;
static proxy *net;
static lk_lock *locks[HANDLES]; /* even ones on "a", odd ones on "b" */
static atomic_bool over;

/* What the threads of each lock say they hold. lock_room() protects it. */
static int shown[HANDLES][2];

static void show(int handle, lk_mode mode, int step) {
    size_t room = (size_t)handle % 2;
    lock_room(room);
    shown[handle][mode] += step;
    bool reads = shown[handle][LK_READ], writes = shown[handle][LK_WRITE];
    change_guest(room, (size_t)handle,
                 (guest){reads || writes ? locks[handle] : NULL, writes ? LK_WRITE : LK_READ});
    unlock_room(room);
}

/* ------------------------------------------------------------------------------ a thread */

typedef struct {
    int handle;
    unsigned seed;
    int held[2];
    pthread_t thread;
} worker;

static lk_status await(tally *done) {
    int64_t end_ms = now_ms() + CALLBACK_MOST_MS;
    while (!atomic_load(&done->count)) {
        if (now_ms() > end_ms) {
            fprintf(stderr, "a callback was not called\n");
            abort(); /* the tally is on this stack */
        }
        sleep_ms(1);
    }
    return (lk_status)atomic_load(&done->status);
}

static lk_status take(lk_lock *lock, lk_mode mode, unsigned *from) {
    int wait_ms = draw(from, 300);
    if (draw(from, 4) == 0)
        return mode == LK_WRITE ? lk_trywrlock(lock) : lk_tryrdlock(lock);
    if (draw(from, 3))
        return mode == LK_WRITE ? lk_timedwrlock(lock, wait_ms) : lk_timedrdlock(lock, wait_ms);
    tally done = {0};
    EXPECT(lk_acquire_async(lock, mode, wait_ms, tally_done, &done), "beginning", LK_OK);
    return await(&done);
}

static void give(worker *self, lk_mode mode) {
    lk_lock *lock = locks[self->handle];
    self->held[mode]--;
    show(self->handle, mode, -1);
    if (draw(&self->seed, 2)) {
        EXPECT(mode == LK_WRITE ? lk_wrunlock(lock) : lk_rdunlock(lock), "giving", AFTER_GIVE);
        return;
    }
    tally done = {0};
    EXPECT(lk_release_async(lock, mode, tally_done, &done), "beginning", LK_OK);
    EXPECT(await(&done), "giving", AFTER_GIVE);
}

static void give_all(worker *self) {
    for (lk_mode mode = LK_READ; mode <= LK_WRITE; mode++)
        while (self->held[mode])
            give(self, mode);
}

static void take_one(worker *self) {
    lk_mode mode = draw(&self->seed, 3) ? LK_READ : LK_WRITE;
    lk_status status = take(locks[self->handle], mode, &self->seed);
    EXPECT(status, "taking", AFTER_TAKE);
    if (status == LK_OK) {
        self->held[mode]++;
        show(self->handle, mode, 1);
    } else if (status == LK_LOST || status == LK_DEADLOCK) {
        give_all(self);
    }
}

static void turn(worker *self, lk_mode from, lk_mode to) {
    self->held[from]--;
    self->held[to]++;
    show(self->handle, to, 1);
    show(self->handle, from, -1);
}

static void downgrade(worker *self) {
    turn(self, LK_WRITE, LK_READ);
    lk_status status = lk_downgrade(locks[self->handle]);
    EXPECT(status, "downgrading", AFTER_GIVE);
    if (status == LK_LOST)
        turn(self, LK_READ, LK_WRITE);
}

static void *work(void *context) {
    worker *self = context;
    while (!atomic_load(&over)) {
        int counts = self->held[LK_READ] + self->held[LK_WRITE], what = draw(&self->seed, 10);
        if (counts == 0 || (what < 3 && counts < COUNTS_MOST))
            take_one(self);
        else if (what == 3 && draw(&self->seed, 4) == 0)
            lk_cancel(locks[self->handle]);
        else if (what == 4)
            EXPECT(lk_renew(locks[self->handle], 0), "renewing", AFTER_RENEW);
        else if (what == 5 && self->held[LK_WRITE])
            downgrade(self);
        else if (what == 6)
            sleep_ms(draw(&self->seed, 4));
        else
            give(self, self->held[LK_READ] ? LK_READ : LK_WRITE);
    }
    give_all(self);
    return NULL;
}

/* ------------------------------------------------------------------------------ all of it */

static worker workers[HANDLES * THREADS];
static size_t working; /* so many of them */

static void end_workers(void) {
    atomic_store(&over, true);
    while (working > 0)
        pthread_join(workers[--working].thread, NULL);
}

TEST(threads_that_share_handles_are_one_holder_under_faults) {
    lk_client *clients[CLIENTS], *calm = open_client_at(test_server_socket(server), PATIENT_MS);
    net = start_proxy();
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = open_client_at(proxy_socket(net), HASTE_MS);
    for (int h = 0; h < HANDLES; h++)
        locks[h] = new_leased_lock(clients[h / 2], h % 2 ? "b" : "a",
                                   h % 2 ? LONG_LEASE_MS : SHORT_LEASE_MS);
    run_before_closing(end_workers);
    for (int h = 0; h < HANDLES; h++) {
        for (int t = 0; t < THREADS; t++) {
            worker *one = &workers[working];
            *one = (worker){.handle = h, .seed = seed + (unsigned)(h * 31 + t * 7)};
            assert_int_equal(pthread_create(&one->thread, NULL, work, one), 0);
            working++;
        }
    }
    for (int64_t end_ms = now_ms() + FOR_MS; now_ms() < end_ms;)
        do_harm(net, OUTAGE_MS, &seed);
    stop_harm(net);
    end_workers();
    for (int h = 0; h < HANDLES; h++)
        assert_false(lk_valid(locks[h]));
    take_once_more(calm, "a");
    take_once_more(calm, "b");
    free_locks(locks, HANDLES);
    for (int i = 0; i < CLIENTS; i++)
        close_client(clients[i]);
    assert_int_equal(atomic_load(&clashes), 0);
    assert_int_equal(atomic_load(&oddities), 0);
    eventually(is_empty());
}

int main(int count, char **words) {
    seed = first_seed_of(count, words);
    return world_run(begin_harmed_world);
}
