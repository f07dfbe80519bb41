/* See seeds.h. */
#include "net/seeds.h"

#include "base/memory.h"
#include "net/url_parts.h"

#include <string.h>

enum { SENTINEL_PORT = 26379, NODE_PORT = 6379 };

#define USER_KEY "sentinel_user"
#define PASSWORD_KEY "sentinel_password"

/* ------------------------------------------------------------------------------ hosts */

/* The part before the first `separator`, or all. Removes both from *rest. */
static lki_url_span take_until(lki_url_span *rest, char separator) {
    const char *end = rest->length ? memchr(rest->bytes, separator, rest->length) : NULL;
    lki_url_span taken = {rest->bytes, end ? (size_t)(end - rest->bytes) : rest->length};
    *rest = lki_url_without(*rest, taken.length + 1);
    return taken;
}

static size_t count_hosts(lki_url_span hosts) {
    size_t count = 1;
    for (size_t i = 0; i < hosts.length; i++)
        count += hosts.bytes[i] == ',';
    return count;
}

static lk_status read_hosts(const lki_url_parts *url, lki_seeds *made, lki_error *error) {
    lki_url_span rest = url->hosts;
    unsigned port = url->scheme->kind == LKI_URL_SENTINELS ? SENTINEL_PORT : NODE_PORT;
    size_t count = count_hosts(rest);
    lk_status status = LK_OK;
    if (count > LKI_SEEDS_MOST)
        return lki_url_refuse(error, "list of hosts", "has more than 64 hosts");
    made->seeds = lki_new(count * sizeof *made->seeds);
    if (!made->seeds)
        return lki_error_no_memory(error);
    while (made->count < count && status == LK_OK) {
        lki_url_span host = take_until(&rest, ',');
        lki_endpoint *seed = &made->seeds[made->count++];
        seed->tls = url->scheme->tls;
        if (host.length == 0 && count > 1)
            return lki_url_refuse(error, "list of hosts", "has an empty host: remove a comma");
        status = lki_url_read_host(host, port, seed, error);
    }
    return status;
}

/* ------------------------------------------------------------------------------ sentinels */

/* /master[/db] */
static lk_status read_master(const lki_url_parts *url, lki_seeds *made, lki_error *error) {
    lki_url_span rest = lki_url_without(url->path, 1);
    lki_url_span master = take_until(&rest, '/');
    if (master.length == 0)
        return lki_url_refuse(error, "master", "is missing: write host/master");
    lk_status status = lki_url_decode(master, "master", &made->master, error);
    if (status == LK_OK && strlen(made->master) > LKI_MASTER_MOST)
        status = lki_url_refuse(error, "master", "is longer than 255 bytes");
    if (status == LK_OK && rest.length > 0)
        status = lki_url_read_db(rest, &made->server.db, error);
    return status;
}

static bool has_key(lki_url_span parameter, const char *key) {
    size_t length = strlen(key);
    return parameter.length > length && memcmp(parameter.bytes, key, length) == 0 &&
           parameter.bytes[length] == '=';
}

/* ?sentinel_user=U&sentinel_password=P, each at most once. */
static lk_status split_query(lki_url_span query, lki_url_login *out, lki_error *error) {
    lki_url_span rest = lki_url_without(query, 1);
    while (rest.bytes) {
        lki_url_span parameter = take_until(&rest, '&');
        bool is_user = has_key(parameter, USER_KEY);
        if (!is_user && !has_key(parameter, PASSWORD_KEY))
            return lki_url_refuse(error, "query",
                                  "is not supported: only " USER_KEY " and " PASSWORD_KEY
                                  " are allowed");
        lki_url_span *value = is_user ? &out->user : &out->password;
        if (value->bytes)
            return lki_url_refuse(error, "query",
                                  is_user ? "has two " USER_KEY : "has two " PASSWORD_KEY);
        *value = lki_url_without(parameter, strlen(is_user ? USER_KEY "=" : PASSWORD_KEY "="));
    }
    return LK_OK;
}

static lk_status read_sentinels(const lki_url_parts *url, lki_seeds *made, lki_url_login *login,
                                lki_error *error) {
    lk_status status = read_master(url, made, error);
    *login = (lki_url_login){.user_name = USER_KEY,
                             .password_name = PASSWORD_KEY,
                             .advice = "is missing, but there is a " USER_KEY};
    return status == LK_OK ? split_query(url->query, login, error) : status;
}

/* ------------------------------------------------------------------------------ clusters */

static lk_status read_cluster(const lki_url_parts *url, lki_error *error) {
    unsigned db = 0;
    if (url->path.length > 1 &&
        (lki_url_read_db(lki_url_without(url->path, 1), &db, error) != LK_OK || db != 0))
        return lki_url_refuse(error, "db", "is not 0: a cluster has no other");
    if (url->query.bytes)
        return lki_url_refuse(error, "query", "is not supported: remove it");
    return LK_OK;
}

/* ------------------------------------------------------------------------------ both */

