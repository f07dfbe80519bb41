/* The options of a client, checked, copied and with their defaults. Never change after opening. */
#ifndef LKI_SETTINGS_H
#define LKI_SETTINGS_H

#include "base/error.h"
#include "net/transport.h"

typedef struct {
    char *prefix;
    char *who;             /* SPEC 10.1: "<pid> <host> <app>" */
    char *connection_name; /* for CLIENT LIST */
    char *tls_ca, *tls_cert, *tls_key, *tls_server_name;
    int64_t connect_timeout_ms, command_timeout_ms;
    bool dispatch;
    lk_log_fn *log;
    void *log_arg;
} lki_settings;

#define LKI_TIMEOUT_MOST_MS INT64_C(86400000)
#define LKI_PREFIX_DEFAULT "lk"

/* Whether these can be a prefix and an app. */
bool lki_settings_prefix_fits(const char *prefix);
bool lki_settings_app_fits(const char *app);

lk_status lki_settings_read(const lk_client_options *, lki_settings *out, lki_error *);
void lki_settings_clear(lki_settings *);

/* LK_INVALID: they ask for TLS, and the URL does without; the sentence names the option. */
lk_status lki_settings_suit(const lki_settings *, const char *url, lki_error *);
lki_tls_files lki_settings_tls(const lki_settings *);

#endif
