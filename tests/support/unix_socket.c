/* See unix_socket.h. */
#include "unix_socket.h"

#include <errno.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAITING_MOST = 128, READ_AT_ONCE = 16384 };

/* All that are open, so that the end of the program removes their folders; list_lock protects it.
 */
static unix_listener *list;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t cleanup_once = PTHREAD_ONCE_INIT;

static void remove_files(const unix_listener *listener) {
    unlink(listener->path);
    rmdir(listener->folder);
}

/* A test that fails ends without having stopped anything; the threads still run here. */
static void remove_all_files(void) {
    pthread_mutex_lock(&list_lock);
    for (unix_listener *listener = list; listener; listener = listener->next)
        if (listener->opener == getpid()) /* a forked child must not remove its parent's */
            remove_files(listener);
    pthread_mutex_unlock(&list_lock);
}

static void arrange_cleanup(void) {
    atexit(remove_all_files);
}

static bool address_of(struct sockaddr_un *address, const char *path) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(address->sun_path, path, strlen(path));
    return true;
}

bool unix_listener_listen(unix_listener *listener) {
    struct sockaddr_un address;
    if (listener->fd >= 0)
        return true;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || !address_of(&address, listener->path) ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, WAITING_MOST) != 0) {
        perror(listener->path);
        if (fd >= 0)
            close(fd);
        return false;
    }
    listener->fd = fd;
    return true;
}

void unix_listener_unlisten(unix_listener *listener) {
    if (listener->fd < 0)
        return;
    unlink(listener->path);
    unix_close(listener->fd);
    listener->fd = -1;
}

bool unix_listener_open(unix_listener *listener) {
    pthread_once(&cleanup_once, arrange_cleanup);
    const char *parent = getenv("TMPDIR");
    *listener = (unix_listener){.fd = -1, .opener = getpid()};
    listener->folder = test_print("%s/latchkey-test-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(listener->folder)) {
        perror(listener->folder);
        free(listener->folder);
        return false;
    }
    listener->path = test_print("%s/socket", listener->folder);
    pthread_mutex_lock(&list_lock);
    listener->next = list;
    list = listener;
    pthread_mutex_unlock(&list_lock);
    if (unix_listener_listen(listener))
        return true;
    unix_listener_close(listener);
    return false;
}

void unix_listener_close(unix_listener *listener) {
    pthread_mutex_lock(&list_lock);
    unix_listener **link = &list;
    while (*link != listener)
        link = &(*link)->next;
    *link = listener->next;
    pthread_mutex_unlock(&list_lock);
    unix_close(listener->fd);
    remove_files(listener);
    free(listener->folder);
    free(listener->path);
}

int unix_listener_accept(const unix_listener *listener) {
    if (listener->fd < 0)
        return -1;
    return accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int unix_connect(const char *path) {
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && address_of(&address, path) &&
        connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

void unix_close(int fd) {
    if (fd < 0)
        return;
    /* A poll of another thread keeps the socket open beyond the close, but not beyond this. */
    shutdown(fd, SHUT_RDWR);
    close(fd);
}

bool unix_receive(int fd, test_text *text) {
    char bytes[READ_AT_ONCE];
    for (;;) {
        ssize_t got = recv(fd, bytes, sizeof bytes, 0);
        if (got > 0)
            test_text_add(text, bytes, (size_t)got);
        else if (got == 0 || errno != EINTR)
            return got < 0 && errno == EAGAIN;
    }
}

bool unix_send(int fd, test_text *text, size_t most) {
    size_t sent = 0;
    bool connected = true;
    if (most > text->length)
        most = text->length;
    while (sent < most) {
        ssize_t now = send(fd, text->bytes + sent, most - sent, MSG_NOSIGNAL);
        if (now >= 0) {
            sent += (size_t)now;
        } else if (errno != EINTR) {
            connected = errno == EAGAIN;
            break;
        }
    }
    unix_text_cut(text, sent);
    return connected;
}

bool unix_all_read(int fd) {
    int unread;
    return ioctl(fd, SIOCOUTQ, &unread) != 0 || unread == 0;
}

void unix_text_cut(test_text *text, size_t length) {
    if (length == 0)
        return;
    memmove(text->bytes, text->bytes + length, text->length - length + 1);
    text->length -= length;
}
