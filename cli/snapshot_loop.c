/* See snapshot_loop.h. The mutex protects `slot`, `full` and `ends`. The other fields never change. */
#include "snapshot_loop.h"

#include "duration.h"
#include "say.h"
#include "sentence.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { INTERVAL_LEAST_MS = 10, INTERVAL_MOST_MS = 3600000, LAST_REQUEST_S = 1 };

struct snapshot_loop {
    lk_client *client;
    const char *pattern;
    int64_t interval_ms;
    int fd;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ending;
    snapshot_result slot;
    bool full, ends;
};

static void hand_over(snapshot_loop *self, snapshot_result got) {
    static const uint64_t one = 1;
    pthread_mutex_lock(&self->mutex);
    if (self->full)
        snapshot_free(self->slot.snapshot);
    self->slot = got;
    self->full = true;
    pthread_mutex_unlock(&self->mutex);
    if (write(self->fd, &one, sizeof one) < 0)
        return; /* cannot fail: the counter is never full */
}

/* False: the thread must end. */
static bool wait_for_next(snapshot_loop *self) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + self->interval_ms % 1000 * 1000000;
    until.tv_sec += (time_t)(self->interval_ms / 1000 + ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    int over = 0;
    pthread_mutex_lock(&self->mutex);
    while (!self->ends && over == 0)
        over = pthread_cond_timedwait(&self->ending, &self->mutex, &until);
    bool ends = self->ends;
    pthread_mutex_unlock(&self->mutex);
    return !ends;
}

static void *work(void *arg) {
    snapshot_loop *self = arg;
    do {
        snapshot_result got = {0};
        got.status = snapshot_take(self->client, self->pattern, &got.snapshot);
        if (got.status != LK_OK)
            sentence_translate(snapshot_error(got.status), got.error, sizeof got.error);
        hand_over(self, got);
    } while (wait_for_next(self));
    return NULL;
}

static int start_thread(snapshot_loop *self) {
    sigset_t all, before;
    sigfillset(&all); /* the main thread handles all signals, for example SIGWINCH */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&self->thread, NULL, work, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static void discard(snapshot_loop *self) {
    if (self->full)
        snapshot_free(self->slot.snapshot);
    if (self->fd >= 0)
        close(self->fd);
    pthread_cond_destroy(&self->ending);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

snapshot_loop *snapshot_loop_start(lk_client *client, const char *pattern, int64_t interval_ms) {
    snapshot_loop *self = calloc(1, sizeof *self);
    pthread_condattr_t monotonic;
    if (!self)
        return NULL;
    *self = (snapshot_loop){.client = client, .pattern = pattern, .interval_ms = interval_ms};
    pthread_mutex_init(&self->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&self->ending, &monotonic);
    pthread_condattr_destroy(&monotonic);
    self->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->fd >= 0 && start_thread(self) == 0)
        return self;
    discard(self);
    return NULL;
}

void snapshot_loop_end(snapshot_loop *self) {
    pthread_mutex_lock(&self->mutex);
    self->ends = true;
    pthread_cond_signal(&self->ending);
    pthread_mutex_unlock(&self->mutex);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LAST_REQUEST_S;
    if (pthread_timedjoin_np(self->thread, NULL, &until) != 0) {
        pthread_detach(self->thread); /* it still waits for the server, and ends with the process */
        return;
    }
    lk_close(self->client);
    discard(self);
}

int snapshot_loop_fd(const snapshot_loop *self) {
    return self->fd;
}

bool snapshot_loop_get(snapshot_loop *self, snapshot_result *out) {
    uint64_t count;
    if (read(self->fd, &count, sizeof count) < 0)
        return false;
    pthread_mutex_lock(&self->mutex);
    bool full = self->full;
    if (full)
        *out = self->slot;
    self->full = false;
    pthread_mutex_unlock(&self->mutex);
    return full;
}

int snapshot_loop_read_interval(const char *text, int64_t *interval_ms) {
    int64_t ms;
    if (!duration_read(text, &ms) || ms < INTERVAL_LEAST_MS || ms > INTERVAL_MOST_MS)
        return say_usage("--interval %s is not valid; it must be 10ms to 1h", text);
    *interval_ms = ms;
    return 0;
}
