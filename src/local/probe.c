/* See probe.h. */
#include "local/probe.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAUSE_MS = 10, LINE_MOST = 128 };

static const char ping_command[] = "*1\r\n$4\r\nPING\r\n";
static const char shutdown_command[] = "*1\r\n$8\r\nSHUTDOWN\r\n";

static lk_status canceled(lki_error *error) {
    return lki_error_set(error, LK_CANCELED, "waiting for the private server was stopped");
}

/* Waits until fd (-1: none) is readable (*ready is true), or until_us (*ready is false). */
static lk_status wait_for(int fd, int64_t until_us, int stop_fd, bool *ready, lki_error *error) {
    struct pollfd both[] = {{.fd = fd, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
    int count;
    do
        count = poll(both, 2, lki_poll_ms(until_us));
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return lki_error_no_memory(error);
    if (both[1].revents)
        return canceled(error);
    *ready = both[0].revents != 0;
    return LK_OK;
}

lk_status lki_pause(const lki_patience *patience, lki_error *error) {
    int64_t until_us = lki_after_ms(lki_now_us(), PAUSE_MS);
    if (until_us > patience->deadline_us)
        until_us = patience->deadline_us;
    bool ready;
    return wait_for(-1, until_us, patience->stop_fd, &ready, error);
}

/* LK_OK with *sign LKI_ANSWERS: fd is connected. LK_OK with another sign: it is not. */
static lk_status open_connection(int fd, const char *path, lki_sign *sign, lki_error *error) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    assert(length < sizeof address.sun_path);
    memcpy(address.sun_path, path, length);
    *sign = LKI_ANSWERS;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return LK_OK;
    if (errno == EACCES || errno == EPERM)
        return lki_error_set(error, LK_DENIED, "cannot connect to the private server at %s: %s",
                             path, strerror(errno));
    /* EAGAIN: the queue is full, so a server listens. */
    *sign = errno == EAGAIN || errno == EINTR ? LKI_COMING : LKI_NOBODY;
    return LK_OK;
}

/* If other users could write to the folder for a while, the socket may be theirs. */
static lk_status check_peer(int fd, const char *path, lki_error *error) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid != geteuid())
        return lki_error_set(error, LK_DENIED, "the server at %s belongs to another user", path);
    return LK_OK;
}

/*
 * Sends a request and reads one line of the reply. LK_OK and *sign: LKI_COMING if the server closed
 * the connection before the end of the line, LKI_SILENT, or LKI_ANSWERS.
 */
static lk_status exchange(int fd, const char *request, const lki_patience *patience,
                          char line[LINE_MOST], lki_sign *sign, lki_error *error) {
    size_t length = 0, size = strlen(request);
    memset(line, 0, LINE_MOST);
    *sign = LKI_COMING;
    if (send(fd, request, size, MSG_NOSIGNAL) != (ssize_t)size)
        return LK_OK;
    while (length < LINE_MOST - 1 && !memchr(line, '\n', length)) {
        bool ready = false;
        lk_status status = wait_for(fd, patience->deadline_us, patience->stop_fd, &ready, error);
        if (status != LK_OK)
            return status;
        if (!ready) {
            *sign = LKI_SILENT;
            return LK_OK;
        }
        ssize_t got = recv(fd, line + length, LINE_MOST - 1 - length, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (got <= 0)
            return LK_OK;
        length += (size_t)got;
    }
    *sign = LKI_ANSWERS;
    return LK_OK;
}

static lk_status connect_and_ask(const char *socket_path, const char *request,
                                 const lki_patience *patience, char line[LINE_MOST], lki_sign *sign,
                                 lki_error *error) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return lki_error_set(error, LK_NOMEM, "cannot create a socket for the private server: %s",
                             strerror(errno));
    lk_status status = open_connection(fd, socket_path, sign, error);
    if (status == LK_OK && *sign == LKI_ANSWERS)
        status = check_peer(fd, socket_path, error);
    if (status == LK_OK && *sign == LKI_ANSWERS)
        status = exchange(fd, request, patience, line, sign, error);
    close(fd);
    return status;
}

lk_status lki_probe(const char *socket_path, const lki_patience *patience, lki_sign *out,
                    lki_error *error) {
    static const char loading[] = "-LOADING";
    char line[LINE_MOST];
    lki_sign sign;
    lk_status status = connect_and_ask(socket_path, ping_command, patience, line, &sign, error);
    if (status == LK_OK && sign == LKI_ANSWERS && strncmp(line, loading, sizeof loading - 1) == 0)
        sign = LKI_COMING;
    if (status == LK_OK)
        *out = sign;
    return status;
}

lk_status lki_probe_end(const char *socket_path, const lki_patience *patience, lki_error *error) {
    char line[LINE_MOST];
    lki_sign sign;
    lk_status status = connect_and_ask(socket_path, shutdown_command, patience, line, &sign, error);
    if (status != LK_OK || sign == LKI_NOBODY || sign == LKI_COMING)
        return status;
    if (sign == LKI_SILENT)
        return lki_error_set(error, LK_UNAVAILABLE, "does not answer: it is stopped or hangs");
    line[strcspn(line, "\r\n")] = 0;
    lki_text_tame(line);
    return lki_error_set(error, LK_UNAVAILABLE, "refuses to shut down: %s", line + (*line == '-'));
}
