/*
 * A thread that serves a Unix socket for what stands in a server's place. All that its owner has is
 * under one lock: the thread has it except while it waits for descriptors, so whoever has it may do
 * anything to the owner's state, close descriptors too.
 */
#ifndef TEST_SOCKET_LOOP_H
#define TEST_SOCKET_LOOP_H

#include "unix_socket.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct socket_loop socket_loop;
struct socket_loop {
    pthread_mutex_t lock;
    pthread_cond_t served;
    pthread_t thread;
    int wake;
    bool stopping;
    struct pollfd *watched;
    size_t count;
    unix_listener listener;
    int (*serve)(void *owner);
    void *owner;
};

/*
 * Opens a listener and starts the thread. False when that fails, after saying why on stderr.
 *
 * `serve` runs on the thread, under the lock, whenever something may be to do: it does all that can
 * be done without waiting, names by socket_loop_watch what it waits for, and returns the ms to
 * wait at most, or -1. The listener and the wake-up are watched without being named.
 */
bool socket_loop_start(socket_loop *, int (*serve)(void *owner), void *owner);

/* Ends the thread and closes the listener. */
void socket_loop_stop(socket_loop *);

/* Has the thread woken when that descriptor is ready; holds for one wait. For `serve`. */
void socket_loop_watch(socket_loop *, int fd, bool to_write);

/* Takes the lock, and gives it back after which the thread serves once more. */
void socket_loop_enter(socket_loop *);
void socket_loop_leave(socket_loop *);

/*
 * Waits, under the lock, until the thread has served once more. False when that time is over; the
 * caller looks at what it waits for in a loop.
 */
bool socket_loop_wait(socket_loop *, int64_t deadline_ms);

/* Milliseconds of the monotonic clock. */
int64_t socket_loop_now_ms(void);

#endif
