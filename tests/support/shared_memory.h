/*
 * Zeroed memory that processes share. A process that is killed leaves there all that it wrote. A
 * program that another process starts opens the memory by its path, which is good as long as the
 * maker lives.
 */
#ifndef TEST_SHARED_MEMORY_H
#define TEST_SHARED_MEMORY_H

#include <stddef.h>

typedef struct {
    void *bytes;
    size_t size;
    int fd;
    char *path;
} shared_memory;

/* Ends the test when there is no memory. Pages that nobody writes to cost nothing. */
shared_memory shared_memory_make(size_t size);

/* The same memory in another process. `bytes` is NULL when it is not there. */
shared_memory shared_memory_open(const char *path);

void shared_memory_close(shared_memory *); /* of this process */

#endif
