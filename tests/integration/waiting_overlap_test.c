/*
 * Many readers and writers of several clients: no two overlap that exclude each other, and nothing
 * is left in the end.
 */
#include "world.h"

enum { CLIENTS = 3, EACH = 4, WALKERS = CLIENTS * EACH, STEPS = 50, MOST_WAIT_MS = 8 };

/* How many hold the lock: counted after locking, and before unlocking. */
static atomic_int readers, writers, grants;

typedef struct {
    lk_lock *lock;
    unsigned seed;
    const char *_Atomic fault; /* the first thing that was wrong */
    pthread_t thread;
} walker;

static void expect(walker *self, bool is_so, const char *what) {
    if (!is_so && !atomic_load(&self->fault))
        atomic_store(&self->fault, what);
}

static int draw(walker *self, int most) {
    return rand_r(&self->seed) % most;
}

static bool is_refusal(lk_status status) {
    return status == LK_TIMEOUT || status == LK_BUSY || status == LK_DEADLOCK;
}

static bool try_to_take(walker *self, lk_mode mode) {
    int64_t wait_ms = draw(self, MOST_WAIT_MS);
    lk_status status = lock_as(self->lock, mode, wait_ms);
    expect(self, status == LK_OK || is_refusal(status), "a status that should not be");
    if (status == LK_OK)
        atomic_fetch_add(&grants, 1);
    return status == LK_OK;
}

static void enter_write(walker *self, int own_reads) {
    expect(self, atomic_fetch_add(&writers, 1) == 0, "two writers");
    expect(self, atomic_load(&readers) == own_reads, "a reader beside a writer");
    sleep_us(draw(self, 200));
    expect(self, lk_valid(self->lock), "a writer whose hold is not valid");
}

static void read_a_while(walker *self) {
    atomic_fetch_add(&readers, 1);
    expect(self, atomic_load(&writers) == 0, "a writer beside a reader");
    sleep_us(draw(self, 200));
    if (draw(self, 3) == 0 && try_to_take(self, LK_WRITE)) {
        enter_write(self, 1);
        atomic_fetch_sub(&writers, 1);
        expect(self, lk_wrunlock(self->lock) == LK_OK, "an unlock of an upgrade failed");
    }
    atomic_fetch_sub(&readers, 1);
    expect(self, lk_rdunlock(self->lock) == LK_OK, "an unlock of a reader failed");
}

static void write_a_while(walker *self) {
    enter_write(self, 0);
    if (draw(self, 3) == 0) {
        atomic_fetch_add(&readers, 1);
        atomic_fetch_sub(&writers, 1);
        expect(self, lk_downgrade(self->lock) == LK_OK, "a downgrade failed");
        expect(self, atomic_load(&writers) == 0, "a writer beside a downgraded one");
        atomic_fetch_sub(&readers, 1);
        expect(self, lk_rdunlock(self->lock) == LK_OK, "an unlock after a downgrade failed");
    } else {
        atomic_fetch_sub(&writers, 1);
        expect(self, lk_wrunlock(self->lock) == LK_OK, "an unlock of a writer failed");
    }
}

static void *walk(void *context) {
    walker *self = context;
    for (int i = 0; i < STEPS && !atomic_load(&self->fault); i++) {
        lk_mode mode = draw(self, 2) ? LK_READ : LK_WRITE;
        if (!try_to_take(self, mode))
            continue;
        if (mode == LK_READ)
            read_a_while(self);
        else
            write_a_while(self);
    }
    return NULL;
}

static void let_them_walk(lk_policy policy) {
    lk_client *clients[CLIENTS];
    walker walkers[WALKERS];
    atomic_store(&readers, 0);
    atomic_store(&writers, 0);
    atomic_store(&grants, 0);
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i] = open_client();
    for (size_t i = 0; i < WALKERS; i++) {
        memset(&walkers[i], 0, sizeof walkers[i]);
        walkers[i].lock = new_policy_lock(clients[i % CLIENTS], "w:walk", policy);
        walkers[i].seed = (unsigned)(i + 1) * 7919u + (unsigned)policy;
        walkers[i].thread = thread_start(walk, &walkers[i]);
    }
    for (size_t i = 0; i < WALKERS; i++)
        thread_join(walkers[i].thread);
    for (size_t i = 0; i < WALKERS; i++)
        if (atomic_load(&walkers[i].fault))
            fail_msg("%s", atomic_load(&walkers[i].fault));
    assert_true(atomic_load(&grants) > WALKERS);
    assert_nothing_left();
}

TEST(nobody_overlaps_under_fair) {
    let_them_walk(LK_FAIR);
}

TEST(nobody_overlaps_under_phase_fair) {
    let_them_walk(LK_PHASE_FAIR);
}

TEST(nobody_overlaps_under_writer_preference) {
    let_them_walk(LK_PREFER_WRITER);
}

TEST(nobody_overlaps_under_reader_preference) {
    let_them_walk(LK_PREFER_READER);
}

int main(void) {
    return world_run(begin_world);
}
