/* See memory.h. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(bool (*)(void)) refuses_now;

static bool refused(void) {
    bool (*refuses)(void) = atomic_load_explicit(&refuses_now, memory_order_relaxed);
    return refuses && refuses();
}

void lki_memory_refuse(bool (*refuses)(void)) {
    atomic_store(&refuses_now, refuses);
}

void *lki_new(size_t size) {
    return refused() ? NULL : calloc(1, size);
}

void *lki_resize(void *memory, size_t size) {
    return refused() ? NULL : realloc(memory, size);
}

char *lki_copy(const char *text) {
    return text && !refused() ? strdup(text) : NULL;
}

bool lki_copy_to(char **out, const char *text) {
    *out = lki_copy(text);
    return *out || !text;
}

void lki_free(void *memory) {
    free(memory);
}
