/*
 * A thread that serves the connections of a Unix socket, for what stands in a server's place; it
 * knows nothing of what they say. All that its owner has is under one lock: the thread has it
 * except while it waits for descriptors, so whoever has it may do anything to the owner's state,
 * close descriptors too.
 */
#ifndef TEST_SOCKET_LOOP_H
#define TEST_SOCKET_LOOP_H

#include "unix_socket.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A connection: the first member of what its owner knows of it. */
typedef struct socket_connection socket_connection;
struct socket_connection {
    bool over; /* to be closed and forgotten */
    socket_connection *next;
};

/* What an owner does with its connections. All of it is called under the lock. */
typedef struct {
    /* Makes a connection of a client's descriptor. NULL: the client is not wanted. */
    socket_connection *(*open)(void *owner, int fd);

    /*
     * Does all that can be done without waiting, names by socket_loop_watch what it waits for, and
     * returns the ms to wait at most, or -1. It is called whenever something may be to do.
     */
    int (*serve)(socket_connection *);

    void (*close)(socket_connection *);
} socket_service;

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
    const socket_service *service;
    void *owner;
    socket_connection *connections; /* the newest */
    size_t ever;                    /* how many there have been, unwanted ones too */
};

/* Opens a listener and starts the thread. False when that fails, after saying why on stderr. */
bool socket_loop_start(socket_loop *, const socket_service *, void *owner);

/* Ends the thread, and closes the listener and all connections. */
void socket_loop_stop(socket_loop *);

/* Has the thread woken when that descriptor is ready; holds for one wait. For `serve`. */
void socket_loop_watch(socket_loop *, int fd, bool to_write);

/* Takes the lock, and gives it back after which the thread serves once more. */
void socket_loop_enter(socket_loop *);
void socket_loop_leave(socket_loop *);

/* Under the lock: closes now the connections that are over. */
void socket_loop_sweep(socket_loop *);

/* How many connections there have ever been. */
size_t socket_loop_ever(socket_loop *);

/*
 * Waits for something that the thread brings about:
 *
 *     socket_loop_wait wait = socket_loop_wait_begin(loop, timeout_ms);
 *     while (!what_is_waited_for && socket_loop_wait_more(&wait)) {}
 *     return socket_loop_wait_end(&wait);
 *
 * `begin` takes the lock; `more` waits until the thread has served once more, and is false when the
 * time is over; `end` gives the lock back, and tells whether it came to be in time.
 */
typedef struct {
    socket_loop *loop;
    int64_t deadline_ms;
    bool in_time;
} socket_loop_wait;

socket_loop_wait socket_loop_wait_begin(socket_loop *, int timeout_ms);
bool socket_loop_wait_more(socket_loop_wait *);
bool socket_loop_wait_end(socket_loop_wait *);

/* Milliseconds of the monotonic clock. */
int64_t socket_loop_now_ms(void);

#endif
