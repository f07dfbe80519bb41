/*
 * Unix sockets for what stands in a server's place: a listener in a folder of its own, and bytes in
 * and out. Nothing here waits, raises SIGPIPE or hands a descriptor down to a program that is
 * started. Knows nothing of the protocol.
 */
#ifndef TEST_UNIX_SOCKET_H
#define TEST_UNIX_SOCKET_H

#include "test_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct unix_listener unix_listener;
struct unix_listener {
    char *folder, *path;
    int fd; /* -1: it does not listen */
    pid_t opener;
    unix_listener *next;
};

/*
 * Makes a folder under $TMPDIR or /tmp and listens on a socket there. False when that fails, after
 * saying why on stderr. The struct must stay where it is until it is closed: a program that exits
 * before that removes the folder, and finds it through the struct.
 */
bool unix_listener_open(unix_listener *);

/* Stops listening and removes the folder. */
void unix_listener_close(unix_listener *);

/* Listens again, on the same path. */
bool unix_listener_listen(unix_listener *);

/* Takes the socket away, so that connecting fails, until unix_listener_listen. */
void unix_listener_unlisten(unix_listener *);

/* The next connection that waits, or -1. */
int unix_listener_accept(const unix_listener *);

/* A connection to the socket at that path, or -1. */
int unix_connect(const char *path);

/* Ends a connection at once, also when another thread waits on it. -1 is fine. */
void unix_close(int fd);

/* Adds all bytes that have come. False: the other side has ended. */
bool unix_receive(int fd, test_text *);

/*
 * Sends as many of the first `most` bytes as can be sent now, and takes them off the text. False:
 * the other side has ended.
 */
bool unix_send(int fd, test_text *, size_t most);

/* Whether the other side has read all that was sent to it. */
bool unix_all_read(int fd);

/* Takes bytes off the head of a text. */
void unix_text_cut(test_text *, size_t length);

#endif
