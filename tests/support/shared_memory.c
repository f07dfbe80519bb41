/* See shared_memory.h. */
#include "shared_memory.h"

#include "test_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static shared_memory map(int fd, size_t size) {
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return (shared_memory){.fd = -1};
    return (shared_memory){.bytes = bytes,
                           .size = size,
                           .fd = fd,
                           .path = test_print("/proc/%d/fd/%d", (int)getpid(), fd)};
}

shared_memory shared_memory_make(size_t size) {
    int fd = memfd_create("latchkey-test", MFD_CLOEXEC);
    shared_memory made = {.fd = -1};
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        made = map(fd, size);
    if (!made.bytes) {
        perror("shared memory");
        abort();
    }
    return made;
}

shared_memory shared_memory_open(const char *path) {
    struct stat status;
    shared_memory opened = {.fd = -1};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return opened;
    if (fstat(fd, &status) == 0)
        opened = map(fd, (size_t)status.st_size);
    if (!opened.bytes)
        close(fd);
    return opened;
}

void shared_memory_close(shared_memory *memory) {
    if (!memory->bytes)
        return;
    munmap(memory->bytes, memory->size);
    close(memory->fd);
    free(memory->path);
    *memory = (shared_memory){.fd = -1};
}
