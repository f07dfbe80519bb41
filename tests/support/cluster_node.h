/* A real server that is a cluster of one node: it has all slots, and nobody to talk to. */
#ifndef TEST_CLUSTER_NODE_H
#define TEST_CLUSTER_NODE_H

#include "server.h"

/* Returns when the cluster serves. NULL when that fails, after saying why on stderr. */
test_server *test_cluster_node_start(void);

#endif
