/*
 * Certificates made for one run of a test, in a folder that goes with it, and servers on TCP ports
 * of 127.0.0.1 that use them. In the folder, each with .crt and .key: ca, other            issuers;
 * hashed/ has ca as OpenSSL looks it up, plain/ as it is here                 by ca, for localhost
 * and 127.0.0.1 elsewhere, expired   by ca, for another host; for localhost, but in the past
 *   client, stranger     of clients, by ca and by other; client.both has certificate and key
 *   client.locked        client's key behind a password; garbage: no certificate at all
 */
#ifndef TEST_TLS_SERVER_H
#define TEST_TLS_SERVER_H

#include "server.h"

/* False: openssl failed. The folder is removed by certificates_remove, or at exit. */
bool certificates_make(void);
void certificates_remove(void);

/* The path of a file there; good until 16 more were asked for. */
char *certificate_file(const char *name);

/* A socket bound to a free port of 127.0.0.1, that listens when `backlog` is not 0; -1: none. */
int bind_any_port(unsigned *port, int backlog);

typedef struct {
    test_server *server;
    unsigned port;
} tcp_server;

/*
 * A server with TLS, called `certificate`; auth: whether clients need a certificate ("yes", "no",
 * "optional"); protocols: NULL for its own choice. Or one without TLS, with further options of its
 * command line, ended by NULL. `server` is NULL when it does not start.
 */
tcp_server tls_server_start(const char *certificate, const char *auth, const char *protocols);
tcp_server plain_server_start(const char *const *options);

#endif
