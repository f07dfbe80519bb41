/* Facts of which nothing is known yet, and texts of theirs. */
#ifndef LKI_FACTS_H
#define LKI_FACTS_H

#include "base/pool.h"
#include "net/seeds.h"

lk_facts lki_facts_blank(void);
lk_seed_facts lki_seed_facts_blank(const lki_endpoint *seed, lki_pool *);
lk_shard_facts lki_shard_facts_blank(void);

/* "host:port", with brackets around an IPv6 address. */
const char *lki_address_text(lki_pool *, const char *host, size_t host_length, const char *port,
                             size_t port_length);

#endif
