/* Examines the nodes of a URL, and all masters of the cluster that they describe. */
#ifndef LKI_DIAGNOSE_CLUSTER_H
#define LKI_DIAGNOSE_CLUSTER_H

#include "base/pool.h"
#include "net/seeds.h"
#include "session/settings.h"

/* If no node of the URL describes a cluster, the status says why. */
lk_status lki_examine_cluster(const lki_seeds *, const lki_settings *, lki_pool *, lk_facts *,
                              lki_error *);

#endif
