/* See sentinels.h. */
#include "sentinels.h"

#include "test_memory.h"
#include "waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START_MOST_MS = 60000 };

struct test_sentinels {
    test_node **servers, **sentinels;
    size_t server_count, sentinel_count;
    char *url;
};

/*
 * Sentinels of version 7.0 and later look around more often with this, and recover sooner from
 * TILT, in which a slow machine puts them. Older ones refuse it, and take longer.
 *
 * A server whose role changes drops the connections of the sentinels, and a sentinel connects only
 * once in a ping-period. If that is not much shorter than down_after_ms, the new master counts as
 * down at once, and a second failover follows the first. If it is shorter than 200 ms, the sentinel
 * may find no replica to promote: it asks them for INFO once a second, and ignores an answer that
 * is older than five ping-periods.
 */
static const char hurry[] = "SENTINEL DEBUG ping-period 300 info-period 500 publish-period 200 "
                            "ask-period 200 tilt-period 1000";

static test_sentinels_options with_defaults(const test_sentinels_options *options) {
    test_sentinels_options full = options ? *options : (test_sentinels_options){0};
    full.replicas = full.replicas ? full.replicas : 2;
    full.sentinels = full.sentinels ? full.sentinels : 3;
    full.down_after_ms = full.down_after_ms ? full.down_after_ms : 1000;
    full.failover_timeout_ms = full.failover_timeout_ms ? full.failover_timeout_ms : 2000;
    return full;
}

static test_node *start_server(const test_sentinels_options *options, const test_node *master) {
    test_words words = {0};
    char *settings =
        master ? test_print("replicaof %s %d\n", test_node_address(master), test_node_port(master))
               : NULL;
    test_words_add(&words, "--repl-diskless-sync-delay", "0", "--appendonly",
                   options->keeps_data ? "yes" : "no", NULL);
    test_words_add_all(&words, options->server_options);
    test_node *server = test_node_start(&(test_node_options){
        .kind = TEST_NODE_PLAIN,
        .program = options->program,
        .user = options->user,
        .password = options->password,
        .settings = settings,
        .options = (const char *const *)words.list,
        .tls = options->tls,
        .clock = options->clocks,
        .places = options->places,
        .place = master ? 1 : 0,
    });
    free(settings);
    test_words_free(&words);
    return server;
}

static char *sentinel_settings(const test_sentinels_options *options, const test_node *master) {
    test_text lines = {0};
    test_text_print(&lines, "sentinel monitor latchkey %s %d %zu\n", test_node_address(master),
                    test_node_port(master), options->sentinels / 2 + 1);
    test_text_print(&lines, "sentinel down-after-milliseconds latchkey %d\n",
                    options->down_after_ms);
    test_text_print(&lines, "sentinel failover-timeout latchkey %d\n",
                    options->failover_timeout_ms);
    test_text_print(&lines, "sentinel parallel-syncs latchkey 1\n");
    if (options->user)
        test_text_print(&lines, "sentinel auth-user latchkey %s\n", options->user);
    if (options->password)
        test_text_print(&lines, "sentinel auth-pass latchkey %s\n", options->password);
    return lines.bytes;
}

static test_node *start_sentinel(const test_sentinels_options *options, const test_node *master) {
    char *settings = sentinel_settings(options, master);
    test_node *sentinel = test_node_start(&(test_node_options){
        .kind = TEST_NODE_SENTINEL,
        .program = options->program,
        .password = options->sentinel_password,
        .settings = settings,
        .command_at_start = hurry,
        .tls = options->tls,
        .places = options->places,
        .place = 1,
    });
    free(settings);
    return sentinel;
}

/* As test_wait_on(), but says at the end how things are: the caller has waited in vain. */
static bool wait_on(const test_sentinels *set, int64_t end_ms) {
    if (test_wait_on(end_ms))
        return true;
    for (size_t i = 0; i < set->server_count; i++)
        test_node_describe(set->servers[i]);
    for (size_t i = 0; i < set->sentinel_count; i++)
        fprintf(stderr, "sentinel %zu names server %d\n", i,
                test_sentinels_master_named_by(set, i));
    return false;
}

