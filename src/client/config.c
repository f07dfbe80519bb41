/* See config.h. */
#include "client/config.h"

#include "base/memory.h"
#include "client/settings.h"
#include "net/url.h"
#include "topology/topology.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { WHERE_MOST = 512, WHAT_MOST = 200, KEY_SHOWN_MOST = 40, PATH_SHOWN_MOST = 400 };

typedef enum {
    KIND_URL,
    KIND_PREFIX,
    KIND_APP,
    KIND_PATH,
    KIND_TEXT,
    KIND_TIME,
    KIND_REPLICAS,
    KIND_FLAG
} kind;

#define KEY_ROW(key, name, variable, kind) {name, variable, KIND_##kind},
static const struct {
    const char *name, *variable;
    kind kind;
} keys[] = {LKI_CONFIG_KEYS(KEY_ROW)};
#undef KEY_ROW
_Static_assert(sizeof keys / sizeof *keys == LKI_CONFIG_COUNT, "one row for each key");

const char *lki_config_name(lki_config_key key) {
    return keys[key].name;
}

const char *lki_config_variable(lki_config_key key) {
    return keys[key].variable;
}

/* ------------------------------------------------------------------------------ values */

bool lki_config_time(const char *text, int64_t *ms) {
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}};
    int64_t number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        if ((number = number * 10 + (*at - '0')) > LKI_TIMEOUT_MOST_MS)
            return false;
    for (size_t i = 0; at > text && i < sizeof units / sizeof *units; i++)
        if (strcmp(at, units[i].name) == 0 && number > 0 &&
            number <= LKI_TIMEOUT_MOST_MS / units[i].ms) {
            *ms = number * units[i].ms;
            return true;
        }
    return false;
}

bool lki_config_replicas(const char *text, int *out) {
    int number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        if ((number = number * 10 + (*at - '0')) > LKI_REPLICAS_MOST)
            return false;
    if (*at || at == text)
        return false;
    *out = number;
    return true;
}

