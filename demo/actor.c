/* See actor.h. An actor uses the library as a user would, and records each step. */
#include "actor.h"

#include <stdio.h>
#include <time.h>

enum {
    READ_MS = 220,
    WRITE_MS = 180,
    WORK_SPREAD_MS = 200,
    PAUSE_MS = 80,
    PAUSE_SPREAD_MS = 450,
    WRITERS_LATER_MS = 150, /* so that the picture begins with readers who share the lock */
    LAST_TURN_MS = 20000    /* the kill comes long before that */
};

static void sleep_ms(int64_t ms) {
    struct timespec length = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&length, NULL);
}

/* A linear congruential generator, so that each run is as similar as the machine allows. */
static int64_t up_to(uint32_t *state, uint32_t most) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % (most + 1);
}

/* The first actor that fails records the reason; then all actors stop. */
static int fail(record *shared, const actor *self, const char *what) {
    if (!atomic_exchange(&shared->failing, true)) {
        snprintf(shared->why, sizeof shared->why, "%s, %s: %s", self->label, what, lk_last_error());
        atomic_store(&shared->failed, true);
    }
    return 1;
}

static lk_status take_turn(record *shared, int me, lk_lock *lock, uint32_t *chance) {
    actor *self = &shared->actors[me];
    turn *now = &self->turns[atomic_load(&self->turn_count)];
    bool writes = self->mode == LK_WRITE;
    now->asked_us = now_us();
    atomic_store(&now->phase, PHASE_ASKED);
    atomic_fetch_add(&self->turn_count, 1);

    lk_status status = writes ? lk_wrlock(lock) : lk_rdlock(lock);
    if (status != LK_OK)
        return status;
    now->granted_us = now_us();
    now->fence = lk_fence(lock);
    now->abandoned = lk_abandoned(lock);
    now->last = atomic_load(&shared->doomed) == me;
    atomic_store(&now->phase, PHASE_HELD);

    int64_t work_ms = (writes ? WRITE_MS : READ_MS) + up_to(chance, WORK_SPREAD_MS);
    sleep_ms(now->last ? LAST_TURN_MS : work_ms);

    now->released_us = now_us();
    now->unlocked = writes ? lk_wrunlock(lock) : lk_rdunlock(lock);
    atomic_store(&now->phase, PHASE_DONE);
    return LK_OK;
}

static int live(record *shared, int me, lk_lock *lock) {
    actor *self = &shared->actors[me];
    uint32_t chance = 2026u + 7919u * (uint32_t)me;
    atomic_fetch_add(&shared->ready, 1);
    while (!atomic_load(&shared->go))
        sleep_ms(1);
    sleep_ms(self->mode == LK_WRITE ? WRITERS_LATER_MS + up_to(&chance, 100) : 0);
    while (now_us() < shared->stop_us && !atomic_load(&shared->failed) &&
           atomic_load(&self->turn_count) < TURNS_MOST) {
        if (take_turn(shared, me, lock, &chance) != LK_OK)
            return fail(shared, self, "taking the lock");
        sleep_ms(PAUSE_MS + up_to(&chance, PAUSE_SPREAD_MS));
    }
    return 0;
}

int actor_run(record *shared, int me) {
    const actor *self = &shared->actors[me];
    const lk_client_options who = {.app = self->label};
    const lk_lock_options short_lease = {.lease_ms = LEASE_MS};
    lk_client *client;
    lk_lock *lock;
    if (lk_open(NULL, &who, &client) != LK_OK)
        return fail(shared, self, "connecting");
    int status = 1;
    if (lk_lock_new(client, shared->lock_name, &short_lease, &lock) != LK_OK) {
        fail(shared, self, "making a handle");
    } else {
        status = live(shared, me, lock);
        lk_lock_free(lock);
    }
    lk_close(client);
    return status;
}
