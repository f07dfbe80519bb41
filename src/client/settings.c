/* See settings.h. */
#include "client/settings.h"

#include "base/memory.h"
#include "engine/form.h"
#include "net/url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_DEFAULT_MS = 5000, REPLICA_TIMEOUT_MS = 1000, APP_MOST = 128, HOST_MOST = 64 };

static lk_status read_timeout(int64_t given_ms, const char *name, int64_t *out, lki_error *error) {
    if (given_ms < 0 || given_ms > LKI_TIMEOUT_MOST_MS)
        return lki_error_set(error, LK_INVALID, "%s must be 1 to %lld, or 0 for %d", name,
                             (long long)LKI_TIMEOUT_MOST_MS, TIMEOUT_DEFAULT_MS);
    *out = given_ms ? given_ms : TIMEOUT_DEFAULT_MS;
    return LK_OK;
}

bool lki_settings_prefix_fits(const char *prefix) {
    size_t length = strlen(prefix);
    return length >= 1 && length <= LKI_PREFIX_MOST && !strpbrk(prefix, "{}");
}

bool lki_settings_app_fits(const char *app) {
    return strlen(app) <= APP_MOST;
}

static lk_status read_prefix(const char *given, char **out, lki_error *error) {
    const char *prefix = given ? given : LKI_PREFIX_DEFAULT;
    if (!lki_settings_prefix_fits(prefix))
        return lki_error_set(error, LK_INVALID, "prefix must be 1 to %d bytes without braces",
                             LKI_PREFIX_MOST);
    return lki_copy_to(out, prefix) ? LK_OK : lki_error_no_memory(error);
}

static lk_status read_app(const char *given, lki_settings *out, lki_error *error) {
    const char *app = given ? given : program_invocation_short_name;
    char host[HOST_MOST + 1] = "";
    char who[LKI_WHO_MOST + 1], name[16 + APP_MOST];
    if (given && !lki_settings_app_fits(given))
        return lki_error_set(error, LK_INVALID, "app must be at most %d bytes", APP_MOST);
    gethostname(host, sizeof host - 1);
    host[strcspn(host, " ")] = 0;
    snprintf(who, sizeof who, "%ld %s %.*s", (long)getpid(), *host ? host : "?", APP_MOST, app);
    snprintf(name, sizeof name, "latchkey:%.*s", APP_MOST, app);
    for (char *c = name; *c; c++) /* CLIENT SETNAME refuses spaces and control bytes */
        if (*c <= ' ' || *c > '~')
            *c = '_';
    return lki_copy_to(&out->who, who) && lki_copy_to(&out->connection_name, name)
               ? LK_OK
               : lki_error_no_memory(error);
}

/* After the timeouts: a WAIT must end before the connection counts as silent. */
static lk_status read_replicas(const lk_client_options *options, lki_settings *out,
                               lki_error *error) {
    int64_t timeout_ms = options->replica_timeout_ms, most_ms = out->command_timeout_ms / 2;
    if (options->min_replicas < 0 || options->min_replicas > LKI_REPLICAS_MOST)
        return lki_error_set(error, LK_INVALID, "min_replicas must be 0 to %d, not %d",
                             LKI_REPLICAS_MOST, options->min_replicas);
    if (timeout_ms < 0 || timeout_ms > most_ms)
        return lki_error_set(error, LK_INVALID,
                             "replica_timeout_ms must be 0 to %lld ms, half of the command "
                             "timeout, not %lld ms",
                             (long long)most_ms, (long long)timeout_ms);
    out->min_replicas = options->min_replicas;
    out->replica_timeout_ms = timeout_ms ? timeout_ms : REPLICA_TIMEOUT_MS;
    if (out->replica_timeout_ms > most_ms)
        out->replica_timeout_ms = most_ms > 0 ? most_ms : 1; /* 0 would mean for ever */
    return LK_OK;
}

static lk_status read_all(const lk_client_options *options, lki_settings *out, lki_error *error) {
    lk_status status = LK_OK;
    if (options->tls_key && !options->tls_cert)
        return lki_error_set(error, LK_INVALID, "tls_key without tls_cert; give both");
    if ((status = read_timeout(options->connect_timeout_ms, "connect_timeout_ms",
                               &out->connect_timeout_ms, error)) ||
        (status = read_timeout(options->command_timeout_ms, "command_timeout_ms",
                               &out->command_timeout_ms, error)) ||
        (status = read_replicas(options, out, error)) ||
        (status = read_prefix(options->prefix, &out->prefix, error)) ||
        (status = read_app(options->app, out, error)))
        return status;
    if (!lki_copy_to(&out->tls_ca, options->tls_ca) ||
        !lki_copy_to(&out->tls_cert, options->tls_cert) ||
        !lki_copy_to(&out->tls_key, options->tls_key) ||
        !lki_copy_to(&out->tls_server_name, options->tls_server_name))
        return lki_error_no_memory(error);
    out->dispatch = options->dispatch;
    out->log = options->log;
    out->log_arg = options->log_arg;
    return LK_OK;
}

lk_status lki_settings_read(const lk_client_options *options, lki_settings *out, lki_error *error) {
    static const lk_client_options defaults;
    lki_settings settings = {0};
    lk_status status = read_all(options ? options : &defaults, &settings, error);
    if (status == LK_OK)
        *out = settings;
    else
        lki_settings_clear(&settings);
    return status;
}

void lki_settings_clear(lki_settings *settings) {
    lki_free(settings->prefix);
    lki_free(settings->who);
    lki_free(settings->connection_name);
    lki_free(settings->tls_ca);
    lki_free(settings->tls_cert);
    lki_free(settings->tls_key);
    lki_free(settings->tls_server_name);
    *settings = (lki_settings){0};
}

/* A user who sets up TLS expects that the connection is encrypted. */
lk_status lki_settings_suit(const lki_settings *settings, const char *url, lki_error *error) {
    const struct {
        const char *name, *value;
    } options[] = {{"tls_ca", settings->tls_ca},
                   {"tls_cert", settings->tls_cert},
                   {"tls_key", settings->tls_key},
                   {"tls_server_name", settings->tls_server_name}};
    if (!lki_url_is_plain(url))
        return LK_OK;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].value)
            return lki_error_set(error, LK_INVALID,
                                 "%s is set, but the URL does not use TLS; write rediss://, or "
                                 "leave it out",
                                 options[i].name);
    return LK_OK;
}
