/* See socket_loop.h. */
#include "socket_loop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

int64_t socket_loop_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void watch(socket_loop *loop, int fd, short events) {
    loop->watched = test_grow(loop->watched, loop->count, sizeof *loop->watched);
    loop->watched[loop->count++] = (struct pollfd){.fd = fd, .events = events};
}

void socket_loop_watch(socket_loop *loop, int fd, bool to_write) {
    watch(loop, fd, to_write ? POLLOUT : POLLIN);
}

static void wake(socket_loop *loop) {
    uint64_t one = 1;
    if (write(loop->wake, &one, sizeof one) < 0)
        perror("eventfd");
}

static void accept_all(socket_loop *loop) {
    int fd;
    while ((fd = unix_listener_accept(&loop->listener)) >= 0) {
        loop->ever++;
        socket_connection *connection = loop->service->open(loop->owner, fd);
        if (!connection) {
            unix_close(fd);
            continue;
        }
        connection->next = loop->connections;
        loop->connections = connection;
    }
}

void socket_loop_sweep(socket_loop *loop) {
    socket_connection **link = &loop->connections;
    while (*link) {
        socket_connection *each = *link;
        if (each->over) {
            *link = each->next;
            loop->service->close(each);
        } else {
            link = &each->next;
        }
    }
}

/* Returns the ms until somebody wants to be served again, or -1. */
static int serve_all(socket_loop *loop) {
    int most_ms = -1;
    accept_all(loop);
    for (socket_connection *each = loop->connections; each; each = each->next) {
        int own_ms = loop->service->serve(each);
        if (own_ms >= 0 && (most_ms < 0 || own_ms < most_ms))
            most_ms = own_ms;
    }
    socket_loop_sweep(loop);
    return most_ms;
}

/*
 * What poll found is not looked at: serve_all tries everything. A descriptor that was closed during
 * the wait, its number even taken by another, so does no harm.
 */
static void *run(void *argument) {
    socket_loop *loop = argument;
    pthread_mutex_lock(&loop->lock);
    while (!loop->stopping) {
        loop->count = 0;
        int most_ms = serve_all(loop);
        watch(loop, loop->wake, POLLIN);
        watch(loop, loop->listener.fd, POLLIN);
        pthread_cond_broadcast(&loop->served);
        pthread_mutex_unlock(&loop->lock);
        poll(loop->watched, loop->count, most_ms);
        pthread_mutex_lock(&loop->lock);
        uint64_t wakes;
        if (read(loop->wake, &wakes, sizeof wakes) < 0 && errno != EAGAIN)
            perror("eventfd");
    }
    pthread_mutex_unlock(&loop->lock);
    return NULL;
}

/* Signals are for the thread of the test, which knows what to clean up. */
static int start_thread(socket_loop *loop) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&loop->thread, NULL, run, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void clear(socket_loop *loop) {
    close(loop->wake);
    pthread_cond_destroy(&loop->served);
    pthread_mutex_destroy(&loop->lock);
    unix_listener_close(&loop->listener);
    free(loop->watched);
}

bool socket_loop_start(socket_loop *loop, const socket_service *service, void *owner) {
    *loop = (socket_loop){.service = service, .owner = owner};
    if (!unix_listener_open(&loop->listener))
        return false;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&loop->served, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&loop->lock, NULL);
    loop->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int error = loop->wake < 0 ? errno : start_thread(loop);
    if (!error)
        return true;
    fprintf(stderr, "a thread for a socket: %s\n", strerror(error));
    clear(loop);
    return false;
}

void socket_loop_stop(socket_loop *loop) {
    socket_loop_enter(loop);
    loop->stopping = true;
    socket_loop_leave(loop);
    pthread_join(loop->thread, NULL);
    clear(loop); /* first: who loses a connection here finds nobody to connect to again */
    for (socket_connection *each = loop->connections; each; each = each->next)
        each->over = true;
    socket_loop_sweep(loop);
}

void socket_loop_enter(socket_loop *loop) {
    pthread_mutex_lock(&loop->lock);
}

void socket_loop_leave(socket_loop *loop) {
    wake(loop);
    pthread_mutex_unlock(&loop->lock);
}

size_t socket_loop_ever(socket_loop *loop) {
    socket_loop_enter(loop);
    size_t ever = loop->ever;
    socket_loop_leave(loop);
    return ever;
}

socket_loop_wait socket_loop_wait_begin(socket_loop *loop, int timeout_ms) {
    socket_loop_wait wait = {loop, socket_loop_now_ms() + timeout_ms, true};
    socket_loop_enter(loop);
    return wait;
}

bool socket_loop_wait_more(socket_loop_wait *wait) {
    struct timespec end = {.tv_sec = wait->deadline_ms / 1000,
                           .tv_nsec = (wait->deadline_ms % 1000) * 1000000L};
    wait->in_time =
        pthread_cond_timedwait(&wait->loop->served, &wait->loop->lock, &end) != ETIMEDOUT;
    return wait->in_time;
}

bool socket_loop_wait_end(socket_loop_wait *wait) {
    socket_loop_leave(wait->loop);
    return wait->in_time;
}
