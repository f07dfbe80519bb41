/* See cluster.h. */
#include "cluster_private.h"
#include "waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START_MOST_MS = 60000, MEET_MOST_MS = 3000 };

/* ------------------------------------------------------------------------------ one node */

static void set_server_options(test_cluster *cluster, const test_cluster_options *options) {
    char *timeout = test_print("%d", options->node_timeout_ms ? options->node_timeout_ms : 1000);
    test_words_add(&cluster->server_options, "--cluster-node-timeout", timeout,
                   "--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration",
                   "no", "--repl-diskless-sync-delay", "0", "--appendonly",
                   options->keeps_data ? "yes" : "no", NULL);
    test_words_add_all(&cluster->server_options, options->server_options);
    free(timeout);
}

static bool read_id(cluster_member *member) {
    redisReply *reply = test_node_ask(member->node, "CLUSTER MYID");
    bool read = reply && reply->type == REDIS_REPLY_STRING && reply->len == CLUSTER_ID_LENGTH;
    if (read)
        memcpy(member->id, reply->str, CLUSTER_ID_LENGTH);
    freeReplyObject(reply);
    return read;
}

static bool start_member(test_cluster *cluster) {
    if (cluster->count == CLUSTER_MEMBERS_MOST)
        return false;
    cluster_member *member = &cluster->members[cluster->count];
    member->node = test_node_start(&(test_node_options){
        .kind = TEST_NODE_CLUSTER,
        .program = cluster->program,
        .password = cluster->password,
        .options = (const char *const *)cluster->server_options.list,
        .tls = cluster->tls,
        .clock = cluster->clocks,
        .places = cluster->places,
        .place = cluster->count > 0 ? 1 : 0,
    });
    if (!member->node)
        return false;
    cluster->count++;
    return read_id(member);
}

static int find_introducer(const test_cluster *cluster, size_t newcomer) {
    for (size_t i = 0; i < cluster->count; i++)
        if (i != newcomer && cluster_member_counts(cluster, i))
            return (int)i;
    return -1;
}

static bool is_introduced(const test_cluster *cluster, size_t introducer, size_t newcomer,
                          int64_t limit_ms) {
    int64_t end_ms = test_wait_end(limit_ms);
    while (!cluster_member_knows(cluster, introducer, newcomer))
        if (!test_wait_on(end_ms))
            return false;
    return true;
}

/* A handshake that takes too long is dropped without a word, so it is tried again. */
static bool introduce(test_cluster *cluster, size_t newcomer, int64_t end_ms) {
    int introducer = find_introducer(cluster, newcomer);
    const test_node *node = cluster->members[newcomer].node;
    cluster->members[newcomer].joined = true;
    if (introducer < 0) /* it is the first */
        return true;
    do {
        if (!test_node_tell(cluster->members[introducer].node, "CLUSTER MEET %s %d %d",
                            test_node_address(node), test_node_port(node),
                            test_node_bus_port(node)))
            return false;
        if (is_introduced(cluster, (size_t)introducer, newcomer, MEET_MOST_MS))
            return true;
    } while (test_wait_on(end_ms));
    return false;
}

/* The replica refuses until it has heard of the master. */
static bool replicate(const test_cluster *cluster, size_t replica, size_t master, int64_t end_ms) {
    for (;;) {
        redisReply *reply = test_node_ask(cluster->members[replica].node, "CLUSTER REPLICATE %s",
                                          cluster->members[master].id);
        bool accepted = reply && reply->type == REDIS_REPLY_STATUS;
        freeReplyObject(reply);
        if (accepted || !test_wait_on(end_ms))
            return accepted;
    }
}

/* ------------------------------------------------------------------------------ start and stop */

static bool share_slots(const test_cluster *cluster, size_t masters) {
    for (size_t i = 0; i < masters; i++) {
        int first = (int)(i * TEST_SLOTS / masters), next = (int)((i + 1) * TEST_SLOTS / masters);
        if (!test_node_tell(cluster->members[i].node, "CLUSTER ADDSLOTSRANGE %d %d", first,
                            next - 1))
            return false;
    }
    return true;
}

/*
 * Only a node that knows no other may choose its epoch. Masters with the same epoch would change
 * theirs later, in the middle of a test.
 */
