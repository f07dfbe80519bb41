/*
 * TLS on a connected, non-blocking descriptor. No function waits, or raises SIGPIPE.
 *
 * Only tls.c knows OpenSSL, and the library calls tls.c only through the table below. Loading
 * OpenSSL takes a millisecond, and most programs never need it. So with the shared library, tls.c
 * is a module that is loaded when the first rediss:// URL is opened (tls_loaded.c). In the static
 * library, tls.c is linked in (tls_linked.c).
 */
#ifndef LKI_TLS_H
#define LKI_TLS_H

#include "net/transport.h"

typedef struct lki_tls lki_tls;

typedef struct {
    const char *version; /* of latchkey; must be the version of the library */

    /*
     * Reads the certificates. LK_INVALID: the error names the file that cannot be used; LK_NOMEM.
     */
    lk_status (*new)(const lki_endpoint *, const lki_tls_files *, lki_tls **out, lki_error *);
    void (*free)(lki_tls *); /* sends nothing; NULL is fine */

    /* Begins a new TLS connection on a descriptor, which the caller still owns. LK_NOMEM. */
    lk_status (*start)(lki_tls *, int fd, lki_error *);

    /*
     * Continues the handshake. LK_OK with *events 0: it is done. LK_OK with other events: call
     * again after these events. LK_UNAVAILABLE; LK_DENIED: a certificate was refused; LK_NOMEM.
     */
    lk_status (*shake)(lki_tls *, short *events, lki_error *);

    /*
     * As in transport.h. Since TLS 1.3, a server can refuse the client's certificate, or its lack
     * of one, after the handshake. Then the error of read and write has the status LK_DENIED.
     */
    ssize_t (*read)(lki_tls *, void *buffer, size_t size, lki_error *);
    ssize_t (*write)(lki_tls *, const void *bytes, size_t size, lki_error *);
    short (*events)(lki_tls *, bool writing);

    /* Sends close_notify, if the handshake was done and the connection works. Does not wait. */
    void (*say_goodbye)(lki_tls *);
} lki_tls_methods;

/*
 * Threads may call this at the same time. LK_UNSUPPORTED: the module is missing or of another
 * version; a later call tries again.
 */
lk_status lki_tls_get(const lki_tls_methods **out, lki_error *);

/* The table of tls.c, and the only symbol that the module exports. */
__attribute__((visibility("default"))) extern const lki_tls_methods lki_tls_openssl;

#endif
