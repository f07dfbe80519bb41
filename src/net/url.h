/*
 * URLs of one server: redis://, rediss://, valkey://, valkeys://, unix://. Pure text work: opens
 * nothing, reads no environment.
 */
#ifndef LKI_URL_H
#define LKI_URL_H

#include "base/error.h"
#include "net/endpoint.h"

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
