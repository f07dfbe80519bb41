/*
 * Threads take locks in every way there is: nested, upgraded, downgraded, async, canceled, renewed
 * by hand, freed while they hold or wait. Clients open and close. At random the network is cut,
 * silent and late, the server is stopped, full and restarted, and leases expire. Whatever happens:
 *
 * - two handles that exclude each other are never valid at one instant;
 * - the fence of a valid write is above all fences of valid writers before it;
 * - every call returns a status that it may return, and every callback runs once, before its lock
 *   is freed;
 * - when the faults are over nothing is left, not even a hold with a lease of minutes.
 *
 * The argument of the program is the seed. Default: the time.
 */
#include "harm.h"
#include "judge.h"

enum { CLIENTS = 3, DEPTH = 3, TORTURE_MS = 8000, PATIENCE_MS = 400, OUTAGE_MS = 1250 };

/* The last does not expire during the test: a hold that is left of it was forgotten. */
static const int64_t leases_ms[ROOMS] = {150, 700, 600000};

typedef struct {
    size_t index, name;
    unsigned seed;
    lk_client *client;
    lk_lock *lock;
    pthread_mutex_t door; /* protects `lock` against cancel() */
    unsigned held[2];     /* by mode */
    pthread_t thread;
} worker;

static unsigned first_seed;
static proxy *net;
static atomic_bool over;
static atomic_int rounds, grants, losses;

/* ------------------------------------------------------------------------------ a worker */

static bool holds(const worker *self) {
    return self->held[LK_READ] || self->held[LK_WRITE];
}

static void show(const worker *self) {
    show_guest(self->name, self->index,
               (guest){holds(self) ? self->lock : NULL, self->held[LK_WRITE] ? LK_WRITE : LK_READ});
}

static void renew_handle(worker *self) {
    static const char *const names[ROOMS] = {"short", "middling", "long"};
    lk_lock_options options = {.lease_ms = leases_ms[self->name],
                               .policy = (lk_policy)(self->name + 1)};
    self->held[LK_READ] = self->held[LK_WRITE] = 0;
    show(self);
    pthread_mutex_lock(&self->door);
    lk_lock_free(self->lock);
    self->lock = NULL;
    if (!atomic_load(&over) &&
        lk_lock_new(self->client, names[self->name], &options, &self->lock) != LK_OK)
        odd("making a handle", "");
    pthread_mutex_unlock(&self->door);
}

static void unlock_what_is_lost(worker *self) {
    atomic_fetch_add(&losses, 1);
    for (int mode = LK_READ; mode <= LK_WRITE; mode++)
        while (self->held[mode]) {
            self->held[mode]--;
            EXPECT(mode == LK_WRITE ? lk_wrunlock(self->lock) : lk_rdunlock(self->lock),
                   "unlocking what is lost", LK_LOST);
        }
    show(self);
}

/* After an acquire. */
static void took(worker *self, lk_mode mode, lk_status status) {
    EXPECT(status, "taking", LK_OK, LK_BUSY, LK_TIMEOUT, LK_CANCELED, LK_UNAVAILABLE, LK_LOST,
           LK_DEADLOCK);
    if (status == LK_OK) {
        self->held[mode]++;
        atomic_fetch_add(&grants, 1);
        show(self);
    } else if (status == LK_LOST) {
        unlock_what_is_lost(self);
    }
}

static void take(worker *self) {
    lk_mode mode = draw(&self->seed, 2) ? LK_WRITE : LK_READ;
    int64_t wait_ms = draw(&self->seed, 80);
    lk_lock *lock = self->lock;
    int way = draw(&self->seed,
                   holds(self) ? 2 : 3); /* a holder does not wait without a limit: others do */
    if (way == 0)
        took(self, mode, mode == LK_WRITE ? lk_trywrlock(lock) : lk_tryrdlock(lock));
    else if (way == 1)
        took(self, mode,
             mode == LK_WRITE ? lk_timedwrlock(lock, wait_ms) : lk_timedrdlock(lock, wait_ms));
    else
        took(self, mode, mode == LK_WRITE ? lk_wrlock(lock) : lk_rdlock(lock));
}

