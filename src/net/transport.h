/*
 * Sends and receives bytes: TCP, Unix socket, or TLS over TCP. Does not know what they mean.
 *
 * After opening, no function blocks, except lki_transport_read_patiently(). One thread may read
 * while another writes. Two threads must not read, or write, at the same time.
 */
#ifndef LKI_TRANSPORT_H
#define LKI_TRANSPORT_H

#include "base/error.h"
#include "net/url.h"

#include <stdint.h>
#include <sys/types.h>

typedef struct lki_transport lki_transport;

/* Each may be NULL; see lk_client_options. */
typedef struct {
    const char *ca, *cert, *key, *server_name;
} lki_tls_files;

/* How to connect, for a caller that has to ask somebody something. */
typedef struct {
    lki_tls_files tls;
    int64_t deadline_us;
    int stop_fd; /* readable: give up with LK_CANCELED; -1: never */
} lki_reach;

/*
 * Connects, with the TLS handshake, to the addresses of the host one after the other, until
 * deadline_us (base/clock.h). Gives up immediately when stop_fd becomes readable (-1: never).
 * *fd_seen (unless NULL) has the descriptor as soon as it exists, and -1 after a failure: a child
 * after fork() can close it. LK_UNAVAILABLE, LK_DENIED (a certificate was refused, by us or by the
 * server), LK_INVALID (a file of `tls` cannot be read), LK_UNSUPPORTED (TLS is not installed),
 * LK_NOMEM, LK_CANCELED for stop_fd.
 */
lk_status lki_transport_open(const lki_endpoint *, const lki_tls_files *tls, int64_t deadline_us,
                             int stop_fd, _Atomic int *fd_seen, lki_transport **out, lki_error *);

/* With TLS, tells the server, without waiting. NULL is fine. */
void lki_transport_close(lki_transport *);

/* In a child after fork: closes the descriptor and sends nothing. */
void lki_transport_close_after_fork(lki_transport *);

/* Ends the stream: a thread that reads or polls now sees its end. Does not close the descriptor. */
void lki_transport_interrupt(lki_transport *);

int lki_transport_fd(const lki_transport *);

enum { LKI_WOULD_BLOCK = -1, LKI_BROKEN = -2 };

/*
 * Return the number of bytes (at least 1), LKI_WOULD_BLOCK, or LKI_BROKEN with the reason in the
 * error. The end of the stream is LKI_BROKEN. After LKI_WOULD_BLOCK, wait for the events of
 * lki_transport_events() before the next call.
 */
ssize_t lki_transport_read(lki_transport *, void *buffer, size_t size, lki_error *);
ssize_t lki_transport_write(lki_transport *, const void *bytes, size_t size, lki_error *);

/*
 * Puts back bytes that were read: the next read returns them. Bytes that were put back before must
 * have been read again. LK_NOMEM.
 */
lk_status lki_transport_put_back(lki_transport *, const void *bytes, size_t size, lki_error *);

/*
 * A read that may wait for LKI_PATIENCE_MS. A thread that would wait anyway saves the call of
 * poll(2), and spins for a moment before it sleeps. Only for a patient transport: one without TLS,
 * since a wait would be inside OpenSSL.
 */
enum { LKI_PATIENCE_MS = 10 };
bool lki_transport_is_patient(const lki_transport *);
ssize_t lki_transport_read_patiently(lki_transport *, void *buffer, size_t size, lki_error *);

/*
 * The events that poll(2) should wait for before the next read (`writing` false) or write. Only the
 * thread that reads may pass `writing` false.
 */
short lki_transport_events(const lki_transport *, bool writing);

#endif
