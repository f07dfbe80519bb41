/*
 * See cluster.h. The first node of the URL that answers describes the cluster (CLUSTER NODES). Each
 * master is then asked for its own view: only a master knows which of its slots move.
 */
#include "diagnose/cluster.h"

#include "base/clock.h"
#include "base/memory.h"
#include "diagnose/facts.h"
#include "diagnose/one_server.h"
#include "net/fault.h"
#include "net/greet.h"
#include "topology/cluster_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTED_MOST = 240, RANGES_SIZE = 512 };

typedef struct {
    const lki_seeds *seeds;
    const lki_settings *settings;
    lki_pool *pool; /* for the texts of the facts */
    lk_facts *facts;
    const char *seed_host;   /* of the node that described the cluster */
    lki_cluster_node *nodes; /* as that node sees them */
    size_t node_count;
} examination;

/* ------------------------------------------------------------------------------ one node */

static lki_reach reach_of(const examination *self) {
    return (lki_reach){lki_settings_tls(self->settings),
                       lki_after_ms(lki_now_us(), self->settings->connect_timeout_ms), -1};
}

static lk_status read_refusal(const lki_talk *talk, const char *text, lki_error *error) {
    if (strstr(text, "cluster support disabled") || strstr(text, "unknown command"))
        return lki_error_set(error, LK_UNSUPPORTED,
                             "%s: the server is not a node of a cluster; use a URL of one server, "
                             "or of sentinels",
                             talk->shown);
    lki_fault fault = lki_fault_read(text);
    return lki_error_set(error, fault.status, "%s: %.*s; %s", talk->shown, QUOTED_MOST, text,
                         fault.advice);
}

/* Reads the nodes. They are parts of `text`, which is changed. */
static lk_status read_nodes(char *text, lki_cluster_node **nodes, size_t *count, lki_pool *pool,
                            lki_error *error) {
    lki_cluster_node *list, one;
    size_t most = 1;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        most++;
    list = lki_pool_new(pool, most * sizeof *list);
    if (!list)
        return lki_error_no_memory(error);
    *count = 0;
    *nodes = list;
    while (*count < most && lki_cluster_nodes_next(&text, &one))
        list[(*count)++] = one;
    return LK_OK;
}

/* CLUSTER NODES. The text of the reply goes to the pool, since the nodes are parts of it. */
static lk_status ask_nodes(lki_talk *talk, lki_pool *pool, lki_cluster_node **nodes, size_t *count,
                           lki_error *error) {
    static const char *const words[] = {"CLUSTER", "NODES", NULL};
    redisReply *reply = NULL;
    lk_status status = lki_talk_ask(talk, words, &reply, error);
    if (status == LK_OK && reply->type == REDIS_REPLY_ERROR)
        status = read_refusal(talk, reply->str, error);
    else if (status == LK_OK && reply->type != REDIS_REPLY_STRING)
        status = lki_error_set(error, LK_UNSUPPORTED, "%s: not the answer of a node of a cluster",
                               talk->shown);
    if (status == LK_OK) {
        char *text = lki_pool_new(pool, reply->len + 1);
        if (text)
            memcpy(text, reply->str, reply->len);
        status = text ? read_nodes(text, nodes, count, pool, error) : lki_error_no_memory(error);
    }
    freeReplyObject(reply);
    return status;
}

static lk_answer setting(const redisReply *reply, const char *name) {
    const char *value = lki_reply_value(reply, name);
    return !value ? LK_UNKNOWN : strcmp(value, "yes") == 0 ? LK_YES : LK_NO;
}

static void read_settings(const redisReply *reply, lk_shard_facts *out) {
    const char *timeout = lki_reply_value(reply, "cluster-node-timeout");
    out->node_timeout_ms = timeout ? strtoll(timeout, NULL, 10) : -1;
    out->full_coverage = setting(reply, "cluster-require-full-coverage");
    out->pubsub_when_down = setting(reply, "cluster-allow-pubsubshard-when-down");
}

