/*
 * Bytes to and from one server: TCP, Unix socket, or TLS over TCP. Knows nothing of what they mean.
 *
 * After opening nothing blocks. One thread may read while another writes; two that read, or two
 * that write, may not meet.
 */
#ifndef LKI_TRANSPORT_H
#define LKI_TRANSPORT_H

#include "base/error.h"
#include "net/url.h"

#include <stdint.h>
#include <sys/types.h>

typedef struct lki_transport lki_transport;

/* Any may be NULL; see lk_client_options. */
typedef struct {
    const char *ca, *cert, *key, *server_name;
} lki_tls_files;

/*
 * Connects, TLS handshake included, each address of the host in turn, until deadline_us (base/
 * clock.h). Gives up at once when stop_fd becomes readable (-1: never). *fd_seen (NULL: nowhere)
 * has the descriptor from its first moment on, for a child of fork() that finds itself with it, and
 * -1 again after a failure.
 * LK_UNAVAILABLE, LK_DENIED (a certificate was refused, by us or by them), LK_INVALID (a file of
 * `tls` cannot be read), LK_UNSUPPORTED (TLS is not installed), LK_NOMEM; LK_CANCELED for stop_fd.
 */
lk_status lki_transport_open(const lki_endpoint *, const lki_tls_files *tls, int64_t deadline_us,
                             int stop_fd, _Atomic int *fd_seen, lki_transport **out, lki_error *);
void lki_transport_close(lki_transport *); /* says goodbye to TLS without waiting; NULL is fine */

/* After fork: closes the descriptor, and says nothing to the server. */
void lki_transport_close_after_fork(lki_transport *);

/* Whoever reads or polls at this moment finds the end of the stream. */
void lki_transport_interrupt(lki_transport *);

int lki_transport_fd(const lki_transport *);

enum { LKI_WOULD_BLOCK = -1, LKI_BROKEN = -2 };

/*
 * Read returns the bytes read (at least 1), LKI_WOULD_BLOCK, or LKI_BROKEN with the reason in the
 * error: the end of the stream is one too. After LKI_WOULD_BLOCK, wait for the events of
 * lki_transport_events(), and only then.
 */
ssize_t lki_transport_read(lki_transport *, void *buffer, size_t size, lki_error *);
ssize_t lki_transport_write(lki_transport *, const void *bytes, size_t size, lki_error *);

/*
 * Gives bytes back that were read, for the one who reads next; after the last ones were read again.
 * LK_NOMEM.
 */
lk_status lki_transport_put_back(lki_transport *, const void *bytes, size_t size, lki_error *);

/*
 * A read that may wait for LKI_PATIENCE_MS: it saves who waits anyway the way through poll, and does
 * not sleep at once. Only a transport that is patient has it; the others would have to wait inside
 * OpenSSL.
 */
enum { LKI_PATIENCE_MS = 10 };
bool lki_transport_is_patient(const lki_transport *);
ssize_t lki_transport_read_patiently(lki_transport *, void *buffer, size_t size, lki_error *);

/*
 * What poll(2) is to wait for before reading (`writing` false) or writing again. For reading: the
 * reader's alone to ask.
 */
short lki_transport_events(const lki_transport *, bool writing);

#endif
