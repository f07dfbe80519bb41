/* See hand.h. */
#include "hand.h"

#include "draw.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { WAIT_MOST_MS = 300, STAY_MOST_MS = 12, SPIN_MS = 3, ROUNDS_MOST = 12, CANCEL_MOST_MS = 20 };

/* The status must be one of the others. */
#define EXPECT(self, status, what, ...)                                               \
    do {                                                                              \
        static const lk_status expected[] = {__VA_ARGS__};                            \
        expect((self), (status), what, expected, sizeof expected / sizeof *expected); \
    } while (0)

static void expect(const hand *self, lk_status status, const char *what, const lk_status *some,
                   size_t count) {
    for (size_t i = 0; i < count; i++)
        if (status == some[i])
            return;
    worker_odd(self->worker, what, lk_status_name(status));
}

static const journal_settings *settings_of(const hand *self) {
    return journal_get_settings(self->worker->notes);
}

static int64_t lease_ms_of(const hand *self) {
    return settings_of(self)->leases_ms[self->lock];
}

/* ------------------------------------------------------------------------------ notes */

static journal_call *begin_call(const hand *self, call_kind kind, lk_mode mode) {
    return journal_begin(self->worker->notes, (journal_call){.worker = self->worker->order.number,
                                                             .lock = self->lock,
                                                             .handle = self->handle,
                                                             .kind = kind,
                                                             .mode = mode});
}

static lk_status end_call(const hand *self, journal_call *call, lk_status status) {
    journal_end(self->worker->notes, call, status, status == LK_OK ? lk_fence(self->taken) : 0);
    return status;
}

static void note_loss(lk_lock *lock, void *notes) {
    (void)lock;
    journal_lost(notes);
}

/* asked_ns: when it asked for this lease; an upgrade or downgrade keeps the lease. */
static void has(hand *self, lk_mode mode, int64_t asked_ns) {
    self->hold = (history_hold){.lock = self->lock,
                                .client = self->worker->client_number,
                                .writes = mode == LK_WRITE,
                                .fence = lk_fence(self->taken),
                                .asked_ns = asked_ns};
    self->slot = NULL;
    self->run = mode == LK_WRITE ? store_new_hold(self->worker->cells) : 0;
}

static bool looks(hand *self) {
    int64_t before_ns = history_now_ns();
    bool is_valid = lk_valid(self->taken);
    int64_t after_ns = history_now_ns();
    if (!is_valid)
        return false;
    if (!self->slot)
        self->slot = history_begin(self->worker->past, self->hold);
    if (self->slot)
        history_saw_valid(self->slot, before_ns, after_ns);
    return true;
}

/* ------------------------------------------------------------------------------ the hold */

/* A careless writer: it does not ask lk_valid() first. The store must refuse it if it is late. */
static void writes(const hand *self) {
    if (self->run)
        store_write(self->worker->cells,
                    (store_run){.lock = self->lock, .hold = self->run, .fence = self->hold.fence});
}

/* For so long, or until the hold is no longer valid. It looks closely at the last moments. */
static void watches(hand *self, int64_t ms) {
    int64_t end_ns = history_now_ns() + ms * 1000000;
    bool is_valid;
    do {
        is_valid = looks(self);
        writes(self);
        if (lk_remaining_ms(self->taken) > SPIN_MS)
            usleep(1000);
        else
            sched_yield();
    } while (is_valid && history_now_ns() < end_ns && !history_is_over(self->worker->past));
}

/* For a few milliseconds; now and then for long; or to the end of a short lease. */
static void stays(hand *self) {
    int64_t ms = draw(&self->seed, STAY_MOST_MS), lease_ms = lease_ms_of(self);
    int way = draw(&self->seed, 24);
    if (way == 0)
        ms = draw(&self->seed, (int)settings_of(self)->longest_hold_ms);
    else if (way < 3 && lease_ms <= 500)
        ms = lease_ms + SPIN_MS;
    watches(self, ms);
}

/* ------------------------------------------------------------------------------ calls */

typedef struct {
    _Atomic lk_status status;
    atomic_bool over;
} outcome;

static void note_outcome(lk_lock *lock, lk_status status, void *context) {
    (void)lock;
    outcome *one = context;
    atomic_store(&one->status, status);
    atomic_store(&one->over, true);
}

static lk_status await(outcome *one) {
    while (!atomic_load(&one->over))
        usleep(500);
    return atomic_load(&one->status);
}

static lk_status takes_async(hand *self, lk_mode mode) {
    outcome one = {0};
    int64_t wait_ms = draw(&self->seed, 3) ? draw(&self->seed, WAIT_MOST_MS) : -1;
    lk_status status = lk_acquire_async(self->taken, mode, wait_ms, note_outcome, &one);
    if (status != LK_OK)
        return status;
    if (draw(&self->seed, 6) == 0) {
        usleep((useconds_t)draw(&self->seed, CANCEL_MOST_MS) * 1000);
        lk_cancel(self->taken);
    }
    return await(&one);
}