/* Each seed owns a copy of the login. */
static lk_status log_in_seeds(const lki_url_login *login, const char *password, lki_seeds *made,
                              lki_error *error) {
    lk_status status = LK_OK;
    for (size_t i = 0; i < made->count && status == LK_OK; i++) {
        lki_endpoint *seed = &made->seeds[i];
        status = lki_url_read_login(login, password, seed, error);
        if (status == LK_OK && !(seed->shown = lki_url_show(made->scheme, seed)))
            status = lki_error_no_memory(error);
    }
    return status;
}

static char *show(const lki_seeds *seeds, const char *scheme) {
    lki_bytes out = {0};
    lki_url_put_login(&out, scheme, seeds->server.user);
    for (size_t i = 0; i < seeds->count; i++) {
        lki_url_put(&out, i ? "," : "");
        lki_url_put_address(&out, &seeds->seeds[i]);
    }
    if (seeds->master) {
        const char *user = seeds->seeds[0].user;
        lki_url_put(&out, "/");
        lki_url_put_encoded(&out, seeds->master, LKI_URL_UNRESERVED);
        lki_url_put_db(&out, "/", seeds->server.db);
        lki_url_put(&out, user ? "?" USER_KEY "=" : "");
        lki_url_put_encoded(&out, user ? user : "", LKI_URL_UNRESERVED);
    }
    return lki_url_finish(&out);
}

static lk_status read_parts(const lki_url_parts *url, const char *password,
                            const char *sentinel_password, lki_seeds *made, lki_error *error) {
    bool of_sentinels = url->scheme->kind == LKI_URL_SENTINELS;
    lki_url_login login = lki_url_split_login(url->login);
    lk_status status = lki_url_read_login(&login, password, &made->server, error);
    if (status == LK_OK && lki_url_has_late_at(url))
        status = lki_url_refuse(error, "user or password",
                                "contains a '/', '?', '#' or, after the hosts, an '@': write %2F, "
                                "%3F, %23 or %40");
    if (status == LK_OK)
        status = read_hosts(url, made, error);
    if (status == LK_OK)
        status = of_sentinels ? read_sentinels(url, made, &login, error) : read_cluster(url, error);
    if (status == LK_OK)
        status = log_in_seeds(&login, of_sentinels ? sentinel_password : password, made, error);
    if (status == LK_OK)
        status = lki_url_refuse_fragment(url, error);
    if (status == LK_OK && !(made->shown = show(made, url->scheme->name)))
        status = lki_error_no_memory(error);
    return status;
}

static bool is_of_seeds(const lki_url_scheme *scheme) {
    return scheme->kind == LKI_URL_SENTINELS || scheme->kind == LKI_URL_CLUSTER;
}

lk_status lki_seeds_read(const char *url, const char *password, const char *sentinel_password,
                         lki_seeds *out, lki_error *error) {
    lki_url_parts parts;
    if (!lki_url_split(url, &parts) || !is_of_seeds(parts.scheme))
        return lki_url_refuse(error, "scheme",
                              "is not known: use redis+sentinel:// or redis+cluster://, or "
                              "rediss, valkey or valkeys in place of redis");
    lki_seeds made = {.scheme = parts.scheme->of_server, .server.tls = parts.scheme->tls};
    lk_status status = read_parts(&parts, password, sentinel_password, &made, error);
    if (status == LK_OK)
        *out = made;
    else
        lki_seeds_clear(&made);
    return status;
}

void lki_seeds_clear(lki_seeds *seeds) {
    for (size_t i = 0; i < seeds->count; i++)
        lki_endpoint_clear(&seeds->seeds[i]);
    lki_endpoint_clear(&seeds->server);
    lki_free(seeds->seeds);
    lki_free(seeds->master);
    lki_free(seeds->shown);
    *seeds = (lki_seeds){0};
}

bool lki_seeds_endpoint(const lki_seeds *seeds, const char *host, const char *port,
                        lki_endpoint *out) {
    lki_endpoint made;
    if (!lki_endpoint_copy(&seeds->server, &made))
        return false;
    if (lki_copy_to(&made.host, host) && lki_copy_to(&made.port, port))
        made.shown = lki_url_show(seeds->scheme, &made);
    if (made.shown)
        *out = made;
    else
        lki_endpoint_clear(&made);
    return made.shown != NULL;
}

bool lki_url_is_of_seeds(const char *url) {
    lki_url_parts parts;
    return lki_url_split(url, &parts) && is_of_seeds(parts.scheme);
}

bool lki_url_is_of_sentinels(const char *url) {
    lki_url_parts parts;
    return lki_url_split(url, &parts) && parts.scheme->kind == LKI_URL_SENTINELS;
}

bool lki_url_has_sentinel_password(const char *url) {
    lki_url_parts parts;
    lki_url_login login = {0};
    lki_error ignored;
    if (!lki_url_split(url, &parts) || parts.scheme->kind != LKI_URL_SENTINELS)
        return false;
    split_query(parts.query, &login, &ignored);
    return login.password.length > 0;
}

/* The reasons that a user can do something about come first. */
int lki_seed_error_weight(lk_status status) {
    switch (status) {
    case LK_CANCELED:
        return 5;
    case LK_DENIED:
        return 4;
    case LK_INVALID:
        return 3;
    case LK_UNSUPPORTED:
        return 2;
    default:
        return 1;
    }
}
