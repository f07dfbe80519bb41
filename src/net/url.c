/*
 * See url.h. Errors name the part that is wrong and never quote it: in a malformed URL, any part
 * may contain the password.
 */
#include "net/url.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

enum { PORT_MOST = 65535, HOST_MOST = 253, DB_MOST = INT32_MAX, NUMBER_MOST = 16 };

typedef struct {
    const char *name;
    bool tls, is_socket;
} url_scheme;

static const url_scheme schemes[] = {
    {"redis", false, false},  {"rediss", true, false}, {"valkey", false, false},
    {"valkeys", true, false}, {"unix", false, true},
};

/* A part of the URL. `bytes` NULL: the URL does not have this part. */
typedef struct {
    const char *bytes;
    size_t length;
} span;

/* [login@]host, /path, ?query, #fragment. The last three include their first character. */
typedef struct {
    span login, host, path, query, fragment;
} parts;

static lk_status refuse(lki_error *error, const char *part, const char *why) {
    return lki_error_set(error, LK_INVALID, "the %s of the URL %s", part, why);
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

/* --------------------------------------------------------------------------------- reading */

static bool read_number(span text, unsigned most, unsigned *out) {
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

static span without(span text, size_t count) {
    return text.length < count ? (span){0} : (span){text.bytes + count, text.length - count};
}

static char *copy_span(span text) {
    char *copy = lki_new(text.length + 1);
    if (copy)
        memcpy(copy, text.bytes, text.length);
    return copy;
}

/* Sets *out even on failure, so that lki_endpoint_clear() also wipes a half-decoded password. */
static lk_status decode(span text, const char *part, char **out, lki_error *error) {
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
            return refuse(error, part, "has a % without two hexadecimal digits: write % as %25");
        if (high == 0 && low == 0)
            return refuse(error, part, "contains a NUL byte (%00)");
        *at++ = (char)(high * 16 + low);
        i += 2;
    }
    return LK_OK;
}

static const url_scheme *find_scheme(const char *url, const char **rest) {
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

static span take(const char **rest, const char *until) {
    span taken = {*rest, strcspn(*rest, until)};
    *rest += taken.length;
    return taken;
}

static parts split(const char *rest) {
    parts found = {.host = take(&rest, "/?#")};
    const char *at = memrchr(found.host.bytes, '@', found.host.length);
    if (at) {
        found.login = (span){found.host.bytes, (size_t)(at - found.host.bytes)};
        found.host = (span){at + 1, found.host.length - found.login.length - 1};
    }
    if (*rest == '/')
        found.path = take(&rest, "?#");
    if (*rest == '?')
        found.query = take(&rest, "#");
    if (*rest == '#')
        found.fragment = take(&rest, "");
    return found;
}

/* An empty user or password counts as missing: a script may have composed the URL. */
static lk_status read_login(span login, const char *password, lki_endpoint *made,
                            lki_error *error) {
    const char *colon = login.bytes ? memchr(login.bytes, ':', login.length) : NULL;
    span user = {login.bytes, colon ? (size_t)(colon - login.bytes) : login.length};
    span secret = {colon ? colon + 1 : NULL, colon ? login.length - user.length - 1 : 0};
    lk_status status = LK_OK;
    if (user.length > 0)
        status = decode(user, "user", &made->user, error);
    if (status == LK_OK && secret.length > 0)
        status = decode(secret, "password", &made->password, error);
    else if (status == LK_OK && password && *password && !lki_copy_to(&made->password, password))
        status = lki_error_no_memory(error);
    if (status == LK_OK && made->user && !made->password)
        status = refuse(error, "password", "is missing: write user:password@");
    return status;
}

static bool is_host_name(span host) {
    for (size_t i = 0; i < host.length; i++)
        if (!is_plain(host.bytes[i], "-._"))
            return false;
    return host.length <= HOST_MOST && host.bytes[0] != '.';
}

static bool is_ipv6(const char *text) {
    struct in6_addr address;
    return inet_pton(AF_INET6, text, &address) == 1;
}

static lk_status read_port(span text, lki_endpoint *made, lki_error *error) {
    unsigned port = 6379;
    if (text.bytes && (!read_number(text, PORT_MOST, &port) || port == 0))
        return refuse(error, "port",
                      "is not a number from 1 to 65535 (write an IPv6 address in brackets)");
    made->port = lki_new(NUMBER_MOST);
    if (!made->port)
        return lki_error_no_memory(error);
    snprintf(made->port, NUMBER_MOST, "%u", port);
    return LK_OK;
}

static lk_status read_host(span text, lki_endpoint *made, lki_error *error) {
    bool in_brackets = text.length > 0 && text.bytes[0] == '[';
    const char *stop = memchr(text.bytes, in_brackets ? ']' : ':', text.length);
    if (in_brackets && !stop)
        return refuse(error, "host", "has no closing bracket");
    span host = {text.bytes + in_brackets, text.length};
    if (stop)
        host.length = (size_t)(stop - host.bytes);
    const char *behind = stop ? stop + in_brackets : text.bytes + text.length;
    span port = {0};
    if (host.length == 0)
        return refuse(error, "host", "is missing");
    if (behind < text.bytes + text.length) {
        if (*behind != ':')
            return refuse(error, "host", "is followed by something that is not a port");
        port = (span){behind + 1, (size_t)(text.bytes + text.length - behind - 1)};
    }
    made->host = copy_span(host);
    if (!made->host)
        return lki_error_no_memory(error);
    if (in_brackets ? !is_ipv6(made->host) : !is_host_name(host))
        return refuse(error, "host", "is neither a name nor an address");
    return read_port(port, made, error);
}

static lk_status read_server(const parts *url, lki_endpoint *made, lki_error *error) {
    const char *behind = url->host.bytes + url->host.length;
    if (strchr(behind, '@'))
        return refuse(error, "user or password",
                      "contains a '/', '?' or '#': write %2F, %3F or %23");
    lk_status status = read_host(url->host, made, error);
    if (status != LK_OK)
        return status;
    if (url->path.length > 1 && !read_number(without(url->path, 1), DB_MOST, &made->db))
        return refuse(error, "db", "is not a number from 0 to 2147483647");
    if (url->query.bytes)
        return refuse(error, "query", "is not supported: remove it");
    return LK_OK;
}

static lk_status read_socket(const parts *url, lki_endpoint *made, lki_error *error) {
    if (url->host.length > 0 || !url->path.bytes)
        return refuse(error, "path", "is not absolute: write unix:///path/of/socket");
    lk_status status = decode(url->path, "path", &made->path, error);
    if (status != LK_OK)
        return status;
    if (strlen(made->path) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return refuse(error, "path", "is longer than 107 bytes, the limit for a Unix socket");
    if (url->query.bytes && strncmp(url->query.bytes, "?db=", 4) != 0)
        return refuse(error, "query", "is not supported: only ?db=N is allowed");
    if (url->query.bytes && !read_number(without(url->query, 4), DB_MOST, &made->db))
        return refuse(error, "db", "is not a number from 0 to 2147483647");
    return LK_OK;
}

/* ---------------------------------------------------------------------------------- writing */

/* Percent-encodes all but plain characters, so that the text is safe in a terminal or a log. */
static char *encode(const char *text, const char *plain) {
    char *encoded = lki_new(strlen(text) * 3 + 1);
    char *at = encoded;
    for (; encoded && *text; text++) {
        if (is_plain(*text, plain))
            *at++ = *text;
        else
            at += snprintf(at, 4, "%%%02X", (unsigned)(unsigned char)*text);
    }
    return encoded;
}

static lk_status show(const url_scheme *scheme, lki_endpoint *made, lki_error *error) {
    lk_status status = LK_NOMEM;
    char *path = NULL, db[NUMBER_MOST] = "";
    bool brackets = made->host && strchr(made->host, ':');
    char *user = encode(made->user ? made->user : "", "-._~");
    if (!user || (made->path && !(path = encode(made->path, "-._~/"))))
        goto done;
    size_t size = strlen(user) + strlen(path ? path : made->host) + 64;
    made->shown = lki_new(size);
    if (!made->shown)
        goto done;
    if (made->db)
        snprintf(db, sizeof db, "%s%u", path ? "?db=" : "/", made->db);
    if (path)
        snprintf(made->shown, size, "%s://%s%s%s%s", scheme->name, user, *user ? "@" : "", path,
                 db);
    else
        snprintf(made->shown, size, "%s://%s%s%s%s%s:%s%s", scheme->name, user, *user ? "@" : "",
                 brackets ? "[" : "", made->host, brackets ? "]" : "", made->port, db);
    status = LK_OK;
done:
    lki_free(user);
    lki_free(path);
    return status == LK_OK ? LK_OK : lki_error_no_memory(error);
}

lk_status lki_url_read(const char *url, const char *password, lki_endpoint *out, lki_error *error) {
    const char *rest;
    const url_scheme *scheme = find_scheme(url, &rest);
    if (!scheme)
        return refuse(error, "scheme",
                      "is not known: use redis://, rediss://, valkey://, valkeys:// or unix://");
    parts found = split(rest);
    lki_endpoint made = {.tls = scheme->tls};
    lk_status status = read_login(found.login, password, &made, error);
    if (status == LK_OK)
        status = scheme->is_socket ? read_socket(&found, &made, error)
                                   : read_server(&found, &made, error);
    if (status == LK_OK && found.fragment.bytes)
        status = refuse(error, "fragment", "is not supported: write # as %23");
    if (status == LK_OK)
        status = show(scheme, &made, error);
    if (status == LK_OK)
        *out = made;
    else
        lki_endpoint_clear(&made);
    return status;
}

bool lki_url_is_plain(const char *url) {
    const char *rest;
    const url_scheme *scheme = find_scheme(url, &rest);
    return scheme && !scheme->tls;
}

bool lki_url_has_password(const char *url) {
    const char *rest;
    if (!find_scheme(url, &rest))
        return false;
    span login = split(rest).login;
    const char *colon = login.bytes ? memchr(login.bytes, ':', login.length) : NULL;
    return colon && colon + 1 < login.bytes + login.length;
}

/* ------------------------------------------------------------------------------ endpoints */

void lki_endpoint_clear(lki_endpoint *endpoint) {
    if (endpoint->password)
        explicit_bzero(endpoint->password, strlen(endpoint->password));
    lki_free(endpoint->path);
    lki_free(endpoint->host);
    lki_free(endpoint->port);
    lki_free(endpoint->user);
    lki_free(endpoint->password);
    lki_free(endpoint->shown);
    *endpoint = (lki_endpoint){0};
}

bool lki_endpoint_copy(const lki_endpoint *endpoint, lki_endpoint *out) {
    lki_endpoint made = {.tls = endpoint->tls, .db = endpoint->db};
    if (!lki_copy_to(&made.path, endpoint->path) || !lki_copy_to(&made.host, endpoint->host) ||
        !lki_copy_to(&made.port, endpoint->port) || !lki_copy_to(&made.user, endpoint->user) ||
        !lki_copy_to(&made.password, endpoint->password) ||
        !lki_copy_to(&made.shown, endpoint->shown)) {
        lki_endpoint_clear(&made);
        return false;
    }
    *out = made;
    return true;
}
