/* See history.h. */
#include "history.h"

#include "shared_memory.h"
#include "test_memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct history_slot {
    history_hold what;
    _Atomic int64_t from_ns, to_ns; /* from_ns is written last: 0 means that nothing was seen */
};

typedef struct {
    _Atomic size_t used;
    _Atomic unsigned clients;
    atomic_bool over;
    history_slot slots[];
} pages;

struct history {
    shared_memory memory;
    pages *shared;
    size_t room;
};

int64_t history_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static history *wrap(shared_memory memory) {
    history *self = test_alloc(1, sizeof *self);
    *self = (history){.memory = memory,
                      .shared = memory.bytes,
                      .room = (memory.size - sizeof(pages)) / sizeof(history_slot)};
    return self;
}

history *history_new(size_t room) {
    return wrap(shared_memory_make(sizeof(pages) + room * sizeof(history_slot)));
}

const char *history_path(const history *self) {
    return self->memory.path;
}

history *history_open(const char *path) {
    shared_memory memory = shared_memory_open(path);
    return memory.bytes ? wrap(memory) : NULL;
}

void history_free(history *self) {
    if (!self)
        return;
    shared_memory_close(&self->memory);
    free(self);
}

unsigned history_new_client(history *self) {
    return atomic_fetch_add(&self->shared->clients, 1);
}

void history_end(history *self) {
    atomic_store(&self->shared->over, true);
}

bool history_is_over(const history *self) {
    return atomic_load(&self->shared->over);
}

history_slot *history_begin(history *self, history_hold what) {
    size_t index = atomic_fetch_add(&self->shared->used, 1);
    if (index >= self->room)
        return NULL;
    history_slot *slot = &self->shared->slots[index];
    slot->what = what;
    return slot;
}

void history_saw_valid(history_slot *slot, int64_t before_ns, int64_t after_ns) {
    atomic_store(&slot->to_ns, before_ns);
    if (!atomic_load(&slot->from_ns))
        atomic_store(&slot->from_ns, after_ns);
}

history_hold *history_read(const history *self, size_t *count) {
    size_t used = atomic_load(&self->shared->used);
    if (used > self->room)
        used = self->room;
    history_hold *holds = test_alloc(used + 1, sizeof *holds);
    *count = 0;
    for (size_t i = 0; i < used; i++) {
        history_slot *slot = &self->shared->slots[i];
        int64_t from_ns = atomic_load(&slot->from_ns);
        if (!from_ns)
            continue;
        holds[*count] = slot->what;
        holds[*count].from_ns = from_ns;
        holds[(*count)++].to_ns = atomic_load(&slot->to_ns);
    }
    return holds;
}
