/*
 * The keys of a configuration, and the text of a configuration file (latchkey.conf(5)). Opens no
 * file and reads no environment.
 */
#ifndef LKI_CONFIG_H
#define LKI_CONFIG_H

#include "base/error.h"

#include <stdbool.h>

/* Each key: its name in a file, its name in the environment, and how a value is checked. */
#define LKI_CONFIG_KEYS(X)                                                                       \
    X(URL, "url", "LATCHKEY_URL", URL)                                                           \
    X(PREFIX, "prefix", "LATCHKEY_PREFIX", PREFIX)                                               \
    X(APP, "app", "LATCHKEY_APP", APP)                                                           \
    X(TLS_CA, "tls_ca", "LATCHKEY_TLS_CA", PATH)                                                 \
    X(TLS_CERT, "tls_cert", "LATCHKEY_TLS_CERT", PATH)                                           \
    X(TLS_KEY, "tls_key", "LATCHKEY_TLS_KEY", PATH)                                              \
    X(TLS_SERVER_NAME, "tls_server_name", "LATCHKEY_TLS_SERVER_NAME", TEXT)                      \
    X(PASSWORD_FILE, "password_file", "LATCHKEY_PASSWORD_FILE", PATH)                            \
    X(SENTINEL_PASSWORD_FILE, "sentinel_password_file", "LATCHKEY_SENTINEL_PASSWORD_FILE", PATH) \
    X(CONNECT_TIMEOUT, "connect_timeout", "LATCHKEY_CONNECT_TIMEOUT", TIME)                      \
    X(COMMAND_TIMEOUT, "command_timeout", "LATCHKEY_COMMAND_TIMEOUT", TIME)                      \
    X(MIN_REPLICAS, "min_replicas", "LATCHKEY_MIN_REPLICAS", REPLICAS)                           \
    X(REPLICA_TIMEOUT, "replica_timeout", "LATCHKEY_REPLICA_TIMEOUT", TIME)                      \
    X(REQUIRE_SERVER, "require_server", "LATCHKEY_REQUIRE_SERVER", FLAG)

#define LKI_CONFIG_ENUM(key, name, variable, kind) LKI_CONFIG_##key,
typedef enum { LKI_CONFIG_KEYS(LKI_CONFIG_ENUM) LKI_CONFIG_COUNT } lki_config_key;
#undef LKI_CONFIG_ENUM

const char *lki_config_name(lki_config_key);     /* in a file */
const char *lki_config_variable(lki_config_key); /* in the environment */

/*
 * A time is 1 ms to a day; a number of replicas is 0 to LKI_REPLICAS_MOST; a flag is yes, no, true,
 * false, 1 or 0. False: the text is not one.
 */
bool lki_config_time(const char *text, int64_t *ms);
bool lki_config_replicas(const char *text, int *out);
bool lki_config_flag(const char *text, bool *out);

/*
 * Checks whether a key can have this value. LK_INVALID: it cannot; the error begins with `where` ·
 * LK_NOMEM. in_file: a path must be absolute.
 */
lk_status lki_config_check(lki_config_key, const char *value, bool in_file, const char *where,
                           lki_error *);

typedef struct {
    char *value;   /* NULL: the file does not have the key */
    unsigned line; /* from 1 */
} lki_config_entry;

typedef struct {
    char *path; /* of the file; NULL: there is no file */
    lki_config_entry entries[LKI_CONFIG_COUNT];
} lki_config;

enum { LKI_CONFIG_LINE_MOST = 4096, LKI_CONFIG_MOST = 65536 }; /* bytes of a line, of a file */

/* LK_INVALID: the error is "path:line: what" · LK_NOMEM. The path is only used in errors. */
lk_status lki_config_parse(const char *path, const char *text, size_t length, lki_config *out,
                           lki_error *);
void lki_config_clear(lki_config *); /* also wipes the values: a URL may contain a password */

#endif
