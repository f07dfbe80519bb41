/* See store.h. */
#include "store.h"

#include "journal.h"
#include "shared_memory.h"
#include "test_memory.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct {
    atomic_uint heads[JOURNAL_LOCKS]; /* each the index of a run; 0: none */
    atomic_uint used, holds;
    _Atomic size_t refused;
    store_run runs[]; /* a run does not change once it is in a chain; the first is not used */
} pages;

struct store {
    shared_memory memory;
    pages *shared;
    size_t room;
};

static store *wrap(shared_memory memory) {
    store *self = test_alloc(1, sizeof *self);
    *self = (store){.memory = memory,
                    .shared = memory.bytes,
                    .room = (memory.size - sizeof(pages)) / sizeof(store_run)};
    return self;
}

store *store_new(size_t runs) {
    return wrap(shared_memory_make(sizeof(pages) + (runs + 1) * sizeof(store_run)));
}

const char *store_path(const store *self) {
    return self->memory.path;
}

store *store_open(const char *path) {
    shared_memory memory = shared_memory_open(path);
    return memory.bytes ? wrap(memory) : NULL;
}

void store_free(store *self) {
    if (!self)
        return;
    shared_memory_close(&self->memory);
    free(self);
}

unsigned store_new_hold(store *self) {
    return atomic_fetch_add(&self->shared->holds, 1) + 1;
}

bool store_write(store *self, store_run what) {
    pages *shared = self->shared;
    unsigned mine = 0, head = atomic_load(&shared->heads[what.lock]);
    for (;;) {
        const store_run *latest = &shared->runs[head];
        if (head && latest->hold == what.hold)
            return true;
        if (head && what.fence < latest->fence) {
            atomic_fetch_add(&shared->refused, 1);
            return false;
        }
        if (!mine)
            mine = atomic_fetch_add(&shared->used, 1) + 1;
        if (mine >= self->room)
            return true;
        shared->runs[mine] = what;
        shared->runs[mine].previous = head;
        if (atomic_compare_exchange_strong(&shared->heads[what.lock], &head, mine))
            return true;
    }
}

size_t store_refused(const store *self) {
    return atomic_load(&self->shared->refused);
}

store_run *store_read(const store *self, unsigned lock, size_t *count) {
    const pages *shared = self->shared;
    unsigned head = atomic_load(&shared->heads[lock]);
    *count = 0;
    for (unsigned i = head; i; i = shared->runs[i].previous)
        ++*count;
    store_run *runs = test_alloc(*count + 1, sizeof *runs);
    size_t next = 0;
    for (unsigned i = head; i; i = shared->runs[i].previous)
        runs[next++] = shared->runs[i];
    return runs;
}
