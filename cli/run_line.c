/*
 * The status line on a terminal: who holds the lock, and our place in the queue. It has a thread of its
 * own, because a server that does not answer must not delay signals. --server-timeout uses the same
 * thread without a terminal, to know since when the server is silent.
 */
#include "duration.h"
#include "run.h"
#include "table.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 300, EVERY_MS = 1000, SILENT_MS = 3000, LAST_S = 1, TEXT_SIZE = 1000 };

struct run_line {
    const run *self;
    int64_t began_ms;
    pthread_t thread;
    pthread_mutex_t mutex; /* protects the terminal and the fields below */
    bool shown, ends;
    int64_t silent_since_ms; /* the start of the first request since the last answer; or never */
    bool is_away;            /* the last request failed: the server is away */
    char why[TEXT_SIZE];     /* the reason: " (…)", or "" */
    pthread_cond_t ending;
};

static size_t place_of(const lk_info *info, const char *owner) {
    for (size_t i = 0; i < info->waiter_count; i++)
        if (strcmp(info->waiters[i].owner, owner) == 0)
            return i + 1;
    return 0;
}

static void describe_holders(const lk_info *info, char *text, size_t size) {
    char age[DURATION_SIZE];
    if (!info->holder_count) {
        snprintf(text, size, "nobody holds it");
        return;
    }
    const lk_holder_info *first = &info->holders[0];
    int length = snprintf(text, size, "held by %s on %s, pid %lld, for %s", first->app, first->host,
                          (long long)first->pid, duration_write(first->held_ms, age));
    if (info->holder_total > 1 && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, " and %zu more", info->holder_total - 1);
}

/* Cuts the line to the width of the terminal: a line that wraps cannot be removed. */
static void fit(char *line) {
    struct winsize size = {0};
    size_t room = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    for (; *line; line++) {
        bool continues =
            ((unsigned char)*line & 0xC0) == 0x80; /* a byte inside a UTF-8 character */
        if (!continues && --room == 0)
            break;
    }
    *line = '\0';
}

/* False without a terminal, in the background, and while Ctrl-S has stopped the terminal. */
static bool may_show(void) {
    pid_t front = tcgetpgrp(STDERR_FILENO);
    return isatty(STDERR_FILENO) && (front < 0 || front == getpgrp()) && run_can_write_stderr();
}

static void put(char *text) {
    text_sanitize(text);
    fit(text);
    dprintf(STDERR_FILENO, "\r\033[K%s", text);
}

static void show(run_line *line, const lk_info *info) {
    char holder[300], waited[DURATION_SIZE], text[TEXT_SIZE];
    describe_holders(info, holder, sizeof holder);
    snprintf(text, sizeof text, "waiting for %s: %s; place %zu of %zu, waited %s", line->self->name,
             holder, place_of(info, lk_owner(line->self->lock)), info->waiter_total,
             duration_write(monotonic_ms() - line->began_ms, waited));
    put(text);
    line->shown = true;
}

static void show_outage(run_line *line) {
    char waited[DURATION_SIZE], text[2 * TEXT_SIZE];
    snprintf(text, sizeof text, "waiting for %s: the server does not answer; waited %s%s",
             line->self->name, duration_write(monotonic_ms() - line->began_ms, waited), line->why);
    put(text);
    line->shown = true;
}

/* Called with the mutex held. False: the thread must end. */
static bool pause_for(run_line *line, int64_t ms) {
    struct timespec until;
    int over = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + ms % 1000 * 1000000;
    until.tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    while (!line->ends && over == 0)
        over = pthread_cond_clockwait(&line->ending, &line->mutex, CLOCK_MONOTONIC, &until);
    return !line->ends;
}

/* Called with the mutex held, and unlocks it meanwhile. Sets *info, or is_away and why. */
static lk_status ask(run_line *line, lk_info **info) {
    if (line->silent_since_ms == RUN_NEVER_MS)
        line->silent_since_ms = monotonic_ms();
    pthread_mutex_unlock(&line->mutex);
    lk_status status = lk_inspect(line->self->client, line->self->name, info);
    pthread_mutex_lock(&line->mutex);
    line->is_away = status == LK_UNAVAILABLE;
    if (!line->is_away)
        line->silent_since_ms = RUN_NEVER_MS;
    line->why[0] = '\0';
    if (line->is_away)
        snprintf(line->why, sizeof line->why, " (%s)", run_reason(line->self, lk_last_error()));
    return status;
}

static void *update_line(void *arg) {
    run_line *line = arg;
    pthread_mutex_lock(&line->mutex);
    for (int64_t ms = FIRST_MS; pause_for(line, ms); ms = EVERY_MS) {
        lk_info *info = NULL;
        lk_status status = ask(line, &info);
        if (!line->ends && may_show()) {
            if (status == LK_OK)
                show(line, info);
            else if (line->is_away)
                show_outage(line);
        }
        lk_info_free(info);
    }
    pthread_mutex_unlock(&line->mutex);
    return NULL;
}

void run_line_tick(run_line *line) {
    pthread_mutex_lock(&line->mutex);
    bool is_silent = line->silent_since_ms <= monotonic_ms() - SILENT_MS;
    if ((line->is_away || is_silent) && may_show())
        show_outage(line);
    pthread_mutex_unlock(&line->mutex);
}

int64_t run_line_silent_since_ms(run_line *line) {
    pthread_mutex_lock(&line->mutex);
    int64_t since_ms = line->silent_since_ms;
    pthread_mutex_unlock(&line->mutex);
    return since_ms;
}

run_line *run_line_start(const run *self) {
    bool is_needed = isatty(STDERR_FILENO) || self->server_timeout_ms >= 0;
    run_line *line = is_needed ? calloc(1, sizeof *line) : NULL;
    if (!line)
        return NULL;
    line->self = self;
    line->silent_since_ms = RUN_NEVER_MS;
    line->began_ms = monotonic_ms();
    pthread_mutex_init(&line->mutex, NULL);
    pthread_cond_init(&line->ending, NULL);
    if (pthread_create(&line->thread, NULL, update_line, line) == 0)
        return line;
    free(line);
    return NULL;
}

void run_line_end(run_line *line) {
    if (!line)
        return;
    pthread_mutex_lock(&line->mutex);
    line->ends = true;
    pthread_cond_signal(&line->ending);
    if (line->shown)
        dprintf(STDERR_FILENO, "\r\033[K");
    pthread_mutex_unlock(&line->mutex);
}

bool run_line_free(run_line *line) {
    struct timespec until;
    if (!line)
        return true;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LAST_S;
    if (pthread_timedjoin_np(line->thread, NULL, &until) != 0)
        return false;
    pthread_cond_destroy(&line->ending);
    pthread_mutex_destroy(&line->mutex);
    free(line);
    return true;
}

/* ------------------------------------------------------------------------------ without a run_line */

static bool is_put;

void run_line_put(const char *format, ...) {
    char text[TEXT_SIZE];
    va_list arguments;
    if (!may_show())
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(text);
    is_put = true;
}

void run_line_clear(void) {
    if (is_put)
        dprintf(STDERR_FILENO, "\r\033[K");
    is_put = false;
}
