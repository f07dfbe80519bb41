/* See endpoint.h. */
#include "net/endpoint.h"

#include "base/memory.h"

#include <string.h>

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