/* A mode that is held. */
static lk_mode mode_to_give(worker *self) {
    if (!self->held[LK_READ] || !self->held[LK_WRITE])
        return self->held[LK_WRITE] ? LK_WRITE : LK_READ;
    return draw(&self->seed, 2) ? LK_WRITE : LK_READ;
}

/* After a release, a downgrade or a renewal. */
static void gave(worker *self, lk_status status) {
    EXPECT(status, "giving back", LK_OK, LK_LOST, LK_UNAVAILABLE);
    if (!holds(self) && lk_valid(self->lock))
        odd("given back", "and valid");
    if (status == LK_LOST)
        unlock_what_is_lost(self);
}

static void give(worker *self) {
    lk_mode mode = mode_to_give(self);
    self->held[mode]--;
    show(self);
    lk_status status = mode == LK_WRITE ? lk_wrunlock(self->lock) : lk_rdunlock(self->lock);
    gave(self, status);
}

static void downgrade(worker *self) {
    self->held[LK_WRITE]--;
    self->held[LK_READ]++;
    show(self);
    lk_status status = lk_downgrade(self->lock);
    if (status == LK_LOST) {
        self->held[LK_WRITE]++;
        self->held[LK_READ]--;
    }
    gave(self, status);
}

static void renew(worker *self) {
    gave(self, lk_renew(self->lock, draw(&self->seed, 2) ? 0 : 100 + draw(&self->seed, 400)));
}

/* The callback of an async call must run once. */
static void await_outcome(const tally *told, const char *what) {
    int64_t end_ms = now_ms() + LONG_MS;
    while (!atomic_load(&told->count) && now_ms() < end_ms)
        sleep_ms(1);
    if (atomic_load(&told->count) != 1)
        odd(what, "the callback did not come once");
}

static void free_meanwhile(worker *self, const tally *told) {
    renew_handle(self);
    if (atomic_load(&told->count) != 1)
        odd("freeing", "the callback did not come before its end");
}

static void take_async(worker *self) {
    tally told = {0};
    lk_mode mode = draw(&self->seed, 2) ? LK_WRITE : LK_READ;
    lk_status status =
        lk_acquire_async(self->lock, mode, draw(&self->seed, 56) - 1, tally_done, &told);
    EXPECT(status, "taking async", LK_OK);
    int way = draw(&self->seed, 4);
    if (way == 0) {
        free_meanwhile(self, &told);
        return;
    }
    sleep_ms(draw(&self->seed, 10));
    if (way == 1 || holds(self))
        lk_cancel(self->lock);
    await_outcome(&told, "taking async");
    took(self, mode, (lk_status)atomic_load(&told.status));
}

static void give_async(worker *self) {
    tally told = {0};
    lk_mode mode = mode_to_give(self);
    self->held[mode]--;
    show(self);
    EXPECT(lk_release_async(self->lock, mode, tally_done, &told), "giving async", LK_OK);
    if (draw(&self->seed, 3) == 0) {
        free_meanwhile(self, &told);
        return;
    }
    await_outcome(&told, "giving async");
    lk_status status = (lk_status)atomic_load(&told.status);
    gave(self, status);
}

static void act(worker *self) {
    unsigned depth = self->held[LK_READ] + self->held[LK_WRITE];
    int what = draw(&self->seed, 12);
    if (what == 0 && draw(&self->seed, 4) == 0)
        renew_handle(self);
    else if (depth == 0 || (depth < DEPTH && what < 4))
        what % 3 ? take(self) : take_async(self);
    else if (what < 5 && self->held[LK_WRITE])
        downgrade(self);
    else if (what < 6)
        renew(self);
    else if (what < 8)
        give_async(self);
    else if (what < 9)
        sleep_ms(draw(&self->seed, 20) ? draw(&self->seed, 5) : 300);
    else
        give(self);
}

static void *work(void *context) {
    worker *self = context;
    renew_handle(self);
    while (!atomic_load(&over)) {
        act(self);
        atomic_fetch_add(&rounds, 1);
    }
    renew_handle(self);
    return NULL;
}

