/* See site.h. */
#include "site.h"

#include "test_memory.h"
#include "waiting.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_MOST_S = 10, DOWN_AFTER_MS = 1000 };

struct site {
    site_kind kind;
    site_needs needs;
    test_server *server; /* of a single site */
    proxy *net;          /* of a single site */
    test_sentinels *sentinels;
    test_cluster *cluster;
    char *urls[2];  /* for clients with even and odd numbers */
    bool logged_in; /* the user of the clients exists */
};

static const char login_user[] = "worker", login_password[] = "secret";

static void set_urls(site *self, const char *url) {
    for (size_t i = 0; i < 2; i++) {
        free(self->urls[i]);
        self->urls[i] = test_copy(url, strlen(url));
    }
}

/* ------------------------------------------------------------------------------ start */

/* Room for the words of a command line about persistence. */
typedef struct {
    const char *words[5];
} persistence;

static persistence persistence_for(site_needs needs) {
    bool keeps = needs.fsync && strcmp(needs.fsync, "none") != 0;
    return (persistence){{"--appendonly", keeps ? "yes" : "no", "--appendfsync",
                          keeps ? needs.fsync : "always", NULL}};
}

static bool start_single(site *self, site_needs needs) {
    persistence disk = persistence_for(needs);
    const char *const *options = disk.words;
    self->server = needs.clock ? test_server_start_with_clock(test_server_any(), options)
                               : test_server_start(test_server_any(), options);
    self->net = self->server ? proxy_start(test_server_socket(self->server)) : NULL;
    if (!self->net)
        return false;
    self->urls[0] = test_print("unix://%s", test_server_socket(self->server));
    self->urls[1] = test_print("unix://%s", proxy_socket(self->net));
    return true;
}

static bool start_sentinels(site *self, site_needs needs) {
    persistence disk = persistence_for(needs);
    self->sentinels = test_sentinels_start(&(test_sentinels_options){
        .down_after_ms = DOWN_AFTER_MS, .server_options = disk.words, .clocks = needs.clock});
    if (!self->sentinels)
        return false;
    set_urls(self, test_sentinels_url(self->sentinels));
    return true;
}

static bool start_cluster(site *self, site_needs needs) {
    persistence disk = persistence_for(needs);
    self->cluster = test_cluster_start(
        &(test_cluster_options){.server_options = disk.words, .clocks = needs.clock});
    if (!self->cluster)
        return false;
    set_urls(self, test_cluster_url(self->cluster));
    return true;
}

void site_stop(site *self) {
    if (!self)
        return;
    proxy_stop(self->net);
    test_server_stop(self->server);
    test_sentinels_stop(self->sentinels);
    test_cluster_stop(self->cluster);
    for (size_t i = 0; i < 2; i++)
        free(self->urls[i]);
    free(self);
}

/* ------------------------------------------------------------------------------ parts */

const char *site_kind_name(site_kind kind) {
    return kind == SITE_SINGLE ? "single" : kind == SITE_SENTINEL ? "sentinel" : "cluster";
}

site_kind site_get_kind(const site *self) {
    return self->kind;
}

size_t site_replicas(const site *self) {
    return self->kind == SITE_SENTINEL ? test_sentinels_server_count(self->sentinels) - 1
                                       : self->kind == SITE_CLUSTER;
}

const char *site_url(const site *self, unsigned client) {
    return self->urls[client % 2];
}

proxy *site_proxy(const site *self) {
    return self->net;
}

test_sentinels *site_sentinels(const site *self) {
    return self->sentinels;
}

test_cluster *site_cluster(const site *self) {
    return self->cluster;
}

size_t site_server_count(const site *self) {
    return self->kind == SITE_SENTINEL  ? test_sentinels_server_count(self->sentinels)
           : self->kind == SITE_CLUSTER ? test_cluster_count(self->cluster)
                                        : 1;
}

test_node *site_node(const site *self, size_t server) {
    return self->kind == SITE_SENTINEL  ? test_sentinels_server(self->sentinels, server)
           : self->kind == SITE_CLUSTER ? test_cluster_node(self->cluster, server)
                                        : NULL;
}

test_server *site_server(const site *self, size_t server) {
    test_node *node = site_node(self, server);
    return node ? test_node_server(node) : self->server;
}

int site_owner(const site *self, const char *lock) {
    if (self->kind == SITE_SENTINEL)
        return test_sentinels_master(self->sentinels);
    if (self->kind == SITE_SINGLE)
        return 0;
    char *key = test_print("lk:{%s}", lock);
    int owner = test_cluster_key_owner(self->cluster, key, strlen(key));
    free(key);
    return owner;
}

/* ------------------------------------------------------------------------------ commands */

