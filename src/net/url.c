/* See url.h. */
#include "net/url.h"

#include "base/memory.h"
#include "net/url_parts.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>

enum { SERVER_PORT = 6379 };

static lk_status read_server(const lki_url_parts *url, lki_endpoint *made, lki_error *error) {
    if (lki_url_has_late_at(url))
        return lki_url_refuse(error, "user or password",
                              "contains a '/', '?' or '#': write %2F, %3F or %23");
    lk_status status = lki_url_read_host(url->hosts, SERVER_PORT, made, error);
    if (status == LK_OK && url->path.length > 1)
        status = lki_url_read_db(lki_url_without(url->path, 1), &made->db, error);
    if (status == LK_OK && url->query.bytes)
        status = lki_url_refuse(error, "query", "is not supported: remove it");
    return status;
}

static lk_status read_socket(const lki_url_parts *url, lki_endpoint *made, lki_error *error) {
    if (url->hosts.length > 0 || !url->path.bytes)
        return lki_url_refuse(error, "path", "is not absolute: write unix:///path/of/socket");
    lk_status status = lki_url_decode(url->path, "path", &made->path, error);
    if (status != LK_OK)
        return status;
    if (strlen(made->path) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return lki_url_refuse(error, "path",
                              "is longer than 107 bytes, the limit for a Unix socket");
    if (!url->query.bytes)
        return LK_OK;
    if (strncmp(url->query.bytes, "?db=", 4) != 0)
        return lki_url_refuse(error, "query", "is not supported: only ?db=N is allowed");
    return lki_url_read_db(lki_url_without(url->query, 4), &made->db, error);
}

static lk_status read_parts(const lki_url_parts *url, const char *password, lki_endpoint *made,
                            lki_error *error) {
    lki_url_login login = lki_url_split_login(url->login);
    lk_status status = lki_url_read_login(&login, password, made, error);
    if (status == LK_OK)
        status = url->scheme->kind == LKI_URL_SOCKET ? read_socket(url, made, error)
                                                     : read_server(url, made, error);
    if (status == LK_OK)
        status = lki_url_refuse_fragment(url, error);
    if (status == LK_OK && !(made->shown = lki_url_show(url->scheme->name, made)))
        status = lki_error_no_memory(error);
    return status;
}

static bool is_of_one_server(const lki_url_scheme *scheme) {
    return scheme->kind == LKI_URL_SERVER || scheme->kind == LKI_URL_SOCKET;
}

lk_status lki_url_read(const char *url, const char *password, lki_endpoint *out, lki_error *error) {
    lki_url_parts parts;
    if (!lki_url_split(url, &parts) || !is_of_one_server(parts.scheme))
        return lki_url_refuse(
            error, "scheme",
            "is not known: use redis://, rediss://, valkey://, valkeys:// or unix://");
    lki_endpoint made = {.tls = parts.scheme->tls};
    lk_status status = read_parts(&parts, password, &made, error);
    if (status == LK_OK)
        *out = made;
    else
        lki_endpoint_clear(&made);
    return status;
}

bool lki_url_is_plain(const char *url) {
    lki_url_parts parts;
    return lki_url_split(url, &parts) && !parts.scheme->tls;
}

bool lki_url_has_password(const char *url) {
    lki_url_parts parts;
    return lki_url_split(url, &parts) && lki_url_split_login(parts.login).password.length > 0;
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

void lki_endpoint_address(const lki_endpoint *endpoint, char out[LKI_ADDRESS_SIZE]) {
    if (endpoint->path)
        snprintf(out, LKI_ADDRESS_SIZE, "%s", endpoint->path);
    else
        snprintf(out, LKI_ADDRESS_SIZE, strchr(endpoint->host, ':') ? "[%s]:%s" : "%s:%s",
                 endpoint->host, endpoint->port);
}