/* ------------------------------------------------------------------------------ start and stop */

static bool start_servers(test_sentinels *set, const test_sentinels_options *options) {
    set->servers = test_alloc(options->replicas + 1, sizeof *set->servers);
    for (size_t i = 0; i <= options->replicas; i++) {
        set->servers[i] = start_server(options, i > 0 ? set->servers[0] : NULL);
        if (!set->servers[i])
            return false;
        set->server_count++;
    }
    return true;
}

static bool start_sentinels(test_sentinels *set, const test_sentinels_options *options) {
    set->sentinels = test_alloc(options->sentinels, sizeof *set->sentinels);
    for (size_t i = 0; i < options->sentinels; i++) {
        set->sentinels[i] = start_sentinel(options, set->servers[0]);
        if (!set->sentinels[i])
            return false;
        set->sentinel_count++;
    }
    char *hosts = test_node_hosts(set->sentinels, set->sentinel_count);
    set->url = test_print("redis%s+sentinel://%s/latchkey", options->tls ? "s" : "", hosts);
    free(hosts);
    return true;
}

static bool is_replica_of(const test_node *server, const test_node *master) {
    test_role role;
    return test_node_get_role(server, &role) && !role.is_master && role.in_sync &&
           role.master_port == test_node_port(master);
}

static bool all_replicate(const test_sentinels *set, int master) {
    for (int i = 0; i < (int)set->server_count; i++)
        if (i != master && !is_replica_of(set->servers[i], set->servers[master]))
            return false;
    return true;
}

/* A sentinel that starts asks the master at once for its replicas, and again only much later. */
static bool wait_for_replicas(const test_sentinels *set) {
    int64_t end_ms = test_wait_end(START_MOST_MS);
    while (!all_replicate(set, 0))
        if (!wait_on(set, end_ms))
            return false;
    return true;
}

test_sentinels *test_sentinels_start(const test_sentinels_options *options) {
    test_sentinels_options full = with_defaults(options);
    test_sentinels *set = test_alloc(1, sizeof *set);
    if (start_servers(set, &full) && wait_for_replicas(set) && start_sentinels(set, &full) &&
        test_sentinels_wait_until_settled(set, START_MOST_MS))
        return set;
    fprintf(stderr, "the sentinels and their servers do not find each other\n");
    test_sentinels_stop(set);
    return NULL;
}

void test_sentinels_stop(test_sentinels *set) {
    if (!set)
        return;
    for (size_t i = 0; i < set->sentinel_count; i++)
        test_node_stop(set->sentinels[i]);
    for (size_t i = 0; i < set->server_count; i++)
        test_node_stop(set->servers[i]);
    free(set->sentinels);
    free(set->servers);
    free(set->url);
    free(set);
}

size_t test_sentinels_server_count(const test_sentinels *set) {
    return set->server_count;
}

size_t test_sentinels_count(const test_sentinels *set) {
    return set->sentinel_count;
}

test_node *test_sentinels_server(const test_sentinels *set, size_t index) {
    return set->servers[index];
}

test_node *test_sentinels_sentinel(const test_sentinels *set, size_t index) {
    return set->sentinels[index];
}

const char *test_sentinels_url(const test_sentinels *set) {
    return set->url;
}

/* ------------------------------------------------------------------------------ the master */

static int server_at(const test_sentinels *set, const char *port) {
    for (size_t i = 0; i < set->server_count; i++)
        if (test_node_port(set->servers[i]) == strtol(port, NULL, 10))
            return (int)i;
    return -1;
}

int test_sentinels_master_named_by(const test_sentinels *set, size_t sentinel) {
    redisReply *reply =
        test_node_ask(set->sentinels[sentinel], "SENTINEL GET-MASTER-ADDR-BY-NAME latchkey");
    int master = -1;
    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2)
        master = server_at(set, reply->element[1]->str);
    freeReplyObject(reply);
    return master;
}

