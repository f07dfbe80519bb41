/*
 * Where a connection goes, and the URLs that say so: redis://, rediss://, valkey://, valkeys://, unix://. Pure text work: opens
 * nothing, reads no environment.
 */
#ifndef LKI_URL_H
#define LKI_URL_H

#include "base/error.h"

/* The server to connect to, and what is sent there first. */
/* Either `path` (a Unix socket) or `host` and `port`. All texts are the endpoint's own. */
typedef struct {
    char *path;
    char *host, *port;
    bool tls;
    char *user;     /* NULL: the server's default user */
    char *password; /* NULL: no AUTH */
    unsigned db;
    char *shown; /* for people: a URL without the password */
} lki_endpoint;

void lki_endpoint_clear(lki_endpoint *); /* also wipes the password from memory */
bool lki_endpoint_copy(const lki_endpoint *, lki_endpoint *out); /* false: out of memory */

/*
 * Reads a URL. `password` is taken if the URL has none (NULL: none). LK_INVALID says which part
 * cannot be read, and never shows the password; LK_NOMEM.
 */
lk_status lki_url_read(const char *url, const char *password, lki_endpoint *out, lki_error *);

/* Whether this is the URL of a server that is reached without TLS; false for local: and others. */
bool lki_url_is_plain(const char *url);

/* Whether a URL of a server has a password in it. */
bool lki_url_has_password(const char *url);

#endif
