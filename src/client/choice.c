/* See choice.h. */
#include "client/choice.h"

#include "base/memory.h"
#include "client/config_files.h"
#include "net/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WHERE_MOST = 512, PATH_SHOWN_MOST = 400, LINE_TEXT_MOST = 16 };

/* The sources other than the caller, in the order of precedence. */
typedef struct {
    const char *variables[LKI_CONFIG_COUNT]; /* of the environment; NULL: not set, or empty */
    lki_config files[LKI_CONFIG_FILES];
    const lki_config *url_file; /* the file that the URL is from; NULL: it is not from a file */
} sources;

typedef struct {
    const char *value;      /* NULL: no source has the key */
    const lki_config *file; /* NULL: the value is from the environment */
} found_value;

static bool is_local(const char *url) {
    return strncasecmp(url, "local:", strlen("local:")) == 0;
}

static bool is_for_its_url(lki_config_key key) {
    return key == LKI_CONFIG_TLS_CA || key == LKI_CONFIG_TLS_CERT || key == LKI_CONFIG_TLS_KEY ||
           key == LKI_CONFIG_TLS_SERVER_NAME || key == LKI_CONFIG_PASSWORD_FILE ||
           key == LKI_CONFIG_SENTINEL_PASSWORD_FILE;
}

static found_value find(const sources *self, lki_config_key key) {
    if (self->variables[key])
        return (found_value){self->variables[key], NULL};
    for (size_t i = 0; i < LKI_CONFIG_FILES; i++) {
        const lki_config *file = &self->files[i];
        bool is_for_other_url =
            is_for_its_url(key) && file->entries[LKI_CONFIG_URL].value && file != self->url_file;
        if (file->entries[key].value && !is_for_other_url)
            return (found_value){file->entries[key].value, file};
    }
    return (found_value){0};
}

/* "LATCHKEY_URL" or "file:line", to be freed with lki_free. NULL: out of memory. */
static char *place_of(const found_value *found, lki_config_key key) {
    if (!found->file)
        return lki_copy(lki_config_variable(key));
    size_t size = strlen(found->file->path) + LINE_TEXT_MOST;
    char *place = lki_new(size);
    if (place)
        snprintf(place, size, "%s:%u", found->file->path, found->file->entries[key].line);
    return place;
}

/* How errors name the source of a value: "LATCHKEY_TLS_CA", or "file:line: tls_ca". */
static void write_source(const lki_choice *self, lki_config_key key, char out[WHERE_MOST]) {
    const char *from = self->from[key];
    size_t length = strlen(from);
    bool in_file = strcmp(from, lki_config_variable(key)) != 0;
    snprintf(out, WHERE_MOST, "%s%s%s",
             from + (length > PATH_SHOWN_MOST ? length - PATH_SHOWN_MOST : 0), in_file ? ": " : "",
             in_file ? lki_config_name(key) : "");
}

/* Uses a value; *text becomes a copy of it. Values of files were checked when they were parsed. */
static lk_status adopt(lki_choice *self, lki_config_key key, const found_value *found,
                       const char **text, lki_error *error) {
    lk_status status = LK_OK;
    if (!found->file && key != LKI_CONFIG_URL)
        status = lki_config_check(key, found->value, false, lki_config_variable(key), error);
    if (status != LK_OK)
        return status;
    self->from[key] = place_of(found, key);
    if (!self->from[key] || !lki_copy_to(&self->texts[key], found->value))
        return lki_error_no_memory(error);
    *text = self->texts[key];
    return LK_OK;
}

static lk_status choose_text(lki_choice *self, const sources *all, lki_config_key key,
                             const char **text, lki_error *error) {
    found_value found = find(all, key);
    return *text || !found.value ? LK_OK : adopt(self, key, &found, text, error);
}

static lk_status choose_time(lki_choice *self, const sources *all, lki_config_key key, int64_t *ms,
                             lki_error *error) {
    const char *text = NULL;
    lk_status status = *ms ? LK_OK : choose_text(self, all, key, &text, error);
    if (status == LK_OK && text && !lki_config_time(text, ms))
        status = lki_error_set(error, LK_INTERNAL, "the timeout \"%s\" is not valid", text);
    return status;
}

