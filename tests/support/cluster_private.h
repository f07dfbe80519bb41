/* What the files of the cluster share: cluster.c has the nodes, cluster_view.c what they say. */
#ifndef TEST_CLUSTER_PRIVATE_H
#define TEST_CLUSTER_PRIVATE_H

#include "cluster.h"
#include "test_memory.h"

enum { CLUSTER_ID_LENGTH = 40, CLUSTER_MEMBERS_MOST = 32 };

typedef struct {
    test_node *node;
    char id[CLUSTER_ID_LENGTH + 1];
    bool joined; /* the others should know it */
} cluster_member;

struct test_cluster {
    char *program, *password, *url; /* program and password may be NULL */
    bool tls, clocks;
    const test_places *places; /* NULL: none */
    test_words server_options;
    cluster_member members[CLUSTER_MEMBERS_MOST];
    size_t count;
};

/* Whether the others should know the member, and it runs. */
bool cluster_member_counts(const test_cluster *, size_t member);

/* Whether one member lists another, and is not about to shake hands with it. */
bool cluster_member_knows(const test_cluster *, size_t looker, size_t member);

#endif
