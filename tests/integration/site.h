/*
 * The world of the tests of sentinels: a master with replicas, and sentinels that watch them.
 *
 *     TEST_WITH(plain_site, …)       two replicas, three sentinels
 */
#ifndef INTEGRATION_SITE_H
#define INTEGRATION_SITE_H

#include "sentinels.h"
#include "world.h"

enum { FAILOVER_MS = 60000, LEASE_MS = 60000 };

extern test_sentinels *site;

void plain_site(void);
void start_site(const test_sentinels_options *); /* for a world of your own */

lk_client *open_at_site(void); /* its command_timeout_ms is longer than a failover */

/* Servers are named by their index. */
int master(void);             /* waits until there is one */
int other_master(int former); /* waits until another server is the master */
int kill_master(void);        /* returns which server was the master */
test_node *server_at(int index);
long long key_count_at(int index);

/* Returns when the replicas have what the master has: a hold that they lack would be lost. */
void replicate(void);

/* From now on, the replicas learn nothing more. */
void cut_replicas(int of);

/* The master fails after cut_replicas(). Returns which replica is the master then. */
int fail_over_to_cut_replica(int former);
void continue_replicas(int of);

#endif
