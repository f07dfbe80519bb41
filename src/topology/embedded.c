/* `local:`: one server, the private server of the user. It is started if it does not run. */
#include "base/memory.h"
#include "local/local.h"
#include "topology/topology.h"

#include <string.h>

typedef struct {
    lki_topology base;
    lki_local_environment environment;
} embedded;

static void embedded_close(lki_topology *topology) {
    embedded *self = (embedded *)topology;
    lki_local_environment_clear(&self->environment);
    lki_free(self->base.shown);
    lki_free(self);
}

static lk_status embedded_locate(lki_topology *topology, size_t server, const lki_reach *reach,
                                 lki_endpoint *out, lki_error *error) {
    (void)server;
    const embedded *self = (const embedded *)topology;
    lki_endpoint found = {0};
    lk_status status = lki_local_ensure(&self->environment, reach->deadline_us, reach->stop_fd,
                                        &found.path, error);
    if (status != LK_OK)
        return status;
    if (!lki_copy_to(&found.shown, topology->shown)) {
        lki_endpoint_clear(&found);
        return lki_error_no_memory(error);
    }
    *out = found;
    return LK_OK;
}

static lk_status embedded_open(const char *url, const char *password, const char *sentinel_password,
                               lki_topology **out, lki_error *error) {
    static const lki_topology_methods methods = {.close = embedded_close,
                                                 .locate = embedded_locate};
    (void)password, (void)sentinel_password;
    if (url[strlen("local:")])
        return lki_error_set(error, LK_INVALID, "the URL has something after local:; remove it");
    embedded *self = lki_new(sizeof *self);
    if (!self)
        return lki_error_no_memory(error);
    self->base.methods = &methods;
    lk_status status = lki_local_environment_read(&self->environment, error);
    if (status == LK_OK && !lki_copy_to(&self->base.shown, "local:"))
        status = lki_error_no_memory(error);
    if (status == LK_OK)
        *out = &self->base;
    else
        embedded_close(&self->base);
    return status;
}

static const char *const schemes[] = {"local", NULL};
const lki_topology_kind lki_topology_embedded = {schemes, embedded_open};