/* `local:` has no replicas: a setting of the machine does not mean it. */
static lk_status choose_replicas(lki_choice *self, const sources *all, lki_error *error) {
    lk_client_options *options = &self->options;
    const char *text = NULL;
    lk_status status = LK_OK;
    if (is_local(self->url))
        return LK_OK;
    if (!options->min_replicas)
        status = choose_text(self, all, LKI_CONFIG_MIN_REPLICAS, &text, error);
    if (status == LK_OK && text && !lki_config_replicas(text, &options->min_replicas))
        status = lki_error_set(error, LK_INTERNAL, "min_replicas \"%s\" is not valid", text);
    if (status == LK_OK)
        status =
            choose_time(self, all, LKI_CONFIG_REPLICA_TIMEOUT, &options->replica_timeout_ms, error);
    return status;
}

/* ------------------------------------------------------------------------------ the server */

static lk_status choose_url(lki_choice *self, sources *all, const char *given, lki_error *error) {
    const char *url = NULL;
    found_value found = find(all, LKI_CONFIG_URL);
    lk_status status = LK_OK;
    if (!given && found.value) {
        status = adopt(self, LKI_CONFIG_URL, &found, &url, error);
        all->url_file = found.file;
    }
    self->url_is_default = !given && !found.value;
    if (status == LK_OK && !lki_copy_to(&self->url, given                  ? given
                                                    : self->url_is_default ? "local:"
                                                                           : url))
        status = lki_error_no_memory(error);
    return status;
}

/* For require_server. Not called if the caller gives a URL: that is a decision of the program. */
static lk_status check_requirement(lki_choice *self, const sources *all, lki_error *error) {
    const char *text = NULL;
    bool required = false;
    lk_status status = choose_text(self, all, LKI_CONFIG_REQUIRE_SERVER, &text, error);
    if (status != LK_OK || !text || !lki_config_flag(text, &required) || !required ||
        !is_local(self->url))
        return status;
    if (self->url_is_default)
        return lki_error_set(
            error, LK_INVALID,
            "no server is configured, and %.*s requires one: set url in " LKI_SYSTEM_CONFIG
            ", or LATCHKEY_URL",
            PATH_SHOWN_MOST, self->from[LKI_CONFIG_REQUIRE_SERVER]);
    return lki_error_set(
        error, LK_INVALID, "%.*s requires a server, but the url of %.*s is local:", PATH_SHOWN_MOST,
        self->from[LKI_CONFIG_REQUIRE_SERVER], PATH_SHOWN_MOST, self->from[LKI_CONFIG_URL]);
}

/* ------------------------------------------------------------------------------ TLS, passwords */

/* The certificate and its key must come from one source: another key would not match. */
static lk_status choose_certificate(lki_choice *self, const sources *all, lki_error *error) {
    lk_client_options *options = &self->options;
    found_value cert = find(all, LKI_CONFIG_TLS_CERT), key = find(all, LKI_CONFIG_TLS_KEY);
    if (options->tls_cert || options->tls_key)
        return LK_OK;
    if (all->variables[LKI_CONFIG_TLS_KEY] && !all->variables[LKI_CONFIG_TLS_CERT])
        return lki_error_set(error, LK_INVALID,
                             "LATCHKEY_TLS_KEY without LATCHKEY_TLS_CERT; give both");
    lk_status status = LK_OK;
    if (cert.value)
        status = adopt(self, LKI_CONFIG_TLS_CERT, &cert, &options->tls_cert, error);
    if (status == LK_OK && cert.value && key.value && key.file == cert.file)
        status = adopt(self, LKI_CONFIG_TLS_KEY, &key, &options->tls_key, error);
    return status;
}

/* For a URL without TLS, settings of the environment and the files are ignored. */
static lk_status choose_tls(lki_choice *self, const sources *all, lki_error *error) {
    lk_client_options *options = &self->options;
    lk_status status = LK_OK;
    if (is_local(self->url) || lki_url_is_plain(self->url))
        return LK_OK;
    if ((status = choose_text(self, all, LKI_CONFIG_TLS_CA, &options->tls_ca, error)) ||
        (status =
             choose_text(self, all, LKI_CONFIG_TLS_SERVER_NAME, &options->tls_server_name, error)))
        return status;
    return choose_certificate(self, all, error);
}

static lk_status read_password_file(const lki_choice *self, lki_config_key key, char **out,
                                    lki_error *error) {
    char where[WHERE_MOST];
    write_source(self, key, where);
    return lki_password_file_read(self->texts[key], where, out, error);
}

/* The password itself is in `variable`, or else in the file that the key names. */
static lk_status choose_secret(lki_choice *self, const sources *all, const char *variable,
                               lki_config_key key, char **out, lki_error *error) {
    const char *named = secure_getenv(variable), *path = NULL;
    if (named && *named)
        return lki_copy_to(out, named) ? LK_OK : lki_error_no_memory(error);
    lk_status status = choose_text(self, all, key, &path, error);
    return status == LK_OK && path ? read_password_file(self, key, out, error) : status;
}

