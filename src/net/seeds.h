/*
 * The URL of several servers: of sentinels that know a master, or of nodes of a cluster. Handles
 * text only: opens nothing, and reads no environment variable.
 */
#ifndef LKI_SEEDS_H
#define LKI_SEEDS_H

#include "net/url.h"

enum { LKI_SEEDS_MOST = 64, LKI_MASTER_MOST = 255 }; /* hosts of a URL, bytes of a master's name */

typedef struct {
    /* The sentinels, or some nodes of the cluster: where they are, and how to log in to them. */
    lki_endpoint *seeds;
    size_t count;
    /* How to log in to the servers that have the locks: tls, user, password, db; no address. */
    lki_endpoint server;
    const char *scheme; /* of the URL of one server: redis, rediss, valkey or valkeys */
    char *master;       /* the name of the master that the sentinels know; NULL: a cluster */
    char *shown;        /* the URL without passwords, for error texts */
} lki_seeds;

/*
 * Parses a URL. `password` is for the servers, `sentinel_password` for the sentinels. Each is used
 * if the URL has none, and may be NULL. LK_INVALID: the error names the part that is wrong, and
 * never quotes the URL; LK_NOMEM.
 */
lk_status lki_seeds_read(const char *url, const char *password, const char *sentinel_password,
                         lki_seeds *out, lki_error *);
void lki_seeds_clear(lki_seeds *); /* also wipes the passwords from memory */

/*
 * A server at this address, to log in to as `server` says. `shown` is the URL of that server, such
 * as redis://user@host:port/db. False: out of memory.
 */
bool lki_seeds_endpoint(const lki_seeds *, const char *host, const char *port, lki_endpoint *out);

/* Whether the URL is one of sentinels or of a cluster. */
bool lki_url_is_of_seeds(const char *url);

/* Which of the errors of several seeds a user should see: that with the greatest number. */
int lki_seed_error_weight(lk_status);

/* Whether the URL is one of sentinels, and whether it contains a password for them. */
bool lki_url_is_of_sentinels(const char *url);
bool lki_url_has_sentinel_password(const char *url);

#endif
