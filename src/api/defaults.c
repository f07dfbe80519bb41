/* lk_defaults_read. */
#include "client/choice.h"

#include "base/memory.h"
#include "base/thread.h"
#include "client/settings.h"
#include "topology/topology.h"

#include <strings.h>

/* The public part is the first member: lk_defaults_free() casts it back. */
typedef struct {
    lk_defaults defaults;
    char *url, *url_from, *prefix, *prefix_from;
} defaults_block;

/* The URL without its password; "" if it is not valid: lk_open() will tell why. */
static lk_status show_url(const lki_choice *choice, char **out, lki_error *error) {
    lki_topology *topology = NULL;
    if (strcasecmp(choice->url, "local:") == 0)
        return lki_copy_to(out, "local:") ? LK_OK : lki_error_no_memory(error);
    lk_status status = lki_topology_open(choice->url, "-", "-", &topology, error);
    if (status == LK_NOMEM)
        return status;
    status = lki_copy_to(out, topology ? topology->shown : "") ? LK_OK : lki_error_no_memory(error);
    if (topology)
        topology->methods->close(topology);
    return status;
}

static lk_status fill(defaults_block *self, const lki_choice *choice, lki_error *error) {
    const char *prefix = choice->options.prefix;
    const char *url_from = choice->from[LKI_CONFIG_URL],
               *prefix_from = choice->from[LKI_CONFIG_PREFIX];
    lk_status status = show_url(choice, &self->url, error);
    if (status != LK_OK)
        return status;
    if (!lki_copy_to(&self->url_from, url_from ? url_from : "") ||
        !lki_copy_to(&self->prefix, prefix ? prefix : LKI_PREFIX_DEFAULT) ||
        !lki_copy_to(&self->prefix_from, prefix_from ? prefix_from : ""))
        return lki_error_no_memory(error);
    self->defaults = (lk_defaults){.url = self->url,
                                   .url_from = self->url_from,
                                   .prefix = self->prefix,
                                   .prefix_from = self->prefix_from};
    return LK_OK;
}

static lk_status read_defaults(lk_defaults **out, lki_error *error) {
    lki_choice choice = {0};
    defaults_block *self = lki_new(sizeof *self);
    lk_status status =
        self ? lki_choice_read(NULL, NULL, &choice, error) : lki_error_no_memory(error);
    if (status == LK_OK)
        status = fill(self, &choice, error);
    lki_choice_clear(&choice);
    if (status == LK_OK)
        *out = &self->defaults;
    else
        lk_defaults_free(self ? &self->defaults : NULL);
    return status;
}

lk_status lk_defaults_read(lk_defaults **out) {
    lki_error error;
    if (!out)
        return lki_fail(LK_INVALID, "out is NULL");
    lki_cancellation_off();
    lk_status status = read_defaults(out, &error);
    lki_cancellation_on();
    return status == LK_OK ? LK_OK : lki_fail_with(&error);
}

void lk_defaults_free(lk_defaults *defaults) {
    defaults_block *self = (defaults_block *)defaults;
    if (!self)
        return;
    lki_free(self->url);
    lki_free(self->url_from);
    lki_free(self->prefix);
    lki_free(self->prefix_from);
    lki_free(self);
}
