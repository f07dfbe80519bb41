/* See topology.h. */
#include "topology/topology.h"

#include <string.h>
#include <strings.h>

static const lki_topology_kind *const kinds[] = {&lki_topology_single, &lki_topology_embedded,
                                                 &lki_topology_sentinel, &lki_topology_cluster};

/* Planned schemes have an error of their own, so that users do not look for a typing mistake. */
static const char *const planned[] = {"quorum"};

static bool is_scheme(const char *url, size_t length, const char *scheme) {
    return strlen(scheme) == length && strncasecmp(url, scheme, length) == 0;
}

#define SCHEMES                                                                                    \
    "local:, redis://, rediss://, valkey://, valkeys://, unix://, redis+sentinel://, "             \
    "rediss+sentinel://, redis+cluster:// "
#define LAST_SCHEME "rediss+cluster://"

static const lki_topology_kind *find(const char *url, size_t length) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (const char *const *scheme = kinds[i]->schemes; *scheme; scheme++)
            if (is_scheme(url, length, *scheme))
                return kinds[i];
    return NULL;
}

lk_status lki_topology_open(const char *url, const char *password, const char *sentinel_password,
                            lki_topology **out, lki_error *error) {
    const char *colon = strchr(url, ':');
    if (!*url)
        return lki_error_set(error, LK_INVALID,
                             "the URL is empty; without a URL, latchkey uses LATCHKEY_URL, the url "
                             "of latchkey.conf(5), or local:");
    if (!colon)
        return lki_error_set(error, LK_INVALID,
                             "the URL has no scheme; it must begin with " SCHEMES
                             "or " LAST_SCHEME);
    size_t length = (size_t)(colon - url);
    const lki_topology_kind *kind = find(url, length);
    if (kind)
        return kind->open(url, password, sentinel_password, out, error);
    for (size_t i = 0; i < sizeof planned / sizeof *planned; i++)
        if (is_scheme(url, length, planned[i]))
            return lki_error_set(error, LK_UNSUPPORTED,
                                 "this version of latchkey does not support %s:", planned[i]);
    return lki_error_set(error, LK_INVALID,
                         "the scheme of the URL is not one of " SCHEMES "and " LAST_SCHEME);
}

bool lki_topology_is_sharded(const lki_topology *topology) {
    return topology->methods->server_of;
}

unsigned lki_topology_slot(const lki_topology *topology, const char *key, size_t length) {
    return lki_topology_is_sharded(topology) ? lki_slot_of(key, length) : 0;
}