/* A password that the URL has, or does not need, is not looked for: its file may be missing. */
static lk_status choose_passwords(lki_choice *self, const sources *all, lki_error *error) {
    lk_status status = LK_OK;
    if (!is_local(self->url) && !lki_url_has_password(self->url))
        status = choose_secret(self, all, "LATCHKEY_PASSWORD", LKI_CONFIG_PASSWORD_FILE,
                               &self->password, error);
    if (status == LK_OK && lki_url_is_of_sentinels(self->url) &&
        !lki_url_has_sentinel_password(self->url))
        status = choose_secret(self, all, "LATCHKEY_SENTINEL_PASSWORD",
                               LKI_CONFIG_SENTINEL_PASSWORD_FILE, &self->sentinel_password, error);
    return status;
}

/* ------------------------------------------------------------------------------ all keys */

static lk_status choose_all(lki_choice *self, sources *all, const char *url, lki_error *error) {
    lk_client_options *options = &self->options;
    lk_status status = url ? LK_OK : lki_config_files_read(all->files, error);
    if (status == LK_OK)
        status = choose_url(self, all, url, error);
    if (status == LK_OK && !url)
        status = check_requirement(self, all, error);
    if (status != LK_OK ||
        (status = choose_text(self, all, LKI_CONFIG_PREFIX, &options->prefix, error)) ||
        (status = choose_text(self, all, LKI_CONFIG_APP, &options->app, error)) ||
        (status = choose_time(self, all, LKI_CONFIG_CONNECT_TIMEOUT, &options->connect_timeout_ms,
                              error)) ||
        (status = choose_time(self, all, LKI_CONFIG_COMMAND_TIMEOUT, &options->command_timeout_ms,
                              error)) ||
        (status = choose_replicas(self, all, error)) || (status = choose_tls(self, all, error)))
        return status;
    return choose_passwords(self, all, error);
}

static void read_environment(sources *all) {
    for (int i = 0; i < LKI_CONFIG_COUNT; i++) {
        const char *value = secure_getenv(lki_config_variable((lki_config_key)i));
        all->variables[i] = value && *value ? value : NULL;
    }
}

lk_status lki_choice_read(const char *url, const lk_client_options *options, lki_choice *out,
                          lki_error *error) {
    lki_choice self = {0};
    sources all = {0};
    if (options)
        self.options = *options;
    read_environment(&all);
    lk_status status = choose_all(&self, &all, url, error);
    for (size_t i = 0; i < LKI_CONFIG_FILES; i++)
        lki_config_clear(&all.files[i]);
    if (status == LK_OK)
        *out = self;
    else
        lki_choice_clear(&self);
    return status;
}

/* ------------------------------------------------------------------------------ errors */

/* The length of the option's name, if the text begins with it; or 0. Fields of times end in _ms. */
static size_t option_length(const char *text, lki_config_key key) {
    const char *name = lki_config_name(key);
    size_t length = strlen(name), word = strcspn(text, " :");
    bool is_it = word >= length && strncmp(text, name, length) == 0 &&
                 (word == length || (word == length + 3 && memcmp(text + length, "_ms", 3) == 0));
    return is_it ? word : 0;
}

void lki_choice_name_source(const lki_choice *self, lki_error *error) {
    lki_error refused = *error;
    lki_config_key key = LKI_CONFIG_URL;
    size_t length = 0;
    char where[WHERE_MOST];
    if (error->status != LK_INVALID || strncmp(error->text, "LATCHKEY_", 9) == 0)
        return;
    for (int i = 0; i < LKI_CONFIG_COUNT && length == 0; i++)
        if ((length = option_length(refused.text, (lki_config_key)i)) > 0)
            key = (lki_config_key)i;
    if (!self->from[key])
        return;
    write_source(self, key, where);
    lki_error_set(error, LK_INVALID, "%s%s%s", where, length ? "" : ": ", refused.text + length);
}

static void wipe(char *text) {
    if (text)
        explicit_bzero(text, strlen(text));
    lki_free(text);
}

void lki_choice_clear(lki_choice *self) {
    wipe(self->url);
    wipe(self->password);
    wipe(self->sentinel_password);
    for (int i = 0; i < LKI_CONFIG_COUNT; i++) {
        wipe(self->texts[i]);
        lki_free(self->from[i]);
    }
    *self = (lki_choice){0};
}
