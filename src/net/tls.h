/*
 * TLS on a connected descriptor that does not block. It waits for nothing itself, and never raises
 * SIGPIPE.
 *
 * OpenSSL is known to tls.c and nowhere else, and tls.c is reached through the table below alone: to
 * load OpenSSL takes a millisecond of a program's start, and most never need it. In the static library
 * tls.c is linked in (tls_linked.c); beside the shared library it is a module, loaded when the first
 * rediss:// is opened (tls_loaded.c).
 */
#ifndef LKI_TLS_H
#define LKI_TLS_H

#include "net/transport.h"

typedef struct lki_tls lki_tls;

typedef struct {
    const char *version; /* of latchkey: the library and its module are of one build */

    /*
     * Reads the certificates: what can be wrong before anybody is connected. LK_INVALID names the
     * file that cannot be used; LK_NOMEM.
     */
    lk_status (*new)(const lki_endpoint *, const lki_tls_files *, lki_tls **out, lki_error *);
    void (*free)(lki_tls *); /* says nothing to the server; NULL is fine */

    /* Starts afresh on a descriptor, which stays the caller's. LK_NOMEM. */
    lk_status (*start)(lki_tls *, int fd, lki_error *);

    /*
     * Goes on with the handshake. LK_OK with *events 0: done. LK_OK otherwise: call again after
     * these events. LK_UNAVAILABLE; LK_DENIED: a certificate was refused; LK_NOMEM.
     */
    lk_status (*shake)(lki_tls *, short *events, lki_error *);

    /*
     * As in transport.h. From TLS 1.3 on a client hears only after the handshake that its
     * certificate, or its having none, was refused: these have the status LK_DENIED in their error
     * then.
     */
    ssize_t (*read)(lki_tls *, void *buffer, size_t size, lki_error *);
    ssize_t (*write)(lki_tls *, const void *bytes, size_t size, lki_error *);
    short (*events)(lki_tls *, bool writing);

    void (*say_goodbye)(lki_tls *); /* if the handshake was done and nothing is broken */
} lki_tls_methods;

/*
 * Any number of threads may ask at once. LK_UNSUPPORTED: the module is not there, or not of this
 * version; asking again looks again.
 */
lk_status lki_tls_get(const lki_tls_methods **out, lki_error *);

/* tls.c: all that the module has for others. */
__attribute__((visibility("default"))) extern const lki_tls_methods lki_tls_openssl;

#endif
