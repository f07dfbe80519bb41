/* See examine.h. */
#include "diagnose/examine.h"

#include "base/clock.h"
#include "base/memory.h"
#include "client/settings.h"
#include "diagnose/cluster.h"
#include "diagnose/facts.h"
#include "diagnose/one_server.h"
#include "diagnose/sentinels.h"
#include "topology/topology.h"

#include <string.h>
#include <strings.h>

typedef struct {
    lk_facts facts; /* the first member: lki_facts_free() casts it back */
    lki_pool pool;  /* all that the facts point to */
} examination;

/* One server, whose address the URL has, or the private server of local:. */
static lk_status examine_single(examination *self, const lki_choice *choice,
                                const lki_settings *settings, lki_error *error) {
    lki_topology *topology = NULL;
    lki_endpoint endpoint = {0};
    lki_reach reach = {lki_settings_tls(settings),
                       lki_after_ms(lki_now_us(), settings->connect_timeout_ms), -1};
    lk_status status = lki_topology_open(choice->url, choice->password, choice->sentinel_password,
                                         &topology, error);
    if (status == LK_OK)
        status = lki_settings_suit(settings, choice->url, error);
    if (status == LK_OK)
        status = topology->methods->locate(topology, 0, &reach, &endpoint, error);
    if (status == LK_OK)
        status = lki_examine_server(&endpoint, settings, &self->pool, &self->facts, error);
    lki_endpoint_clear(&endpoint);
    if (topology)
        topology->methods->close(topology);
    if (strncasecmp(choice->url, "local:", strlen("local:")) == 0)
        self->facts.local = LK_YES;
    return status;
}

/* Does not open a client: the seeds are enough, and they answer also if there is no master. */
static lk_status examine_seeds(examination *self, const lki_choice *choice,
                               const lki_settings *settings, lki_error *error) {
    lki_seeds seeds = {0};
    lk_status status =
        lki_seeds_read(choice->url, choice->password, choice->sentinel_password, &seeds, error);
    if (status == LK_OK)
        status = lki_settings_suit(settings, choice->url, error);
    if (status == LK_OK)
        status = seeds.master
                     ? lki_examine_sentinels(&seeds, settings, &self->pool, &self->facts, error)
                     : lki_examine_cluster(&seeds, settings, &self->pool, &self->facts, error);
    lki_seeds_clear(&seeds);
    return status;
}

lk_status lki_examine(const lki_choice *choice, lk_facts **out, lki_error *error) {
    lki_settings settings = {0};
    examination *self = lki_new(sizeof *self);
    lk_status status =
        self ? lki_settings_read(&choice->options, &settings, error) : lki_error_no_memory(error);
    if (status == LK_OK) {
        self->facts = lki_facts_blank();
        status = lki_url_is_of_seeds(choice->url) ? examine_seeds(self, choice, &settings, error)
                                                  : examine_single(self, choice, &settings, error);
    }
    lki_settings_clear(&settings);
    if (status == LK_OK)
        *out = &self->facts;
    else
        lki_facts_free(self ? &self->facts : NULL);
    return status;
}

void lki_facts_free(lk_facts *facts) {
    examination *self = (examination *)facts;
    if (!self)
        return;
    lki_pool_free(&self->pool);
    lki_free(self);
}
