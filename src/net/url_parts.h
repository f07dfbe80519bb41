/*
 * The schemes and parts of a URL, for url.c and seeds.c only. Errors name the part that is wrong and
 * never quote it: in a malformed URL, any part may contain a password.
 */
#ifndef LKI_URL_PARTS_H
#define LKI_URL_PARTS_H

#include "base/bytes.h"
#include "net/url.h"

typedef enum { LKI_URL_SERVER, LKI_URL_SOCKET, LKI_URL_SENTINELS, LKI_URL_CLUSTER } lki_url_kind;

typedef struct {
    const char *name;
    const char *of_server; /* the scheme of one of its servers: redis for redis+cluster */
    lki_url_kind kind;
    bool tls;
} lki_url_scheme;

/* Some bytes of the URL. `bytes` NULL: the URL does not have this part. */
typedef struct {
    const char *bytes;
    size_t length;
} lki_url_span;

/* scheme://[login@]hosts/path?query#fragment. The last three include their first character. */
typedef struct {
    const lki_url_scheme *scheme;
    lki_url_span login, hosts, path, query, fragment;
} lki_url_parts;

/* A user and a password, still encoded, and how errors name them. */
typedef struct {
    lki_url_span user, password;
    const char *user_name, *password_name;
    const char *advice; /* to a user without a password */
} lki_url_login;

/* ------------------------------------------------------------------------------ reading */

bool lki_url_split(const char *url, lki_url_parts *out); /* false: the scheme is not known */

/* Without its first `count` bytes. A span that is shorter becomes one without bytes. */
lki_url_span lki_url_without(lki_url_span, size_t count);
lki_url_login lki_url_split_login(lki_url_span login);

lk_status lki_url_refuse(lki_error *, const char *part, const char *why);
lk_status lki_url_refuse_fragment(const lki_url_parts *, lki_error *);

/* Whether an @ follows the hosts. Then the user or password probably contains a '/', '?' or '#'. */
bool lki_url_has_late_at(const lki_url_parts *);

/* Sets *out even on failure, so that its owner also wipes a half-decoded password. */
lk_status lki_url_decode(lki_url_span, const char *part, char **out, lki_error *);

/* These set fields of the endpoint even on failure; its owner clears it. */
lk_status lki_url_read_login(const lki_url_login *, const char *password, lki_endpoint *,
                             lki_error *);
lk_status lki_url_read_host(lki_url_span, unsigned default_port, lki_endpoint *, lki_error *);
lk_status lki_url_read_db(lki_url_span, unsigned *db, lki_error *);

/* ------------------------------------------------------------------------------ writing */

void lki_url_put(lki_bytes *, const char *text);

#define LKI_URL_UNRESERVED "-._~" /* with letters and digits: what RFC 3986 never encodes */

/* Encodes all but letters, digits and `plain`, so that the text is safe in a terminal or a log. */
void lki_url_put_encoded(lki_bytes *, const char *text, const char *plain);
void lki_url_put_login(lki_bytes *, const char *scheme, const char *user); /* user may be NULL */
void lki_url_put_address(lki_bytes *, const lki_endpoint *);
void lki_url_put_db(lki_bytes *, const char *before, unsigned db); /* nothing for db 0 */

/* Ends the text and hands it over, to be freed with lki_free. NULL: out of memory. */
char *lki_url_finish(lki_bytes *);

/* The URL of one server, without its password. NULL: out of memory. */
char *lki_url_show(const char *scheme, const lki_endpoint *);

#endif