/* What a master says of itself and the cluster. What the user may not ask stays unknown. */
static lk_status ask_master(const lki_endpoint *endpoint, const lki_reach *reach, lki_pool *pool,
                            lk_shard_facts *out, lki_error *error) {
    static const char *const info[] = {"CLUSTER", "INFO", NULL};
    static const char *const settings[] = {"CONFIG", "GET", "cluster-*", NULL};
    lki_cluster_node *nodes = NULL;
    size_t count = 0;
    redisReply *reply = NULL;
    lki_talk talk;
    lk_status status = lki_greet_open(endpoint, reach, NULL, &talk, error);
    if (status != LK_OK)
        return status;
    if ((status = lki_talk_ask(&talk, info, &reply, error)) == LK_OK) {
        const char *state =
            reply->type == REDIS_REPLY_STRING ? lki_info_field(reply->str, "cluster_state:") : NULL;
        if (state)
            out->state = lki_pool_text(pool, state, strcspn(state, "\r\n"));
        freeReplyObject(reply);
        reply = NULL;
        status = lki_talk_ask(&talk, settings, &reply, error);
    }
    if (status == LK_OK) {
        read_settings(reply, out);
        status = ask_nodes(&talk, pool, &nodes, &count, error);
    }
    for (size_t i = 0; i < count; i++)
        if (nodes[i].is_self)
            out->open_slots = (int64_t)lki_cluster_slots_open(nodes[i].slots);
    freeReplyObject(reply);
    lki_talk_close(&talk);
    return status;
}

/* ------------------------------------------------------------------------------ the seeds */

static lk_status ask_seed(examination *self, const lki_endpoint *seed, lki_error *error) {
    lki_reach reach = reach_of(self);
    lki_cluster_node *nodes;
    size_t count;
    lki_talk talk;
    lk_status status = lki_greet_open(seed, &reach, NULL, &talk, error);
    if (status != LK_OK)
        return status;
    status = ask_nodes(&talk, self->pool, &nodes, &count, error);
    lki_talk_close(&talk);
    if (status == LK_OK && !self->nodes) {
        self->seed_host = seed->host;
        self->nodes = nodes;
        self->node_count = count;
    }
    return status;
}

/* All of them, since a seed that is away is a fact. `error` is that of the first. */
static lk_status ask_seeds(examination *self, lki_error *error) {
    const lki_seeds *seeds = self->seeds;
    lk_status first = LK_OK;
    lk_seed_facts *list = lki_pool_new(self->pool, seeds->count * sizeof *list);
    if (!list)
        return lki_error_no_memory(error);
    self->facts->seeds = list;
    self->facts->seed_count = seeds->count;
    for (size_t i = 0; i < seeds->count; i++) {
        lki_error why;
        list[i] = lki_seed_facts_blank(&seeds->seeds[i], self->pool);
        list[i].status = ask_seed(self, &seeds->seeds[i], &why);
        if (list[i].status == LK_NOMEM)
            return lki_error_no_memory(error);
        if (list[i].status == LK_OK)
            continue;
        list[i].error = lki_pool_text(self->pool, why.text, strlen(why.text));
        if (first == LK_OK) {
            first = why.status;
            *error = why;
        }
    }
    return self->nodes ? LK_OK : first;
}

/* ------------------------------------------------------------------------------ shards */

/* Writes ranges of slots: "0-5460 5500". Those that do not fit are left out, and "..." says so. */
static void add_range(char out[RANGES_SIZE], unsigned first, unsigned last) {
    char range[32];
    size_t length = strlen(out);
    if (first == last)
        snprintf(range, sizeof range, "%s%u", length ? " " : "", first);
    else
        snprintf(range, sizeof range, "%s%u-%u", length ? " " : "", first, last);
    if (length + strlen(range) + sizeof " ..." <= RANGES_SIZE)
        memcpy(out + length, range, strlen(range) + 1);
    else if (length < 4 || strcmp(out + length - 4, " ...") != 0)
        memcpy(out + length, " ...", sizeof " ...");
}

static bool has_slots(const lki_cluster_node *node) {
    const char *slots = node->slots;
    unsigned first, last;
    return !node->is_replica && lki_cluster_slots_next(&slots, &first, &last);
}

static unsigned first_slot(const lki_cluster_node *node) {
    const char *slots = node->slots;
    unsigned first = 0, last;
    lki_cluster_slots_next(&slots, &first, &last);
    return first;
}

