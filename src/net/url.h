/*
 * The URL of a server, and the endpoint that it describes: redis://, rediss://, valkey://,
 * valkeys://, unix://. Handles text only: opens nothing, and reads no environment variable.
 * seeds.h has the URLs of sentinels and clusters.
 */
#ifndef LKI_URL_H
#define LKI_URL_H

#include "base/error.h"

/* The server to connect to, and how to log in. The endpoint owns all its texts. */
typedef struct {
    char *path;        /* of a Unix socket; NULL: TCP */
    char *host, *port; /* NULL: a Unix socket */
    bool tls;
    char *user;     /* NULL: the server's default user */
    char *password; /* NULL: no AUTH */
    unsigned db;
    char *shown; /* the URL without the password, for error texts */
} lki_endpoint;

void lki_endpoint_clear(lki_endpoint *); /* also wipes the password from memory */
bool lki_endpoint_copy(const lki_endpoint *, lki_endpoint *out); /* false: out of memory */

/* Prints host:port, [IPv6]:port, or the path of the socket. A text that is too long is cut off. */
enum { LKI_ADDRESS_SIZE = 320 };
void lki_endpoint_address(const lki_endpoint *, char out[LKI_ADDRESS_SIZE]);

/*
 * Parses a URL. `password` is used if the URL has none; it may be NULL. LK_INVALID: the error names
 * the part that is wrong, and never quotes the URL; LK_NOMEM.
 */
lk_status lki_url_read(const char *url, const char *password, lki_endpoint *out, lki_error *);

/*
 * These also know the URLs of seeds.h. lki_url_is_plain: whether the scheme is one without TLS;
 * false for local: and for unknown schemes. lki_url_has_password: whether the URL contains a
 * password for the servers that have the locks.
 */
bool lki_url_is_plain(const char *url);
bool lki_url_has_password(const char *url);

#endif
