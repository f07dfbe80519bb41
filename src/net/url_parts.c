/* See url_parts.h. */
#include "net/url_parts.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { PORT_MOST = 65535, HOST_MOST = 253, DB_MOST = INT32_MAX, NUMBER_MOST = 16 };

static const lki_url_scheme schemes[] = {
    {"redis", "redis", LKI_URL_SERVER, false},
    {"rediss", "rediss", LKI_URL_SERVER, true},
    {"valkey", "valkey", LKI_URL_SERVER, false},
    {"valkeys", "valkeys", LKI_URL_SERVER, true},
    {"unix", "unix", LKI_URL_SOCKET, false},
    {"redis+sentinel", "redis", LKI_URL_SENTINELS, false},
    {"rediss+sentinel", "rediss", LKI_URL_SENTINELS, true},
    {"valkey+sentinel", "valkey", LKI_URL_SENTINELS, false},
    {"valkeys+sentinel", "valkeys", LKI_URL_SENTINELS, true},
    {"redis+cluster", "redis", LKI_URL_CLUSTER, false},
    {"rediss+cluster", "rediss", LKI_URL_CLUSTER, true},
    {"valkey+cluster", "valkey", LKI_URL_CLUSTER, false},
    {"valkeys+cluster", "valkeys", LKI_URL_CLUSTER, true},
};

lk_status lki_url_refuse(lki_error *error, const char *part, const char *why) {
    return lki_error_set(error, LK_INVALID, "the %s of the URL %s", part, why);
}

lk_status lki_url_refuse_fragment(const lki_url_parts *parts, lki_error *error) {
    return parts->fragment.bytes
               ? lki_url_refuse(error, "fragment", "is not supported: write # as %23")
               : LK_OK;
}

/* --------------------------------------------------------------------------------- characters */

/* ASCII only, in every locale: in a Turkish locale, tolower('I') is not 'i'. */
static char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

static bool is_plain(char letter, const char *others) {
    return is_digit(letter) || (lower(letter) >= 'a' && lower(letter) <= 'z') ||
           (letter && strchr(others, letter));
}

static int hex_value(char letter) {
    if (is_digit(letter))
        return letter - '0';
    letter = lower(letter);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* --------------------------------------------------------------------------------- splitting */

static const lki_url_scheme *find_scheme(const char *url, const char **rest) {
    const char *end = strstr(url, "://");
    size_t length = end ? (size_t)(end - url) : 0;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        const char *name = schemes[i].name;
        size_t same = 0;
        while (same < length && lower(url[same]) == name[same])
            same++;
        if (end && same == length && !name[same]) {
            *rest = end + 3;
            return &schemes[i];
        }
    }
    return NULL;
}

static lki_url_span take(const char **rest, const char *until) {
    lki_url_span taken = {*rest, strcspn(*rest, until)};
    *rest += taken.length;
    return taken;
}

bool lki_url_split(const char *url, lki_url_parts *out) {
    const char *rest;
    lki_url_parts found = {.scheme = find_scheme(url, &rest)};
    if (!found.scheme)
        return false;
    found.hosts = take(&rest, "/?#");
    const char *at = memrchr(found.hosts.bytes, '@', found.hosts.length);
    if (at) {
        found.login = (lki_url_span){found.hosts.bytes, (size_t)(at - found.hosts.bytes)};
        found.hosts = lki_url_without(found.hosts, found.login.length + 1);
    }
    if (*rest == '/')
        found.path = take(&rest, "?#");
    if (*rest == '?')
        found.query = take(&rest, "#");
    if (*rest == '#')
        found.fragment = take(&rest, "");
    *out = found;
    return true;
}

lki_url_span lki_url_without(lki_url_span text, size_t count) {
    return text.length < count ? (lki_url_span){0}
                               : (lki_url_span){text.bytes + count, text.length - count};
}

lki_url_login lki_url_split_login(lki_url_span login) {
    const char *colon = login.bytes ? memchr(login.bytes, ':', login.length) : NULL;
    lki_url_login found = {
        .user = {login.bytes, colon ? (size_t)(colon - login.bytes) : login.length},
        .user_name = "user",
        .password_name = "password",
        .advice = "is missing: write user:password@"};
    if (colon)
        found.password = lki_url_without(login, found.user.length + 1);
    return found;
}

bool lki_url_has_late_at(const lki_url_parts *parts) {
    return strchr(parts->hosts.bytes + parts->hosts.length, '@') != NULL;
}

/* --------------------------------------------------------------------------------- reading */

static bool read_number(lki_url_span text, unsigned most, unsigned *out) {
    uint64_t number = 0;
    if (text.length == 0)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (!is_digit(text.bytes[i]))
            return false;
        number = number * 10 + (unsigned)(text.bytes[i] - '0');
        if (number > most)
            return false;
    }
    *out = (unsigned)number;
    return true;
}

static char *copy_span(lki_url_span text) {
    char *copy = lki_new(text.length + 1);
    if (copy)
        memcpy(copy, text.bytes, text.length);
    return copy;
}

lk_status lki_url_decode(lki_url_span text, const char *part, char **out, lki_error *error) {
    char *at = *out = lki_new(text.length + 1);
    if (!at)
        return lki_error_no_memory(error);
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] != '%') {
            *at++ = text.bytes[i];
            continue;
        }
        int high = i + 1 < text.length ? hex_value(text.bytes[i + 1]) : -1;
        int low = i + 2 < text.length ? hex_value(text.bytes[i + 2]) : -1;
        if (high < 0 || low < 0)
            return lki_url_refuse(error, part,
                                  "has a % without two hexadecimal digits: write % as %25");
        if (high == 0 && low == 0)
            return lki_url_refuse(error, part, "contains a NUL byte (%00)");
        *at++ = (char)(high * 16 + low);
        i += 2;
    }
    return LK_OK;
}

