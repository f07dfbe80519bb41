/*
 * What the tests of TLS share: a real server with a certificate made for this run, and connections
 * to it or to any other.
 */
#ifndef TLS_WORLD_H
#define TLS_WORLD_H

#include "base/clock.h"
#include "net/transport.h"
#include "net/url.h"
#include "tls_server.h"

#include <openssl/err.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LONG_MS = 20000 };

/* ------------------------------------------------------------------------------------ servers */

static tcp_server here; /* named by its certificate; it runs all the time */

static inline char *file(const char *name) {
    return certificate_file(name);
}

static inline int bind_any(unsigned *port, int backlog) {
    int fd = bind_any_port(port, backlog);
    assert_true(fd >= 0);
    return fd;
}

static inline tcp_server start_server(const char *certificate, const char *auth,
                                      const char *protocols) {
    tcp_server made = tls_server_start(certificate, auth, protocols);
    assert_non_null(made.server);
    return made;
}

static inline int start_here(void **state) {
    (void)state;
    assert_true(certificates_make());
    here = start_server("here", "no", NULL);
    return 0;
}

static inline int stop_here(void **state) {
    (void)state;
    test_server_stop(here.server);
    certificates_remove();
    return 0;
}

/* -------------------------------------------------------------------------------- connections */

static inline lk_status open_until(const char *host, unsigned port, const lki_tls_files *files,
                                   int64_t deadline_us, int stop_fd, lki_transport **out,
                                   lki_error *error) {
    char url[128];
    lki_endpoint endpoint;
    snprintf(url, sizeof url, "rediss://ann:hunter2@%s:%u", host, port);
    assert_int_equal(lki_url_read(url, NULL, &endpoint, error), LK_OK);
    lk_status status = lki_transport_open(&endpoint, files, deadline_us, stop_fd, NULL, out, error);
    if (status != LK_OK) {
        assert_int_equal(error->status, status);
        assert_null(strstr(error->text, "hunter2"));
    }
    assert_int_equal(ERR_peek_error(), 0);
    lki_endpoint_clear(&endpoint);
    return status;
}

static inline lk_status open_to(const char *host, unsigned port, const lki_tls_files *files,
                                lki_transport **out, lki_error *error) {
    return open_until(host, port, files, lki_after_ms(lki_now_us(), LONG_MS), -1, out, error);
}

static inline bool wait_to(const lki_transport *transport, bool write) {
    struct pollfd polled = {lki_transport_fd(transport), lki_transport_events(transport, write), 0};
    return poll(&polled, 1, LONG_MS) == 1;
}

/* 0, or LKI_BROKEN. */
static inline ssize_t write_all(lki_transport *transport, const char *bytes, size_t size,
                                lki_error *error) {
    while (size > 0) {
        ssize_t length = lki_transport_write(transport, bytes, size, error);
        if (length == LKI_BROKEN)
            return length;
        if (length == LKI_WOULD_BLOCK && !wait_to(transport, true))
            return lki_error_set(error, LK_INTERNAL, "no room to write"), LKI_BROKEN;
        bytes += length > 0 ? length : 0;
        size -= length > 0 ? (size_t)length : 0;
    }
    return 0;
}

static inline ssize_t read_all(lki_transport *transport, char *buffer, size_t size,
                               lki_error *error) {
    while (size > 0) {
        ssize_t length = lki_transport_read(transport, buffer, size, error);
        if (length == LKI_BROKEN)
            return length;
        if (length == LKI_WOULD_BLOCK && !wait_to(transport, false))
            return lki_error_set(error, LK_INTERNAL, "nothing to read"), LKI_BROKEN;
        buffer += length > 0 ? length : 0;
        size -= length > 0 ? (size_t)length : 0;
    }
    return 0;
}

static inline bool ping(lki_transport *transport, lki_error *error) {
    char answer[7];
    return write_all(transport, "PING\r\n", 6, error) == 0 &&
           read_all(transport, answer, sizeof answer, error) == 0 &&
           memcmp(answer, "+PONG\r\n", sizeof answer) == 0;
}

static inline lki_tls_files trusting(const char *name) {
    return (lki_tls_files){.ca = file(name)};
}

#endif
