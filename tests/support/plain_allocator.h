/* The core's allocator where a test or benchmark has no wishes: malloc and free. */
#ifndef TEST_PLAIN_ALLOCATOR_H
#define TEST_PLAIN_ALLOCATOR_H

#include "core.h"

#include <stdlib.h>

static inline void *plain_allocate(size_t size, void *context) {
    (void)context;
    return malloc(size);
}

static inline void plain_release(void *memory, void *context) {
    (void)context;
    free(memory);
}

static const lkc_allocator plain_allocator = {plain_allocate, plain_release, NULL};

#endif
