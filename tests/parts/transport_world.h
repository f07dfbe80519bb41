/* Plain connections, and peers in this process that do what a server would not. */
#ifndef TRANSPORT_WORLD_H
#define TRANSPORT_WORLD_H

#include "base/clock.h"
#include "net/transport.h"
#include "net/url.h"

#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { SHORT_MS = 60, LONG_MS = 20000, FILLERS = 4 };

/* One that listens: on a port of 127.0.0.1, or on a socket in a folder of its own. */
typedef struct {
    int fd;
    int fillers[FILLERS]; /* connections that fill its queue */
    char folder[64];      /* "": TCP */
    char url[128];
} test_peer;

static inline int bind_to(const char *address, unsigned port) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(inet_pton(AF_INET, address, &own.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
    return fd;
}

static inline unsigned port_of(int fd) {
    struct sockaddr_in own;
    socklen_t length = sizeof own;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &length), 0);
    return ntohs(own.sin_port);
}

static inline test_peer listen_on_tcp(void) {
    test_peer made = {.fd = bind_to("127.0.0.1", 0), .fillers = {-1, -1, -1, -1}};
    assert_int_equal(listen(made.fd, 0), 0);
    snprintf(made.url, sizeof made.url, "redis://:hunter2@127.0.0.1:%u", port_of(made.fd));
    return made;
}

static inline test_peer listen_on_path(void) {
    test_peer made = {.fillers = {-1, -1, -1, -1}};
    struct sockaddr_un own = {.sun_family = AF_UNIX};
    snprintf(made.folder, sizeof made.folder, "/tmp/latchkey-test-XXXXXX");
    assert_non_null(mkdtemp(made.folder));
    snprintf(own.sun_path, sizeof own.sun_path, "%s/socket", made.folder);
    snprintf(made.url, sizeof made.url, "unix://:hunter2@%s", own.sun_path);
    made.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(made.fd, (struct sockaddr *)&own, sizeof own), 0);
    assert_int_equal(listen(made.fd, 0), 0);
    return made;
}

/* From then on who connects has to wait: nobody accepts. */
static inline void fill(test_peer *peer) {
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    assert_int_equal(getsockname(peer->fd, (struct sockaddr *)&own, &length), 0);
    for (int i = 0; i < FILLERS; i++) {
        int fd = socket(own.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct pollfd polled = {fd, POLLOUT, 0};
        peer->fillers[i] = fd;
        if (connect(fd, (struct sockaddr *)&own, length) != 0 && i == 0)
            assert_int_equal(poll(&polled, 1, LONG_MS), 1);
    }
}

static inline void stop(test_peer *peer) {
    for (int i = 0; i < FILLERS; i++)
        if (peer->fillers[i] >= 0)
            close(peer->fillers[i]);
    close(peer->fd);
    if (*peer->folder) {
        char path[128];
        snprintf(path, sizeof path, "%s/socket", peer->folder);
        unlink(path);
        assert_int_equal(rmdir(peer->folder), 0);
    }
}

static inline lk_status open_until(const char *url, int64_t deadline_us, int stop_fd,
                                   lki_transport **out, lki_error *error) {
    lki_endpoint endpoint;
    assert_int_equal(lki_url_read(url, NULL, &endpoint, error), LK_OK);
    lk_status status = lki_transport_open(&endpoint, NULL, deadline_us, stop_fd, NULL, out, error);
    assert_null(strstr(error->text, "hunter2"));
    if (status != LK_OK)
        assert_int_equal(error->status, status);
    lki_endpoint_clear(&endpoint);
    return status;
}

static inline lk_status open_in(const char *url, int64_t ms, lki_transport **out,
                                lki_error *error) {
    return open_until(url, lki_after_ms(lki_now_us(), ms), -1, out, error);
}

/* Connects to the peer; *accepted is its end. */
static inline lki_transport *open_to(const test_peer *peer, int *accepted) {
    lki_transport *transport = NULL;
    lki_error error = {0};
    if (open_in(peer->url, LONG_MS, &transport, &error) != LK_OK)
        fail_msg("%s", error.text);
    *accepted = accept4(peer->fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(*accepted >= 0);
    return transport;
}

#endif
