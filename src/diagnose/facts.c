/* See facts.h. */
#include "diagnose/facts.h"

#include <string.h>

lk_facts lki_facts_blank(void) {
    return (lk_facts){.server = "",
                      .kind = "",
                      .version = "",
                      .mode = "",
                      .module = LK_NO,
                      .local = LK_NO,
                      .eviction = "",
                      .user = "",
                      .clock_known = LK_NO,
                      .uptime_s = -1,
                      .replicas = -1,
                      .maxmemory = -1,
                      .round_trip_us = -1,
                      .error = "",
                      .min_replicas = -1,
                      .min_replicas_lag_s = -1,
                      .uncovered = ""};
}

lk_seed_facts lki_seed_facts_blank(const lki_endpoint *seed, lki_pool *pool) {
    return (lk_seed_facts){.server = lki_pool_text(pool, seed->shown, strlen(seed->shown)),
                           .error = "",
                           .master = "",
                           .flags = "",
                           .others = -1,
                           .quorum = -1,
                           .down_after_ms = -1,
                           .failover_timeout_ms = -1,
                           .replicas = -1,
                           .promotable = -1};
}

lk_shard_facts lki_shard_facts_blank(void) {
    return (lk_shard_facts){.slots = "",
                            .replicas = -1,
                            .replicas_down = -1,
                            .state = "",
                            .open_slots = -1,
                            .node_timeout_ms = -1};
}

const char *lki_address_text(lki_pool *pool, const char *host, size_t host_length, const char *port,
                             size_t port_length) {
    bool is_ipv6 = memchr(host, ':', host_length) != NULL;
    return lki_pool_print(pool, "%s%.*s%s:%.*s", is_ipv6 ? "[" : "", (int)host_length, host,
                          is_ipv6 ? "]" : "", (int)port_length, port);
}
