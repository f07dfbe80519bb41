/* See driver.h. */
#include "driver.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 256 * 1024, FOREVER_S = 3600 };

typedef struct {
    int64_t at_us, wait_us;
    bool write;
} grant;

typedef struct {
    const drive_lock *lock;
    drive_handle *handle;
    pthread_t thread;
    size_t number;
    bool write;
    int hold_us, reads; /* % */
    int64_t end_us, stop_us;
    double *pairs_us;
    grant *grants;
    size_t count, room;
} worker;

static pthread_barrier_t start;

void drive_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("driver: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    exit(1);
}

int64_t drive_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void sleep_us(int us) {
    struct timespec pause = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};
    nanosleep(&pause, NULL);
}

static void *grown(void *items, size_t count, size_t *room, size_t size) {
    if (count < *room)
        return items;
    *room = *room ? *room * 2 : 4096;
    void *more = realloc(items, *room * size);
    if (!more)
        drive_fail("out of memory");
    return more;
}

/* The word that lets it begin. */
void drive_ready(void) {
    char line[64];
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        exit(0); /* it is not wanted any more */
}

static int unsupported(void) {
    puts("unsupported");
    return 0;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void drive_print_pairs(double *us, size_t count, double seconds) {
    if (count == 0)
        drive_fail("not a single pair was done");
    qsort(us, count, sizeof *us, compare);
    printf("{\"pairs\": %zu, \"seconds\": %.6f, \"p50\": %.2f, \"p99\": %.2f}\n", count, seconds,
           us[count / 2], us[count * 99 / 100]);
}

static void do_pairs(worker *self) {
    while (drive_now_us() < self->end_us) {
        double began = now_us();
        if (!self->lock->lock(self->handle, self->write, self->end_us + 10000000))
            drive_fail("a lock that nobody has was not got");
        self->lock->unlock(self->handle, self->write);
        self->pairs_us = grown(self->pairs_us, self->count, &self->room, sizeof *self->pairs_us);
        self->pairs_us[self->count++] = now_us() - began;
    }
}

static void *work_on_pairs(void *arg) {
    worker *self = arg;
    pthread_barrier_wait(&start);
    do_pairs(self);
    return NULL;
}

static void *contend(void *arg) {
    worker *self = arg;
    unsigned seed = (unsigned)(self->number * 7919 + (size_t)getpid());
    pthread_barrier_wait(&start);
    while (drive_now_us() < self->end_us) {
        bool write = (int)(rand_r(&seed) % 100) >= self->reads;
        int64_t asked = drive_now_us();
        if (!self->lock->lock(self->handle, write, self->stop_us))
            break;
        int64_t got = drive_now_us();
        self->grants = grown(self->grants, self->count, &self->room, sizeof *self->grants);
        self->grants[self->count++] = (grant){.at_us = got, .wait_us = got - asked, .write = write};
        if (self->hold_us)
            sleep_us(self->hold_us);
        self->lock->unlock(self->handle, write);
    }
    return NULL;
}

/* Begins them when told to; returns how long they worked. */
static double run_all(worker *workers, size_t count, double seconds, void *(*body)(void *)) {
    pthread_attr_t attributes;
    pthread_barrier_init(&start, NULL, (unsigned)count + 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (size_t i = 0; i < count; i++)
        if (pthread_create(&workers[i].thread, &attributes, body, &workers[i]) != 0)
            drive_fail("thread %zu of %zu was not made", i, count);
    drive_ready();
    int64_t began = drive_now_us();
    for (size_t i = 0; i < count; i++) {
        workers[i].end_us = began + (int64_t)(seconds * 1e6);
        workers[i].stop_us = began + (int64_t)(2 * seconds * 1e6);
    }
    pthread_barrier_wait(&start);
    for (size_t i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    return (double)(drive_now_us() - began) / 1e6;
}

static worker *new_workers(const drive_lock *lock, size_t count) {
    worker *workers = calloc(count, sizeof *workers);
    if (!workers)
        drive_fail("out of memory");
    for (size_t i = 0; i < count; i++)
        workers[i] = (worker){.lock = lock, .number = i};
    return workers;
}

/* A first pair of each: connections are open, and scripts loaded. */
static void warm_up(const drive_lock *lock, drive_handle *handle, bool write) {
    if (!lock->lock(handle, write, drive_now_us() + 10000000))
        drive_fail("a lock that nobody has was not got");
    lock->unlock(handle, write);
}

static int drive_pairs(const drive_lock *lock, const drive_setting *setting, char **words) {
    bool write = strcmp(words[0], "write") == 0;
    size_t threads = strtoul(words[1], NULL, 10), total = 0;
    if (!write && !lock->reads)
        return unsupported();
    lock->open(setting, threads);
    worker *workers = new_workers(lock, threads);
    for (size_t i = 0; i < threads; i++) {
        workers[i].write = write;
        workers[i].handle = lock->handle(i);
        warm_up(lock, workers[i].handle, write);
    }
    double seconds = run_all(workers, threads, strtod(words[2], NULL), work_on_pairs);
    for (size_t i = 0; i < threads; i++)
        total += workers[i].count;
    double *all = malloc(total * sizeof *all);
    if (!all)
        drive_fail("out of memory");
    for (size_t i = 0, at = 0; i < threads; at += workers[i++].count)
        memcpy(all + at, workers[i].pairs_us, workers[i].count * sizeof *all);
    drive_print_pairs(all, total, seconds);
    return 0;
}

static int drive_contend(const drive_lock *lock, const drive_setting *setting, char **words) {
    size_t threads = strtoul(words[0], NULL, 10);
    int reads = atoi(words[2]);
    double seconds = strtod(words[3], NULL);
    const char *comma = "";
    if (reads && !lock->reads)
        return unsupported();
    lock->open(setting, threads);
    worker *workers = new_workers(lock, threads);
    for (size_t i = 0; i < threads; i++) {
        workers[i].hold_us = atoi(words[1]);
        workers[i].reads = reads;
        workers[i].handle = lock->handle(0);
    }
    run_all(workers, threads, seconds, contend);
    printf("{\"seconds\": %.6f, \"grants\": [", seconds);
    for (size_t i = 0; i < threads; i++)
        for (size_t j = 0; j < workers[i].count; j++) {
            const grant *one = &workers[i].grants[j];
            if (one->at_us > workers[i].end_us)
                continue;
            printf("%s[%lld,%zu,%lld,%d]", comma, (long long)one->at_us, i, (long long)one->wait_us,
                   one->write);
            comma = ",";
        }
    puts("]}");
    return 0;
}

static int drive_readers(const drive_lock *lock, const drive_setting *setting, char **words) {
    size_t count = strtoul(words[0], NULL, 10);
    if (!lock->reads)
        return unsupported();
    lock->open(setting, count + 1);
    for (size_t i = 0; i < count; i++)
        if (!lock->lock(lock->handle(0), false, drive_now_us() + 60000000))
            drive_fail("reader %zu of %zu did not get it", i, count);
    worker self = {.lock = lock, .handle = lock->handle(0)};
    warm_up(lock, self.handle, false);
    drive_ready();
    double began = now_us();
    self.end_us = drive_now_us() + (int64_t)(strtod(words[1], NULL) * 1e6);
    do_pairs(&self);
    drive_print_pairs(self.pairs_us, self.count, (now_us() - began) / 1e6);
    return 0;
}

static void renew_until(const drive_lock *lock, drive_handle **handles, size_t count,
                        int64_t third_us, int64_t until_us) {
    for (int64_t next = drive_now_us() + third_us; drive_now_us() < until_us; next += third_us) {
        int64_t to = next < until_us ? next : until_us;
        while (drive_now_us() < to)
            sleep_us(10000);
        for (size_t i = 0; lock->renew && to == next && i < count; i++)
            lock->renew(handles[i]);
    }
}

static int drive_hold(const drive_lock *lock, const drive_setting *setting, size_t count,
                      double seconds) {
    drive_handle **handles = calloc(count, sizeof *handles);
    size_t lost = 0;
    if (!handles)
        drive_fail("out of memory");
    lock->open(setting, count);
    for (size_t i = 0; i < count; i++) {
        handles[i] = lock->handle(i);
        if (!lock->lock(handles[i], true, drive_now_us() + 10000000))
            drive_fail("lock %zu of %zu was not got", i, count);
    }
    drive_ready();
    renew_until(lock, handles, count, setting->lease_ms * 1000 / 3,
                drive_now_us() + (int64_t)(seconds * 1e6));
    for (size_t i = 0; i < count; i++)
        lost += !lock->is_held(handles[i]);
    printf("{\"held\": %zu, \"lost\": %zu}\n", count, lost);
    return 0;
}

static int drive_await(const drive_lock *lock, const drive_setting *setting) {
    lock->open(setting, 1);
    drive_handle *handle = lock->handle(0);
    puts("ready");
    fflush(stdout);
    if (!lock->lock(handle, true, drive_now_us() + FOREVER_S * 1000000LL))
        drive_fail("it was not got");
    printf("{\"at\": %lld}\n", (long long)drive_now_us());
    return 0;
}

int drive(const drive_lock *lock, int count, char **words) {
    if (count == 2 && strcmp(words[1], "about") == 0) {
        lock->about();
        return 0;
    }
    if (count < 5)
        drive_fail("drive about | drive SOCKET LEASE_MS LOCK VERB [WORD…]");
    drive_setting setting = {.socket = words[1], .lease_ms = atoll(words[2]), .lock = words[3]};
    const char *verb = words[4];
    if (strcmp(verb, "pairs") == 0 && count == 8)
        return drive_pairs(lock, &setting, words + 5);
    if (strcmp(verb, "contend") == 0 && count == 9)
        return drive_contend(lock, &setting, words + 5);
    if (strcmp(verb, "readers") == 0 && count == 7)
        return drive_readers(lock, &setting, words + 5);
    if (strcmp(verb, "hold") == 0 && count == 7)
        return drive_hold(lock, &setting, strtoul(words[5], NULL, 10), strtod(words[6], NULL));
    if (strcmp(verb, "keep") == 0 && count == 5)
        return drive_hold(lock, &setting, 1, FOREVER_S);
    if (strcmp(verb, "await") == 0 && count == 5)
        return drive_await(lock, &setting);
    if (strcmp(verb, "ping-pong") == 0 && count == 6) {
        if (!lock->ping_pong)
            return unsupported();
        lock->ping_pong(&setting, strtod(words[5], NULL));
        return 0;
    }
    drive_fail("%s: no such verb, or not its words", verb);
}
