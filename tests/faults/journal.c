/* See journal.h. */
#include "journal.h"

#include "history.h"
#include "shared_memory.h"
#include "test_memory.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIGHTINGS_MOST = 200000, STALLS_MOST = 10000 };

const journal_lock journal_locks[JOURNAL_LOCKS] = {
    {"fair", LK_FAIR},
    {"long", LK_FAIR},
    {"phase", LK_PHASE_FAIR},
    {"writers", LK_PREFER_WRITER},
    {"readers", LK_PREFER_READER},
};

typedef struct {
    journal_settings settings;
    atomic_uint workers, handles;
    _Atomic size_t operations, grants, losses, odd;
    _Atomic size_t called, sighted, stalled; /* also those without room */
    journal_sighting sightings[SIGHTINGS_MOST];
    journal_stall stalls[STALLS_MOST];
    journal_call calls[];
} pages;

struct journal {
    shared_memory memory;
    pages *shared;
    size_t room;
};

static journal *wrap(shared_memory memory) {
    journal *self = test_alloc(1, sizeof *self);
    *self = (journal){.memory = memory,
                      .shared = memory.bytes,
                      .room = (memory.size - sizeof(pages)) / sizeof(journal_call)};
    return self;
}

journal *journal_new(size_t calls, const journal_settings *settings) {
    journal *self = wrap(shared_memory_make(sizeof(pages) + calls * sizeof(journal_call)));
    self->shared->settings = *settings;
    return self;
}

const char *journal_path(const journal *self) {
    return self->memory.path;
}

journal *journal_open(const char *path) {
    shared_memory memory = shared_memory_open(path);
    return memory.bytes ? wrap(memory) : NULL;
}

void journal_free(journal *self) {
    if (!self)
        return;
    shared_memory_close(&self->memory);
    free(self);
}

const journal_settings *journal_get_settings(const journal *self) {
    return &self->shared->settings;
}

unsigned journal_new_worker(journal *self) {
    return atomic_fetch_add(&self->shared->workers, 1) + 1;
}

unsigned journal_new_handle(journal *self) {
    return atomic_fetch_add(&self->shared->handles, 1) + 1;
}

void journal_owner(unsigned handle, char owner[JOURNAL_OWNER_SIZE]) {
    snprintf(owner, JOURNAL_OWNER_SIZE, "h%u", handle);
}

unsigned journal_handle_of(const char *owner) {
    return *owner == 'h' ? (unsigned)strtoul(owner + 1, NULL, 10) : 0;
}

/* ------------------------------------------------------------------------------ noting */

journal_call *journal_begin(journal *self, journal_call what) {
    size_t index = atomic_fetch_add(&self->shared->called, 1);
    atomic_fetch_add(&self->shared->operations, 1);
    if (index >= self->room)
        return NULL;
    journal_call *call = &self->shared->calls[index];
    *call = what;
    call->began_ns = history_now_ns();
    return call;
}

static bool is_acquire(call_kind kind) {
    return kind <= CALL_UPGRADE;
}

void journal_end(journal *self, journal_call *call, lk_status status, uint64_t fence) {
    if (!call)
        return;
    call->status = status;
    call->fence = fence;
    atomic_thread_fence(memory_order_release); /* a killed process leaves no call half ended */
    call->ended_ns = history_now_ns();
    if (status == LK_OK && is_acquire(call->kind))
        atomic_fetch_add(&self->shared->grants, 1);
}

void journal_saw_waiter(journal *self, journal_sighting sighting) {
    size_t index = atomic_fetch_add(&self->shared->sighted, 1);
    if (index < SIGHTINGS_MOST)
        self->shared->sightings[index] = sighting;
}

void journal_stalled(journal *self, journal_stall stall) {
    size_t index = atomic_fetch_add(&self->shared->stalled, 1);
    if (index < STALLS_MOST)
        self->shared->stalls[index] = stall;
}

void journal_lost(journal *self) {
    atomic_fetch_add(&self->shared->losses, 1);
}

void journal_odd(journal *self) {
    atomic_fetch_add(&self->shared->odd, 1);
}

/* ------------------------------------------------------------------------------ reading */

static size_t lower(size_t a, size_t b) {
    return a < b ? a : b;
}

journal_counts journal_count(const journal *self) {
    const pages *shared = self->shared;
    size_t called = atomic_load(&shared->called);
    return (journal_counts){.operations = atomic_load(&shared->operations),
                            .grants = atomic_load(&shared->grants),
                            .losses = atomic_load(&shared->losses),
                            .odd = atomic_load(&shared->odd),
                            .unnoted = called - lower(called, self->room)};
}

const journal_call *journal_calls(const journal *self, size_t *count) {
    *count = lower(atomic_load(&self->shared->called), self->room);
    return self->shared->calls;
}

const journal_sighting *journal_sightings(const journal *self, size_t *count) {
    *count = lower(atomic_load(&self->shared->sighted), SIGHTINGS_MOST);
    return self->shared->sightings;
}

const journal_stall *journal_stalls(const journal *self, size_t *count) {
    *count = lower(atomic_load(&self->shared->stalled), STALLS_MOST);
    return self->shared->stalls;
}

/* ------------------------------------------------------------------------------ telling */

const char *call_kind_name(call_kind kind) {
    static const char *const names[] = {"try",     "timed",   "blocking",  "async",
                                        "upgrade", "release", "downgrade", "renew"};
    return names[kind];
}

void journal_tell(const journal *self, unsigned handle, FILE *out) {
    size_t count;
    const journal_call *calls = journal_calls(self, &count);
    for (size_t i = 0; i < count; i++)
        if (calls[i].handle == handle)
            fprintf(out,
                    "    worker %u: %s (%s), from %" PRId64 " to %" PRId64 " ns: %s, fence %" PRIu64
                    "\n",
                    calls[i].worker, call_kind_name(calls[i].kind),
                    calls[i].mode == LK_WRITE ? "write" : "read", calls[i].began_ns,
                    calls[i].ended_ns,
                    calls[i].ended_ns ? lk_status_name(calls[i].status) : "has not returned",
                    calls[i].fence);
}
