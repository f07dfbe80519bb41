/* See walk_store.h. */
#include "walk_store.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES_FIRST = 1 << 16, ROOM_FIRST = 1 << 15 };

static void *must(void *memory) {
    if (!memory)
        abort();
    return memory;
}

void store_begin(walk_store *store, size_t most) {
    *store = (walk_store){.most = most, .places = PLACES_FIRST, .room = ROOM_FIRST};
    store->table = test_alloc(store->places, sizeof *store->table);
    store->states = test_alloc(store->room, sizeof *store->states);
}

void store_end(walk_store *store) {
    free(store->table);
    free(store->states);
    *store = (walk_store){0};
}

/* The place of the digest, or the free place where it belongs. */
static uint32_t *find(const walk_store *store, const walk_digest *digest) {
    size_t at = digest->words[0] & (store->places - 1);
    while (store->table[at] != 0 &&
           memcmp(&store->states[store->table[at] - 1].digest, digest, sizeof *digest) != 0)
        at = (at + 1) & (store->places - 1);
    return &store->table[at];
}

static void grow_table(walk_store *store) {
    free(store->table);
    store->places *= 2;
    store->table = test_alloc(store->places, sizeof *store->table);
    for (size_t i = 0; i < store->count; i++)
        *find(store, &store->states[i].digest) = (uint32_t)i + 1;
}

bool store_is_full(const walk_store *store) {
    return store->count >= store->most;
}

size_t store_add(walk_store *store, const walk_digest *digest, size_t parent, walk_op op,
                 bool *is_new) {
    uint32_t *place = find(store, digest);
    *is_new = *place == 0;
    if (!*is_new)
        return *place - 1;
    assert(!store_is_full(store));
    if (store->count == store->room) {
        store->room *= 2;
        store->states = must(realloc(store->states, store->room * sizeof *store->states));
    }
    store->states[store->count++] = (walk_state){*digest, (uint32_t)parent, op};
    *place = (uint32_t)store->count;
    if (store->count * 2 > store->places)
        grow_table(store);
    return store->count - 1;
}

void store_path(const walk_store *store, size_t state, walk_path *out) {
    size_t root = state;
    out->count = 0;
    for (; store->states[root].parent != root; root = store->states[root].parent)
        out->count++;
    assert(out->count <= WALK_DEPTH_MOST);
    out->policy = store->states[root].op;
    for (size_t at = out->count; at-- > 0; state = store->states[state].parent)
        out->ops[at] = store->states[state].op;
}