static bool set_epochs(const test_cluster *cluster) {
    for (size_t i = 0; i < cluster->count; i++)
        if (!test_node_tell(cluster->members[i].node, "CLUSTER SET-CONFIG-EPOCH %d", (int)i + 1))
            return false;
    return true;
}

static bool form(test_cluster *cluster, size_t masters, size_t replicas) {
    int64_t end_ms = test_wait_end(START_MOST_MS);
    for (size_t i = 0; i < masters + replicas; i++)
        if (!start_member(cluster))
            return false;
    if (!set_epochs(cluster) || !share_slots(cluster, masters))
        return false;
    for (size_t i = 0; i < masters + replicas; i++)
        if (!introduce(cluster, i, end_ms))
            return false;
    for (size_t i = 0; i < replicas; i++)
        if (!replicate(cluster, masters + i, i % masters, end_ms))
            return false;
    return test_cluster_wait_until_settled(cluster, START_MOST_MS);
}

static void set_url(test_cluster *cluster) {
    test_node *nodes[CLUSTER_MEMBERS_MOST];
    for (size_t i = 0; i < cluster->count; i++)
        nodes[i] = cluster->members[i].node;
    char *hosts = test_node_hosts(nodes, cluster->count);
    cluster->url = test_print("redis%s+cluster://%s", cluster->tls ? "s" : "", hosts);
    free(hosts);
}

test_cluster *test_cluster_start(const test_cluster_options *options) {
    test_cluster_options full = options ? *options : (test_cluster_options){0};
    test_cluster *cluster = test_alloc(1, sizeof *cluster);
    if (full.masters == 0)
        full.masters = full.replicas = 3;
    if (full.program)
        cluster->program = test_copy(full.program, strlen(full.program));
    if (full.password)
        cluster->password = test_copy(full.password, strlen(full.password));
    cluster->tls = full.tls;
    cluster->clocks = full.clocks;
    cluster->places = full.places;
    set_server_options(cluster, &full);
    if (form(cluster, full.masters, full.replicas)) {
        set_url(cluster);
        return cluster;
    }
    fprintf(stderr, "the nodes do not form a cluster\n");
    test_cluster_stop(cluster);
    return NULL;
}

void test_cluster_stop(test_cluster *cluster) {
    if (!cluster)
        return;
    for (size_t i = 0; i < cluster->count; i++)
        test_node_stop(cluster->members[i].node);
    test_words_free(&cluster->server_options);
    free(cluster->program);
    free(cluster->password);
    free(cluster->url);
    free(cluster);
}

size_t test_cluster_count(const test_cluster *cluster) {
    return cluster->count;
}

test_node *test_cluster_node(const test_cluster *cluster, size_t node) {
    return cluster->members[node].node;
}

const char *test_cluster_id(const test_cluster *cluster, size_t node) {
    return cluster->members[node].id;
}

const char *test_cluster_url(const test_cluster *cluster) {
    return cluster->url;
}

bool cluster_member_counts(const test_cluster *cluster, size_t member) {
    return cluster->members[member].joined && test_node_runs(cluster->members[member].node);
}

/* ------------------------------------------------------------------------------ later changes */

int test_cluster_add_node(test_cluster *cluster, int master, int64_t limit_ms) {
    int64_t end_ms = test_wait_end(limit_ms);
    size_t newcomer = cluster->count;
    if (!start_member(cluster) || !introduce(cluster, newcomer, end_ms) ||
        (master >= 0 && !replicate(cluster, newcomer, (size_t)master, end_ms)) ||
        !test_cluster_wait_until_settled(cluster, limit_ms))
        return -1;
    return (int)newcomer;
}

/* In the order of redis-cli: a node that the others have forgotten cannot be introduced again. */
bool test_cluster_forget_node(test_cluster *cluster, size_t node) {
    cluster_member *leaver = &cluster->members[node];
    leaver->joined = false;
    for (size_t i = 0; i < cluster->count; i++)
        if (cluster_member_counts(cluster, i) &&
            !test_node_tell(cluster->members[i].node, "CLUSTER FORGET %s", leaver->id))
            return false;
    return !test_node_runs(leaver->node) || test_node_tell(leaver->node, "CLUSTER RESET SOFT");
}
