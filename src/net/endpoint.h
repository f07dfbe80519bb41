/* Where one connection goes, and what is said there first. Knows nothing of how. */
#ifndef LKI_ENDPOINT_H
#define LKI_ENDPOINT_H

#include <stdbool.h>

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

#endif