static int by_slot(const void *a, const void *b) {
    unsigned left = first_slot(a), right = first_slot(b);
    return (left > right) - (left < right);
}

static void find_uncovered(examination *self) {
    bool covered[LKI_SLOTS] = {false};
    char text[RANGES_SIZE] = "";
    unsigned first, last;
    for (size_t i = 0; i < self->node_count; i++) {
        const char *slots = self->nodes[i].slots;
        while (lki_cluster_slots_next(&slots, &first, &last))
            memset(covered + first, true, last - first + 1);
    }
    for (first = 0; first < LKI_SLOTS; first = last + 1) {
        for (last = first; last + 1 < LKI_SLOTS && covered[last + 1] == covered[first]; last++)
            ;
        if (!covered[first])
            add_range(text, first, last);
    }
    self->facts->uncovered = lki_pool_text(self->pool, text, strlen(text));
}

static void count_replicas(const examination *self, const char *master, lk_shard_facts *out) {
    out->replicas = out->replicas_down = 0;
    for (size_t i = 0; i < self->node_count; i++) {
        const lki_cluster_node *one = &self->nodes[i];
        if (!one->is_replica || strcmp(one->master, master) != 0)
            continue;
        out->replicas++;
        out->replicas_down += one->is_down;
    }
}

/* With TLS, the certificate names the host. A node that does not know its address is the seed. */
static const char *host_of(const examination *self, const lki_cluster_node *node) {
    if (*node->name && (self->seeds->server.tls || !*node->ip))
        return node->name;
    return *node->ip ? node->ip : self->seed_host;
}

static lk_status examine_shard(const examination *self, const lki_cluster_node *node,
                               lk_shard_facts *out, lki_error *error) {
    char text[RANGES_SIZE] = "";
    unsigned first, last;
    const char *slots = node->slots;
    lki_endpoint endpoint = {0};
    lki_error ignored;
    lk_facts *master = lki_pool_new(self->pool, sizeof *master);
    if (!master || !lki_seeds_endpoint(self->seeds, host_of(self, node), node->port, &endpoint))
        return lki_error_no_memory(error);
    while (lki_cluster_slots_next(&slots, &first, &last))
        add_range(text, first, last);
    *out = lki_shard_facts_blank();
    out->master = master;
    out->slots = lki_pool_text(self->pool, text, strlen(text));
    count_replicas(self, node->id, out);
    lk_status status =
        lki_examine_named_server(&endpoint, self->settings, self->pool, master, error);
    lki_reach reach = reach_of(self);
    if (status == LK_OK && master->answered == LK_YES &&
        ask_master(&endpoint, &reach, self->pool, out, &ignored) == LK_NOMEM)
        status = lki_error_no_memory(error);
    lki_endpoint_clear(&endpoint);
    return status;
}

static lk_status examine_shards(examination *self, lki_error *error) {
    size_t count = 0;
    lk_status status = LK_OK;
    lk_shard_facts *list = lki_pool_new(self->pool, (self->node_count + 1) * sizeof *list);
    if (!list)
        return lki_error_no_memory(error);
    qsort(self->nodes, self->node_count, sizeof *self->nodes, by_slot);
    for (size_t i = 0; i < self->node_count && status == LK_OK; i++)
        if (has_slots(&self->nodes[i]))
            status = examine_shard(self, &self->nodes[i], &list[count++], error);
    self->facts->shards = list;
    self->facts->shard_count = count;
    return status;
}

lk_status lki_examine_cluster(const lki_seeds *seeds, const lki_settings *settings, lki_pool *pool,
                              lk_facts *facts, lki_error *error) {
    examination self = {.seeds = seeds, .settings = settings, .pool = pool, .facts = facts};
    *facts = lki_facts_blank();
    facts->server = lki_pool_text(pool, seeds->shown, strlen(seeds->shown));
    facts->mode = "cluster";
    facts->answered = LK_YES;
    lk_status status = ask_seeds(&self, error);
    if (status == LK_OK) {
        find_uncovered(&self);
        status = examine_shards(&self, error);
    }
    return status == LK_OK && pool->failed ? lki_error_no_memory(error) : status;
}
