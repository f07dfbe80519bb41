/* A thread that watches its own holds; see torture_holder.h. */
#include "torture_holder.h"

#include <sched.h>

enum { HOLDER_WAIT_MOST_MS = 300, HOLDER_SPIN_MS = 3 };

const int64_t holder_leases_ms[] = {100, 110, 130, 250};
const char *const holder_names[] = {"a", "b", "c", "d"};

/* ------------------------------------------------------------------------------ looking */

/* asked_ns: when the holder asked for this lease; an upgrade or downgrade keeps the lease. */
static void holder_has(holder *self, lk_mode mode, int64_t asked_ns) {
    self->hold = (history_hold){.lock = self->name,
                                .client = self->number,
                                .writes = mode == LK_WRITE,
                                .fence = lk_fence(self->lock),
                                .asked_ns = asked_ns};
    self->slot = NULL;
}

static bool holder_looks(holder *self) {
    int64_t before_ns = history_now_ns();
    bool is_valid = lk_valid(self->lock);
    int64_t after_ns = history_now_ns();
    if (!is_valid)
        return false;
    if (!self->slot)
        self->slot = history_begin(self->past, self->hold);
    if (self->slot)
        history_saw_valid(self->slot, before_ns, after_ns);
    else
        odd("noting a hold", "the history is full");
    return true;
}

/* For so long, or until the hold is no longer valid. It looks closely at the last moments. */
static void holder_watches(holder *self, int64_t ms) {
    int64_t end_ms = now_ms() + ms;
    while (holder_looks(self) && now_ms() < end_ms) {
        if (lk_remaining_ms(self->lock) > HOLDER_SPIN_MS)
            sleep_ms(1);
        else
            sched_yield();
    }
}

/* ------------------------------------------------------------------------------ acting */

static lk_status holder_takes(holder *self, lk_mode mode, int ways) {
    int64_t wait_ms = draw(&self->seed, HOLDER_WAIT_MOST_MS);
    switch (draw(&self->seed, ways)) {
    case 0:
        return mode == LK_WRITE ? lk_trywrlock(self->lock) : lk_tryrdlock(self->lock);
    case 1:
        return mode == LK_WRITE ? lk_timedwrlock(self->lock, wait_ms)
                                : lk_timedrdlock(self->lock, wait_ms);
    default:
        return mode == LK_WRITE ? lk_wrlock(self->lock) : lk_rdlock(self->lock);
    }
}

static void holder_gives(holder *self, lk_mode mode) {
    EXPECT(mode == LK_WRITE ? lk_wrunlock(self->lock) : lk_rdunlock(self->lock), "giving back",
           LK_OK, LK_LOST, LK_UNAVAILABLE);
}

/* For a few milliseconds, or to the end of the hold. A renewed hold ends when the server stalls. */
static void holder_stays(holder *self) {
    int64_t lease_ms = holder_leases_ms[self->name];
    holder_watches(self, draw(&self->seed, 4) ? draw(&self->seed, 8) : lease_ms + 20);
}

static void holder_renews(holder *self) {
    EXPECT(lk_renew(self->lock, 0), "renewing", LK_OK, LK_LOST, LK_UNAVAILABLE);
    holder_stays(self);
}

/* Returns the mode that it holds then. */
static lk_mode holder_downgrades(holder *self) {
    lk_status status = lk_downgrade(self->lock);
    EXPECT(status, "downgrading", LK_OK, LK_LOST, LK_UNAVAILABLE);
    if (status == LK_LOST)
        return LK_WRITE;
    holder_has(self, LK_READ, self->hold.asked_ns);
    holder_stays(self);
    return LK_READ;
}

/* And downgrades again. It does not wait without a limit: another may wait to upgrade, too. */
static void holder_upgrades(holder *self) {
    lk_status status = holder_takes(self, LK_WRITE, 2);
    EXPECT(status, "upgrading", LK_OK, LK_BUSY, LK_TIMEOUT, LK_UNAVAILABLE, LK_LOST, LK_DEADLOCK);
    if (status != LK_OK)
        return;
    holder_has(self, LK_WRITE, self->hold.asked_ns);
    holder_stays(self);
    holder_gives(self, LK_WRITE);
}

static void holder_lives(holder *self) {
    lk_mode mode = draw(&self->seed, 2) ? LK_WRITE : LK_READ;
    int64_t asked_ns = history_now_ns();
    lk_status status = holder_takes(self, mode, 3);
    EXPECT(status, "taking", LK_OK, LK_BUSY, LK_TIMEOUT, LK_UNAVAILABLE);
    if (status != LK_OK)
        return;
    holder_has(self, mode, asked_ns);
    holder_stays(self);
    switch (draw(&self->seed, 6)) {
    case 0:
        holder_renews(self);
        break;
    case 1:
        if (mode == LK_WRITE)
            mode = holder_downgrades(self);
        else
            holder_upgrades(self);
        break;
    default:
        break;
    }
    holder_gives(self, mode);
    if (lk_valid(self->lock))
        odd("given back", "and valid");
}

/* Makes and frees locks. The client does not renew half of them, so that their holds expire. */
void *holder_run(void *context) {
    holder *self = context;
    while (!history_is_over(self->past)) {
        lk_lock_options options = {.lease_ms = holder_leases_ms[self->name],
                                   .policy = (lk_policy)draw(&self->seed, 4),
                                   .manual_renew = draw(&self->seed, 2)};
        if (lk_lock_new(self->client, holder_names[self->name], &options, &self->lock) != LK_OK)
            odd("making a handle", "");
        for (int rounds = 1 + draw(&self->seed, 8); rounds && !history_is_over(self->past);
             rounds--)
            holder_lives(self);
        lk_lock_free(self->lock);
    }
    return NULL;
}
