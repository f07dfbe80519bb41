/*
 * Chooses the URL and the options of a client. For each, the sources are, in this order: the
 * caller, the environment, the configuration files, the default. Does not connect.
 *
 * The environment is always read. The files are read only if the caller gives no URL. So a file
 * cannot break a program that names its server itself.
 *
 * Each key is chosen independently, with two exceptions. A tls_key comes from the same source as
 * the tls_cert. And tls_*, password_file and sentinel_password_file of a file that has a url are
 * used with that url only: another url may name another server.
 */
#ifndef LKI_CHOICE_H
#define LKI_CHOICE_H

#include "client/config.h"

typedef struct {
    char *url;               /* may contain passwords */
    char *password;          /* of the servers, for a URL without one; NULL: none */
    char *sentinel_password; /* of the sentinels, for a URL without one; NULL: none */
    bool url_is_default;     /* the URL is local:, because no source has one */
    /*
     * The caller's options, with empty ones filled in. Texts belong to the caller, or to `texts`.
     */
    lk_client_options options;
    char *texts[LKI_CONFIG_COUNT]; /* values from the environment and the files; NULL: none */
    /* The source of each value, "LATCHKEY_URL" or "file:line"; NULL: the caller, or the default. */
    char *from[LKI_CONFIG_COUNT];
} lki_choice;

/*
 * LK_INVALID: a configuration file or a variable is not valid, and the error says where; or a
 * server is required, and the URL is local: · LK_NOMEM. Does not check a URL of the caller or of
 * the environment.
 */
lk_status lki_choice_read(const char *url, const lk_client_options *, lki_choice *out, lki_error *);
void lki_choice_clear(lki_choice *);

/*
 * For an error of a client that was opened with this choice. If it is LK_INVALID, and the value is
 * from the environment or a file, the error names the variable, or the file and the line, in place
 * of the option. An error that does not begin with the name of an option is about the URL.
 */
void lki_choice_name_source(const lki_choice *, lki_error *);

#endif
