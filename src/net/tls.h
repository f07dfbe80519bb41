/*
 * TLS on a connected descriptor that does not block: OpenSSL is known here and nowhere else. It
 * waits for nothing itself, and never raises SIGPIPE.
 */
#ifndef LKI_TLS_H
#define LKI_TLS_H

#include "net/transport.h"

typedef struct lki_tls lki_tls;

/*
 * Reads the certificates: what can be wrong before anybody is connected. LK_INVALID names the file
 * that cannot be used; LK_NOMEM.
 */
lk_status lki_tls_new(const lki_endpoint *, const lki_tls_files *, lki_tls **out, lki_error *);
void lki_tls_free(lki_tls *); /* says nothing to the server; NULL is fine */

/* Starts afresh on a descriptor, which stays the caller's. LK_NOMEM. */
lk_status lki_tls_start(lki_tls *, int fd, lki_error *);

/*
 * Goes on with the handshake. LK_OK with *events 0: done. LK_OK otherwise: call again after these
 * events. LK_UNAVAILABLE; LK_DENIED: a certificate was refused; LK_NOMEM.
 */
lk_status lki_tls_shake(lki_tls *, short *events, lki_error *);

/*
 * As in transport.h. From TLS 1.3 on a client hears only after the handshake that its certificate,
 * or its having none, was refused: these have the status LK_DENIED in their error then.
 */
ssize_t lki_tls_read(lki_tls *, void *buffer, size_t size, lki_error *);
ssize_t lki_tls_write(lki_tls *, const void *bytes, size_t size, lki_error *);
short lki_tls_events(lki_tls *, bool writing);

void lki_tls_say_goodbye(lki_tls *); /* if the handshake was done and nothing is broken */

#endif
