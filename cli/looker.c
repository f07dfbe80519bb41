/* See looker.h. `slot`, `full` and `ends` belong to the mutex; all else is set before the thread. */
#include "looker.h"

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

enum { INTERVAL_LEAST_MS = 10, INTERVAL_MOST_MS = 3600000, LAST_LOOK_S = 1 };

struct looker {
    lk_client *client;
    const char *pattern;
    int64_t interval_ms;
    int fd;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ending;
    look slot;
    bool full, ends;
};

static void hand_over(looker *self, look seen) {
    static const uint64_t one = 1;
    pthread_mutex_lock(&self->mutex);
    if (self->full)
        snapshot_free(self->slot.seen);
    self->slot = seen;
    self->full = true;
    pthread_mutex_unlock(&self->mutex);
    if (write(self->fd, &one, sizeof one) < 0)
        return; /* never full */
}

/* False: it is to end. */
static bool rest(looker *self) {
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
    looker *self = arg;
    do {
        look seen = {0};
        seen.status = snapshot_take(self->client, self->pattern, &seen.seen);
        if (seen.status != LK_OK)
            sentence_translate(snapshot_error(seen.status), seen.error, sizeof seen.error);
        hand_over(self, seen);
    } while (rest(self));
    return NULL;
}

static int start_thread(looker *self) {
    sigset_t all, before;
    sigfillset(&all); /* signals, a new size of the terminal among them, are for the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&self->thread, NULL, work, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static void discard(looker *self) {
    if (self->full)
        snapshot_free(self->slot.seen);
    if (self->fd >= 0)
        close(self->fd);
    pthread_cond_destroy(&self->ending);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

looker *looker_start(lk_client *client, const char *pattern, int64_t interval_ms) {
    looker *self = calloc(1, sizeof *self);
    pthread_condattr_t monotonic;
    if (!self)
        return NULL;
    *self = (looker){.client = client, .pattern = pattern, .interval_ms = interval_ms};
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

void looker_end(looker *self) {
    pthread_mutex_lock(&self->mutex);
    self->ends = true;
    pthread_cond_signal(&self->ending);
    pthread_mutex_unlock(&self->mutex);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LAST_LOOK_S;
    if (pthread_timedjoin_np(self->thread, NULL, &until) != 0) {
        pthread_detach(self->thread); /* it waits for the server, and ends with the process */
        return;
    }
    lk_close(self->client);
    discard(self);
}

int looker_fd(const looker *self) {
    return self->fd;
}

bool looker_get(looker *self, look *out) {
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

int looker_interval(const char *text, int64_t *interval_ms) {
    int64_t ms;
    if (!duration_read(text, &ms) || ms < INTERVAL_LEAST_MS || ms > INTERVAL_MOST_MS)
        return say_usage("an interval is from 10ms to 1h, not %s", text);
    *interval_ms = ms;
    return 0;
}
