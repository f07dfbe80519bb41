/*
 * A shared object for LD_PRELOAD: the wall clock of the program it is loaded into is ahead of the
 * machine's by the number of microseconds that stands in the file $LATCHKEY_TEST_CLOCK. The file
 * is mapped, so a test steps the clock of a running server by writing to it. Other clocks are left
 * alone. See server.h.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const _Atomic int64_t *ahead_us;

__attribute__((constructor)) static void map_file(void) {
    const char *path = getenv("LATCHKEY_TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        abort();
    void *mapped = mmap(NULL, sizeof *ahead_us, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        abort();
    close(fd);
    ahead_us = mapped;
}

static int64_t stepped_us(void) {
    struct timespec now;
    static int (*machine_gettime)(clockid_t, struct timespec *);
    if (!machine_gettime)
        *(void **)&machine_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    machine_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + (ahead_us ? *ahead_us : 0);
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict out,
                                                        void *restrict zone) {
    (void)zone;
    int64_t us = stepped_us();
    *out = (struct timeval){(time_t)(us / 1000000), (suseconds_t)(us % 1000000)};
    return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *out) {
    time_t seconds = (time_t)(stepped_us() / 1000000);
    if (out)
        *out = seconds;
    return seconds;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *out) {
    static int (*machine_gettime)(clockid_t, struct timespec *);
    if (!machine_gettime)
        *(void **)&machine_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    if (clock != CLOCK_REALTIME)
        return machine_gettime(clock, out);
    int64_t us = stepped_us();
    *out = (struct timespec){(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    return 0;
}