int test_sentinels_master(const test_sentinels *set) {
    size_t *votes = test_alloc(set->server_count, sizeof *votes);
    int elected = -1;
    for (size_t i = 0; i < set->sentinel_count; i++) {
        int named = test_sentinels_master_named_by(set, i);
        if (named >= 0 && ++votes[named] > set->sentinel_count / 2)
            elected = named;
    }
    free(votes);
    return elected;
}

int test_sentinels_wait_for_other_master(const test_sentinels *set, int former, int64_t limit_ms) {
    for (int64_t end_ms = test_wait_end(limit_ms);;) {
        int master = test_sentinels_master(set);
        if (master >= 0 && master != former && test_node_is_master(set->servers[master]))
            return master;
        if (!wait_on(set, end_ms))
            return -1;
    }
}

int test_sentinels_wait_for_master(const test_sentinels *set, int64_t limit_ms) {
    return test_sentinels_wait_for_other_master(set, -1, limit_ms);
}

bool test_sentinels_wait_for_replica(const test_sentinels *set, size_t server, int64_t limit_ms) {
    for (int64_t end_ms = test_wait_end(limit_ms);;) {
        int master = test_sentinels_master(set);
        if (master >= 0 && is_replica_of(set->servers[server], set->servers[master]))
            return true;
        if (!wait_on(set, end_ms))
            return false;
    }
}

bool test_sentinels_fail_over(const test_sentinels *set, size_t sentinel, int64_t limit_ms) {
    for (int64_t end_ms = test_wait_end(limit_ms);;) {
        redisReply *reply = test_node_ask(set->sentinels[sentinel], "SENTINEL FAILOVER latchkey");
        bool accepted = reply && reply->type == REDIS_REPLY_STATUS;
        freeReplyObject(reply);
        if (accepted || !wait_on(set, end_ms))
            return accepted;
    }
}

/* ------------------------------------------------------------------------------ settled */

/* SENTINEL MASTER and SENTINEL REPLICAS answer with names and values in turn. */
static const char *field(const redisReply *fields, const char *name) {
    for (size_t i = 0; i + 1 < fields->elements; i += 2)
        if (strcmp(fields->element[i]->str, name) == 0)
            return fields->element[i + 1]->str;
    return "";
}

static bool has_count(const redisReply *fields, const char *name, size_t wanted) {
    return strtoul(field(fields, name), NULL, 10) == wanted;
}

static bool sees_healthy_master(const test_sentinels *set, const test_node *sentinel) {
    redisReply *reply = test_node_ask(sentinel, "SENTINEL MASTER latchkey");
    bool healthy = reply && reply->type == REDIS_REPLY_ARRAY &&
                   strcmp(field(reply, "flags"), "master") == 0 &&
                   has_count(reply, "num-slaves", set->server_count - 1) &&
                   has_count(reply, "num-other-sentinels", set->sentinel_count - 1);
    freeReplyObject(reply);
    return healthy;
}

/* "SLAVES" and not "REPLICAS": every version knows it. */
static bool sees_healthy_replicas(const test_node *sentinel) {
    redisReply *reply = test_node_ask(sentinel, "SENTINEL SLAVES latchkey");
    bool healthy = reply && reply->type == REDIS_REPLY_ARRAY;
    for (size_t i = 0; healthy && i < reply->elements; i++)
        healthy = strcmp(field(reply->element[i], "flags"), "slave") == 0 &&
                  strcmp(field(reply->element[i], "master-link-status"), "ok") == 0;
    freeReplyObject(reply);
    return healthy;
}

static bool is_settled(const test_sentinels *set) {
    int master = test_sentinels_master(set);
    if (master < 0 || !all_replicate(set, master))
        return false;
    for (size_t i = 0; i < set->sentinel_count; i++)
        if (test_sentinels_master_named_by(set, i) != master ||
            !sees_healthy_master(set, set->sentinels[i]) ||
            !sees_healthy_replicas(set->sentinels[i]))
            return false;
    return true;
}

bool test_sentinels_wait_until_settled(const test_sentinels *set, int64_t limit_ms) {
    int64_t end_ms = test_wait_end(limit_ms);
    while (!is_settled(set))
        if (!wait_on(set, end_ms))
            return false;
    return true;
}