/* An empty user or password counts as missing: a script may have composed the URL. */
lk_status lki_url_read_login(const lki_url_login *login, const char *password, lki_endpoint *made,
                             lki_error *error) {
    lk_status status = LK_OK;
    if (login->user.length > 0)
        status = lki_url_decode(login->user, login->user_name, &made->user, error);
    if (status == LK_OK && login->password.length > 0)
        status = lki_url_decode(login->password, login->password_name, &made->password, error);
    else if (status == LK_OK && password && *password && !lki_copy_to(&made->password, password))
        status = lki_error_no_memory(error);
    if (status == LK_OK && made->user && !made->password)
        status = lki_url_refuse(error, login->password_name, login->advice);
    return status;
}

static bool is_host_name(lki_url_span host) {
    for (size_t i = 0; i < host.length; i++)
        if (!is_plain(host.bytes[i], "-._"))
            return false;
    return host.length <= HOST_MOST && host.bytes[0] != '.';
}

static bool is_ipv6(const char *text) {
    struct in6_addr address;
    return inet_pton(AF_INET6, text, &address) == 1;
}

static lk_status read_port(lki_url_span text, unsigned port, lki_endpoint *made, lki_error *error) {
    if (text.bytes && (!read_number(text, PORT_MOST, &port) || port == 0))
        return lki_url_refuse(
            error, "port", "is not a number from 1 to 65535 (write an IPv6 address in brackets)");
    made->port = lki_new(NUMBER_MOST);
    if (!made->port)
        return lki_error_no_memory(error);
    snprintf(made->port, NUMBER_MOST, "%u", port);
    return LK_OK;
}

lk_status lki_url_read_host(lki_url_span text, unsigned default_port, lki_endpoint *made,
                            lki_error *error) {
    bool in_brackets = text.length > 0 && text.bytes[0] == '[';
    const char *stop = memchr(text.bytes, in_brackets ? ']' : ':', text.length);
    if (in_brackets && !stop)
        return lki_url_refuse(error, "host", "has no closing bracket");
    lki_url_span host = {text.bytes + in_brackets, text.length};
    if (stop)
        host.length = (size_t)(stop - host.bytes);
    const char *behind = stop ? stop + in_brackets : text.bytes + text.length;
    lki_url_span port = {0};
    if (host.length == 0)
        return lki_url_refuse(error, "host", "is missing");
    if (behind < text.bytes + text.length) {
        if (*behind != ':')
            return lki_url_refuse(error, "host", "is followed by something that is not a port");
        port = lki_url_without(text, (size_t)(behind + 1 - text.bytes));
    }
    made->host = copy_span(host);
    if (!made->host)
        return lki_error_no_memory(error);
    if (in_brackets ? !is_ipv6(made->host) : !is_host_name(host))
        return lki_url_refuse(error, "host", "is neither a name nor an address");
    return read_port(port, default_port, made, error);
}

lk_status lki_url_read_db(lki_url_span text, unsigned *db, lki_error *error) {
    return read_number(text, DB_MOST, db)
               ? LK_OK
               : lki_url_refuse(error, "db", "is not a number from 0 to 2147483647");
}

/* ---------------------------------------------------------------------------------- writing */

void lki_url_put(lki_bytes *out, const char *text) {
    lki_bytes_add(out, text, strlen(text));
}

void lki_url_put_encoded(lki_bytes *out, const char *text, const char *plain) {
    for (; *text; text++) {
        char code[4] = {*text};
        if (!is_plain(*text, plain))
            snprintf(code, sizeof code, "%%%02X", (unsigned)(unsigned char)*text);
        lki_url_put(out, code);
    }
}

void lki_url_put_login(lki_bytes *out, const char *scheme, const char *user) {
    lki_url_put(out, scheme);
    lki_url_put(out, "://");
    if (user) {
        lki_url_put_encoded(out, user, LKI_URL_UNRESERVED);
        lki_url_put(out, "@");
    }
}

/* The host and port may be from a server, and contain any byte. */
void lki_url_put_address(lki_bytes *out, const lki_endpoint *endpoint) {
    bool in_brackets = strchr(endpoint->host, ':') != NULL;
    lki_url_put(out, in_brackets ? "[" : "");
    lki_url_put_encoded(out, endpoint->host, LKI_URL_UNRESERVED ":");
    lki_url_put(out, in_brackets ? "]:" : ":");
    lki_url_put_encoded(out, endpoint->port, "");
}

void lki_url_put_db(lki_bytes *out, const char *before, unsigned db) {
    char text[NUMBER_MOST];
    snprintf(text, sizeof text, "%u", db);
    if (db) {
        lki_url_put(out, before);
        lki_url_put(out, text);
    }
}

char *lki_url_finish(lki_bytes *out) {
    lki_bytes_add(out, "", 1);
    if (out->failed)
        lki_bytes_free(out);
    return out->data;
}

char *lki_url_show(const char *scheme, const lki_endpoint *endpoint) {
    lki_bytes out = {0};
    lki_url_put_login(&out, scheme, endpoint->user);
    if (endpoint->path)
        lki_url_put_encoded(&out, endpoint->path, LKI_URL_UNRESERVED "/");
    else
        lki_url_put_address(&out, endpoint);
    lki_url_put_db(&out, endpoint->path ? "?db=" : "/", endpoint->db);
    return lki_url_finish(&out);
}