static lk_status takes(hand *self, call_kind kind, lk_mode mode) {
    int64_t wait_ms = draw(&self->seed, WAIT_MOST_MS);
    switch (kind) {
    case CALL_TRY:
        return mode == LK_WRITE ? lk_trywrlock(self->taken) : lk_tryrdlock(self->taken);
    case CALL_BLOCKING:
        return mode == LK_WRITE ? lk_wrlock(self->taken) : lk_rdlock(self->taken);
    case CALL_ASYNC:
        return takes_async(self, mode);
    default:
        return mode == LK_WRITE ? lk_timedwrlock(self->taken, wait_ms)
                                : lk_timedrdlock(self->taken, wait_ms);
    }
}

static lk_status gives_async(hand *self, lk_mode mode) {
    outcome one = {0};
    lk_status status = lk_release_async(self->taken, mode, note_outcome, &one);
    return status == LK_OK ? await(&one) : status;
}

static lk_status gives_blocking(hand *self, lk_mode mode) {
    return mode == LK_WRITE ? lk_wrunlock(self->taken) : lk_rdunlock(self->taken);
}

static void gives(hand *self, lk_mode mode) {
    journal_call *call = begin_call(self, CALL_RELEASE, mode);
    lk_status status = draw(&self->seed, 5) ? gives_blocking(self, mode) : gives_async(self, mode);
    end_call(self, call, status);
    EXPECT(self, status, "releasing", LK_OK, LK_LOST, LK_UNAVAILABLE);
    if (draw(&self->seed, 8) == 0)
        writes(self); /* as a write that was on its way when the lock was released */
}

static void renews(hand *self) {
    journal_call *call = begin_call(self, CALL_RENEW, LK_READ);
    lk_status status = end_call(self, call, lk_renew(self->taken, 0));
    EXPECT(self, status, "renewing", LK_OK, LK_LOST, LK_UNAVAILABLE);
    stays(self);
}

/* Returns the mode that it holds then. */
static lk_mode downgrades(hand *self) {
    journal_call *call = begin_call(self, CALL_DOWNGRADE, LK_READ);
    lk_status status = end_call(self, call, lk_downgrade(self->taken));
    EXPECT(self, status, "downgrading", LK_OK, LK_LOST, LK_UNAVAILABLE);
    if (status == LK_LOST)
        return LK_WRITE;
    has(self, LK_READ, self->hold.asked_ns);
    stays(self);
    return LK_READ;
}

/* And releases the write. It does not wait without a limit: others may hold reads for long. */
static void upgrades(hand *self) {
    journal_call *call = begin_call(self, CALL_UPGRADE, LK_WRITE);
    lk_status status =
        end_call(self, call, takes(self, draw(&self->seed, 2) ? CALL_TRY : CALL_TIMED, LK_WRITE));
    EXPECT(self, status, "upgrading", LK_OK, LK_BUSY, LK_TIMEOUT, LK_UNAVAILABLE, LK_LOST,
           LK_DEADLOCK);
    if (status != LK_OK)
        return;
    has(self, LK_WRITE, self->hold.asked_ns);
    stays(self);
    gives(self, LK_WRITE);
}

static void lives(hand *self) {
    lk_mode mode = draw(&self->seed, 2) ? LK_WRITE : LK_READ;
    call_kind kind = (call_kind)draw(&self->seed, CALL_ASYNC + 1);
    int64_t asked_ns = history_now_ns();
    journal_call *call = begin_call(self, kind, mode);
    lk_status status = end_call(self, call, takes(self, kind, mode));
    EXPECT(self, status, "acquiring", LK_OK, LK_BUSY, LK_TIMEOUT, LK_CANCELED, LK_UNAVAILABLE);
    if (status == LK_UNAVAILABLE)
        usleep(1000); /* a server that refuses at once is not to be asked all the time */
    if (status != LK_OK)
        return;
    has(self, mode, asked_ns);
    stays(self);
    switch (draw(&self->seed, 6)) {
    case 0:
        renews(self);
        break;
    case 1:
        if (mode == LK_WRITE)
            mode = downgrades(self);
        else
            upgrades(self);
        break;
    default:
        break;
    }
    gives(self, mode);
    if (lk_valid(self->taken))
        worker_odd(self->worker, "released", "and still valid");
}

/* Makes and frees handles. The client does not renew some of them, so that short holds expire. */
void *hand_run(void *context) {
    hand *self = context;
    const worker_self *process = self->worker;
    while (!history_is_over(process->past)) {
        char owner[JOURNAL_OWNER_SIZE];
        self->lock = (unsigned)draw(&self->seed, JOURNAL_LOCKS);
        self->handle = journal_new_handle(process->notes);
        journal_owner(self->handle, owner);
        lk_lock_options options = {.lease_ms = lease_ms_of(self),
                                   .policy = journal_locks[self->lock].policy,
                                   .owner = owner,
                                   .manual_renew = draw(&self->seed, 3) == 0,
                                   .on_lost = note_loss,
                                   .on_lost_arg = process->notes};
        if (lk_lock_new(process->client, journal_locks[self->lock].name, &options, &self->taken) !=
            LK_OK)
            worker_odd(process, "making a handle", "");
        for (int i = draw(&self->seed, ROUNDS_MOST); i >= 0 && !history_is_over(process->past); i--)
            lives(self);
        lk_lock_free(self->taken);
    }
    return NULL;
}
