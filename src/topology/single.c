/* One server, whose address is in the URL. */
#include "base/memory.h"
#include "net/url.h"
#include "topology/topology.h"

typedef struct {
    lki_topology base;
    lki_endpoint endpoint;
} single;

static void single_close(lki_topology *topology) {
    single *self = (single *)topology;
    lki_endpoint_clear(&self->endpoint);
    lki_free(self->base.shown);
    lki_free(self);
}

static lk_status single_locate(lki_topology *topology, size_t server, const lki_reach *reach,
                               lki_endpoint *out, lki_error *error) {
    (void)server, (void)reach;
    const single *self = (const single *)topology;
    return lki_endpoint_copy(&self->endpoint, out) ? LK_OK : lki_error_no_memory(error);
}

static lk_status single_open(const char *url, const char *password, const char *sentinel_password,
                             lki_topology **out, lki_error *error) {
    static const lki_topology_methods methods = {.close = single_close, .locate = single_locate};
    (void)sentinel_password;
    single *self = lki_new(sizeof *self);
    if (!self)
        return lki_error_no_memory(error);
    self->base.methods = &methods;
    lk_status status = lki_url_read(url, password, &self->endpoint, error);
    if (status == LK_OK && !lki_copy_to(&self->base.shown, self->endpoint.shown))
        status = lki_error_no_memory(error);
    if (status == LK_OK)
        *out = &self->base;
    else
        single_close(&self->base);
    return status;
}

static const char *const schemes[] = {"redis", "rediss", "valkey", "valkeys", "unix", NULL};
const lki_topology_kind lki_topology_single = {schemes, single_open};
