/*
 * What a client is opened with: what its caller says, and for what the caller leaves open, the
 * environment, the configuration files, and the defaults, in this order. Connects to nobody.
 *
 * The environment is always asked. The files are read only when the caller gives no URL, and so
 * leaves the choice of the server to the machine: a program that says where its locks are is not
 * broken by a file that it does not know.
 *
 * Each key is settled by itself, with two exceptions. A tls_key comes from where the tls_cert comes
 * from. And tls_* and password_file of a file that has a url are for that url: they are not used
 * with another one, which might be that of another server.
 */
#ifndef LKI_CHOICE_H
#define LKI_CHOICE_H

#include "client/config.h"

typedef struct {
    char *url;      /* maybe with a password */
    char *password; /* for a URL that has none; NULL: none */
    bool by_nobody; /* the URL is local:, and neither caller, environment nor file said so */
    lk_client_options options; /* the caller's, filled up; its texts live as long as this and the
                                  caller's do */
    char *texts[LKI_CONFIG_COUNT]; /* those that are not the caller's */
    char
        *from[LKI_CONFIG_COUNT]; /* "LATCHKEY_URL" or "file:line"; NULL: the caller, or a default */
} lki_choice;

/*
 * LK_INVALID: a configuration file, or a value of the environment, and where it stands; or a server
 * is required, and the URL is local: · LK_NOMEM. A URL of the caller or of the environment is not
 * looked at.
 */
lk_status lki_choice_read(const char *url, const lk_client_options *, lki_choice *out, lki_error *);
void lki_choice_clear(lki_choice *);

#endif