/* ------------------------------------------------------------------------------ mayflies */

/* Opens clients, and closes them during their calls. */
static void *live_and_die(void *context) {
    unsigned seed = *(unsigned *)context;
    char *url = world_print("unix://%s", proxy_socket(net));
    lk_client_options options = {.command_timeout_ms = PATIENCE_MS, .connect_timeout_ms = 200};
    while (!atomic_load(&over)) {
        lk_client *client;
        lk_lock *locks[2] = {NULL, NULL};
        tally told[2][2] = {0};
        if (lk_open(url, &options, &client) != LK_OK)
            continue;
        for (int i = 0; i < 2; i++) {
            lk_lock_options leased = {.lease_ms = leases_ms[i]};
            if (lk_lock_new(client, i ? "middling" : "short", &leased, &locks[i]) != LK_OK)
                odd("making a handle", "");
            lk_mode mode = draw(&seed, 2) ? LK_WRITE : LK_READ;
            lk_acquire_async(locks[i], mode, draw(&seed, 50), tally_done, &told[i][0]);
            lk_release_async(locks[i], mode, tally_done, &told[i][1]);
        }
        sleep_ms((int)draw(&seed, 30));
        lk_close(client);
        for (int i = 0; i < 4; i++)
            if (atomic_load(&told[i / 2][i % 2].count) != 1)
                odd("closing", "a callback did not come once");
        for (int i = 0; i < 2; i++)
            lk_lock_free(locks[i]);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------ all of it */

static void cancel(worker *victim) {
    pthread_mutex_lock(&victim->door);
    if (victim->lock)
        lk_cancel(victim->lock);
    pthread_mutex_unlock(&victim->door);
}

static worker workers[GUESTS];
static size_t working; /* so many of them */
static pthread_t mayflies;
static bool mayflies_live;

static void end_workers(void) {
    atomic_store(&over, true);
    while (working > 0)
        pthread_join(workers[--working].thread, NULL);
    if (mayflies_live)
        pthread_join(mayflies, NULL);
    mayflies_live = false;
}

TEST(exclusion_fences_and_promises_hold_under_torture) {
    static unsigned mayfly_seed;
    unsigned seed = first_seed;
    lk_client *clients[CLIENTS];
    net = start_proxy();
    mayfly_seed = seed + 1;
    run_before_closing(end_workers);
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = open_client_at(proxy_socket(net), PATIENCE_MS);
    for (size_t i = 0; i < GUESTS; i++) {
        workers[i] = (worker){.index = i,
                              .name = i / CLIENTS % ROOMS,
                              .seed = seed + (unsigned)i * 7919,
                              .client = clients[i % CLIENTS]};
        pthread_mutex_init(&workers[i].door, NULL);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
        working++;
    }
    assert_int_equal(pthread_create(&mayflies, NULL, live_and_die, &mayfly_seed), 0);
    mayflies_live = true;
    for (int64_t end_ms = now_ms() + TORTURE_MS; now_ms() < end_ms;) {
        do_harm(net, OUTAGE_MS, &seed);
        cancel(&workers[draw(&seed, GUESTS)]);
    }
    stop_harm(net);
    end_workers();
    print_message("%d rounds, %d grants, %d losses\n", atomic_load(&rounds), atomic_load(&grants),
                  atomic_load(&losses));
    assert_int_equal(atomic_load(&clashes), 0);
    assert_int_equal(atomic_load(&old_fences), 0);
    assert_int_equal(atomic_load(&oddities), 0);
    lk_client *calm = open_client_at(test_server_socket(server), PATIENT_MS);
    take_once_more(calm, "short");
    take_once_more(calm, "middling");
    take_once_more(calm, "long");
    eventually(is_empty());
    for (size_t i = 0; i < CLIENTS; i++)
        close_client(clients[i]);
    assert_nothing_left();
}

int main(int count, char **words) {
    first_seed = first_seed_of(count, words);
    return world_run(begin_harmed_world);
}