bool lki_config_flag(const char *text, bool *out) {
    static const char *const words[][2] = {{"no", "yes"}, {"false", "true"}, {"0", "1"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int yes = 0; yes < 2; yes++)
            if (strcmp(text, words[i][yes]) == 0) {
                *out = yes;
                return true;
            }
    return false;
}

/* "-" stands for passwords that may be elsewhere: a URL with a user alone is valid here. */
static lk_status check_url(const char *url, const char *where, lki_error *error) {
    lki_topology *topology = NULL;
    lki_error refused;
    if (strcasecmp(url, "local:") == 0)
        return LK_OK;
    if (strncasecmp(url, "local:", strlen("local:")) == 0)
        return lki_error_set(error, LK_INVALID, "%s: the URL has something after local:; remove it",
                             where);
    lk_status status = lki_topology_open(url, "-", "-", &topology, &refused);
    if (status == LK_OK)
        topology->methods->close(topology);
    else if (status == LK_NOMEM)
        *error = refused;
    else
        status = lki_error_set(error, LK_INVALID, "%s: %s", where, refused.text);
    return status;
}

/* Why the value is not valid; NULL: it is. */
static const char *fault_of(lki_config_key key, const char *value, bool in_file) {
    int64_t ms;
    int replicas;
    bool flag;
    switch (keys[key].kind) {
    case KIND_PREFIX:
        return lki_settings_prefix_fits(value) ? NULL : "must be 1 to 64 bytes without braces";
    case KIND_APP:
        return lki_settings_app_fits(value) ? NULL : "must be at most 128 bytes";
    case KIND_PATH: /* cron and systemd start programs in other working folders than a shell */
        return !in_file || value[0] == '/' ? NULL : "must be an absolute path";
    case KIND_TIME:
        return lki_config_time(value, &ms)
                   ? NULL
                   : "must be a whole number and a unit, 1ms to 24h: 500ms, 5s, 1m";
    case KIND_REPLICAS:
        return lki_config_replicas(value, &replicas) ? NULL : "must be a whole number, 0 to 1000";
    case KIND_FLAG:
        return lki_config_flag(value, &flag) ? NULL : "must be yes or no";
    case KIND_URL:
    case KIND_TEXT:
        break;
    }
    return NULL;
}

lk_status lki_config_check(lki_config_key key, const char *value, bool in_file, const char *where,
                           lki_error *error) {
    if (keys[key].kind == KIND_URL)
        return check_url(value, where, error);
    const char *fault = fault_of(key, value, in_file);
    return fault ? lki_error_set(error, LK_INVALID, "%s: it %s", where, fault) : LK_OK;
}

/* ------------------------------------------------------------------------------ lines */

typedef struct {
    const char *path; /* for errors */
    unsigned line;    /* the current one, from 1 */
    lki_config found;
    lki_error *error;
} parsing;

typedef struct {
    const char *bytes;
    size_t length;
} span;

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static span trim(span text) {
    while (text.length > 0 && is_blank(text.bytes[0])) {
        text.bytes++;
        text.length--;
    }
    while (text.length > 0 && is_blank(text.bytes[text.length - 1]))
        text.length--;
    return text;
}

static lk_status refuse(parsing *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static lk_status refuse(parsing *self, const char *format, ...) {
    char what[WHAT_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return lki_error_set(self->error, LK_INVALID, "%s:%u: %s", self->path, self->line, what);
}

/* Here and below, errors do not quote the value: a URL may contain a password. */
static lk_status check_bytes(parsing *self, span line) {
    if (line.length > LKI_CONFIG_LINE_MOST)
        return refuse(self, "the line is too long");
    for (size_t i = 0; i < line.length; i++) {
        unsigned char c = (unsigned char)line.bytes[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return refuse(self, "the line contains a control byte, 0x%02x%s", (unsigned)c,
                          c == '\r' ? " (lines must end with a line feed only)" : "");
    }
    return LK_OK;
}

static lk_status find_key(parsing *self, span name, lki_config_key *out) {
    for (int i = 0; i < LKI_CONFIG_COUNT; i++)
        if (strlen(keys[i].name) == name.length &&
            memcmp(keys[i].name, name.bytes, name.length) == 0) {
            *out = (lki_config_key)i;
            return LK_OK;
        }
    int shown = name.length < KEY_SHOWN_MOST ? (int)name.length : KEY_SHOWN_MOST;
    return refuse(self, "there is no key \"%.*s\"; see latchkey.conf(5)", shown, name.bytes);
}

/* "prefix = lk # ours" would silently be another prefix, and so other locks. */
static bool has_comment(span value) {
    for (size_t i = 1; i < value.length; i++)
        if (value.bytes[i] == '#' && is_blank(value.bytes[i - 1]))
            return true;
    return value.length > 0 && value.bytes[0] == '#';
}

static lk_status add_entry(parsing *self, lki_config_key key, span value) {
    lki_config_entry *entry = &self->found.entries[key];
    char where[WHERE_MOST];
    if (entry->value)
        return refuse(self, "%s is already in line %u", keys[key].name, entry->line);
    if (value.length == 0)
        return refuse(self, "%s has no value", keys[key].name);
    if (has_comment(value))
        return refuse(self, "%s is followed by a comment; put the comment on its own line",
                      keys[key].name);
    entry->value = lki_new(value.length + 1);
    if (!entry->value)
        return lki_error_no_memory(self->error);
    memcpy(entry->value, value.bytes, value.length);
    entry->line = self->line;
    snprintf(where, sizeof where, "%s:%u: %s", self->path, self->line, keys[key].name);
    return lki_config_check(key, entry->value, true, where, self->error);
}

static lk_status parse_line(parsing *self, span line) {
    lki_config_key key = LKI_CONFIG_URL;
    lk_status status = check_bytes(self, line);
    line = trim(line);
    if (status != LK_OK || line.length == 0 || line.bytes[0] == '#')
        return status;
    const char *equals = memchr(line.bytes, '=', line.length);
    if (!equals)
        return refuse(self, "the line is not key = value");
    if (equals == line.bytes)
        return refuse(self, "the key before = is missing");
    span name = trim((span){line.bytes, (size_t)(equals - line.bytes)});
    span value = trim((span){equals + 1, line.length - (size_t)(equals + 1 - line.bytes)});
    status = find_key(self, name, &key);
    return status == LK_OK ? add_entry(self, key, value) : status;
}

/* ------------------------------------------------------------------------------ the file */

static lk_status refuse_key(parsing *self, lki_config_key key, const char *why) {
    self->line = self->found.entries[key].line;
    return refuse(self, "%s %s", keys[key].name, why);
}

/* A user who sets up TLS expects that the connection is encrypted. */
static lk_status check_together(parsing *self) {
    static const lki_config_key of_tls[] = {LKI_CONFIG_TLS_CA, LKI_CONFIG_TLS_CERT,
                                            LKI_CONFIG_TLS_KEY, LKI_CONFIG_TLS_SERVER_NAME};
    const lki_config_entry *entries = self->found.entries;
    const char *url = entries[LKI_CONFIG_URL].value;
    if (entries[LKI_CONFIG_TLS_KEY].value && !entries[LKI_CONFIG_TLS_CERT].value)
        return refuse_key(self, LKI_CONFIG_TLS_KEY, "needs a tls_cert in the same file");
    for (size_t i = 0; i < sizeof of_tls / sizeof *of_tls; i++)
        if (url && lki_url_is_plain(url) && entries[of_tls[i]].value)
            return refuse_key(self, of_tls[i],
                              "is set, but the url of this file does not use TLS; write rediss://, "
                              "or remove the line");
    return LK_OK;
}

lk_status lki_config_parse(const char *path, const char *text, size_t length, lki_config *out,
                           lki_error *error) {
    size_t path_length = strlen(path);
    parsing self = {.path = path, .error = error};
    if (path_length > PATH_SHOWN_MOST) /* so that the rest of the error fits */
        self.path += path_length - PATH_SHOWN_MOST;
    lk_status status = lki_copy_to(&self.found.path, path) ? LK_OK : lki_error_no_memory(error);
    for (size_t at = 0; at < length && status == LK_OK;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t size = end ? (size_t)(end - text) - at : length - at;
        self.line++;
        status = parse_line(&self, (span){text + at, size});
        at += size + 1;
    }
    if (status == LK_OK)
        status = check_together(&self);
    if (status == LK_OK)
        *out = self.found;
    else
        lki_config_clear(&self.found);
    return status;
}

void lki_config_clear(lki_config *config) {
    for (int i = 0; i < LKI_CONFIG_COUNT; i++) {
        if (config->entries[i].value)
            explicit_bzero(config->entries[i].value, strlen(config->entries[i].value));
        lki_free(config->entries[i].value);
    }
    lki_free(config->path);
    *config = (lki_config){0};
}