static redisContext *connect_to(const site *self, size_t server) {
    struct timeval most = {.tv_sec = ANSWER_MOST_S};
    test_server *there = site_server(self, server);
    if (!test_server_runs(there))
        return NULL;
    redisContext *link = redisConnectUnixWithTimeout(test_server_socket(there), most);
    if (link && !link->err && redisSetTimeout(link, most) == REDIS_OK) {
        if (self->logged_in)
            freeReplyObject(redisCommand(link, "AUTH %s %s", login_user, login_password));
        return link;
    }
    redisFree(link);
    return NULL;
}

static redisReply *ask(const site *self, size_t server, const char *format, va_list arguments) {
    redisContext *link = connect_to(self, server);
    redisReply *reply = link ? redisvCommand(link, format, arguments) : NULL;
    redisFree(link);
    return reply;
}

redisReply *site_ask(const site *self, size_t server, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = ask(self, server, format, arguments);
    va_end(arguments);
    return reply;
}

bool site_tell(const site *self, size_t server, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = ask(self, server, format, arguments);
    va_end(arguments);
    bool accepted = reply && reply->type != REDIS_REPLY_ERROR;
    if (!accepted)
        fprintf(stderr, "server %zu: %s: %s\n", server, format, reply ? reply->str : "no answer");
    freeReplyObject(reply);
    return accepted;
}

/* ------------------------------------------------------------------------------ settled */

static bool single_answers(const site *self) {
    redisReply *reply = site_ask(self, 0, "PING");
    bool answers = reply && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return answers;
}

bool site_wait_until_settled(site *self, int64_t limit_ms) {
    int64_t end_ms = test_wait_end(limit_ms);
    if (self->kind == SITE_SENTINEL)
        return test_sentinels_wait_until_settled(self->sentinels, limit_ms);
    if (self->kind == SITE_CLUSTER)
        return test_cluster_wait_until_settled(self->cluster, limit_ms);
    while (!single_answers(self))
        if (!test_wait_on(end_ms))
            return false;
    return true;
}

static int64_t sentinel_epoch(const site *self, size_t sentinel) {
    redisReply *reply = test_node_ask(test_sentinels_sentinel(self->sentinels, sentinel),
                                      "SENTINEL MASTER latchkey");
    int64_t epoch = -1;
    for (size_t i = 0; reply && i + 1 < reply->elements; i += 2)
        if (strcmp(reply->element[i]->str, "config-epoch") == 0)
            epoch = strtoll(reply->element[i + 1]->str, NULL, 10);
    freeReplyObject(reply);
    return epoch;
}

int64_t site_generation(const site *self) {
    int64_t generation = 0;
    if (self->kind == SITE_SENTINEL)
        for (size_t i = 0; i < test_sentinels_count(self->sentinels); i++) {
            int64_t epoch = sentinel_epoch(self, i);
            generation = epoch > generation ? epoch : generation;
        }
    else if (self->kind == SITE_CLUSTER)
        for (size_t i = 0; i < site_server_count(self); i++)
            generation |= (int64_t)test_node_is_master(site_node(self, i)) << i;
    return generation;
}

/* ------------------------------------------------------------------------------ clocks */

void site_align_clocks(const site *self) {
    int64_t farthest_us = 0;
    for (size_t i = 0; self->needs.clock && i < site_server_count(self); i++) {
        int64_t ahead_us = test_server_clock_us(site_server(self, i));
        farthest_us = ahead_us > farthest_us ? ahead_us : farthest_us;
    }
    for (size_t i = 0; self->needs.clock && i < site_server_count(self); i++) {
        test_server *server = site_server(self, i);
        test_server_step_clock(server, farthest_us - test_server_clock_us(server));
    }
}

/* ------------------------------------------------------------------------------ the login */

static bool give_clients_a_login(site *self) {
    for (size_t i = 0; i < site_server_count(self); i++)
        if (!site_tell(self, i, "ACL SETUSER %s on >%s ~* &* +@all", login_user, login_password))
            return false;
    const char *hosts = strstr(self->urls[0], "://") + 3;
    char *url = test_print("%.*s%s:%s@%s", (int)(hosts - self->urls[0]), self->urls[0], login_user,
                           login_password, hosts);
    set_urls(self, url);
    free(url);
    self->logged_in = true;
    return true;
}

bool site_has(const site *self, site_kind kind, site_needs needs) {
    const char *fsync = self->needs.fsync ? self->needs.fsync : "";
    return self->kind == kind && strcmp(fsync, needs.fsync ? needs.fsync : "") == 0 &&
           self->needs.clock == needs.clock && self->needs.login == needs.login;
}

site *site_start(site_kind kind, site_needs needs) {
    site *self = test_alloc(1, sizeof *self);
    self->kind = kind;
    self->needs = needs;
    bool started = kind == SITE_SINGLE     ? start_single(self, needs)
                   : kind == SITE_SENTINEL ? start_sentinels(self, needs)
                                           : start_cluster(self, needs);
    if (started && (!needs.login || give_clients_a_login(self)))
        return self;
    site_stop(self);
    return NULL;
}
