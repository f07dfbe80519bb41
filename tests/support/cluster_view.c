/* What the nodes of a cluster say of it, as CLUSTER NODES has it. See cluster.h. */
#include "cluster_private.h"
#include "waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One node's word on all of them. */
typedef struct {
    int owner[TEST_SLOTS];            /* the member that has the slot; -1: none */
    int master[CLUSTER_MEMBERS_MOST]; /* of a replica; -1: it is a master; -2: it is not listed */
    bool is_well[CLUSTER_MEMBERS_MOST];
    bool lists_strangers;
    long long epoch; /* of the node that says this */
} view;

enum { MASTER_NONE = -1, MASTER_UNKNOWN = -2 };

/* The words of a line of CLUSTER NODES; slots follow. */
enum { ID, ADDRESS, FLAGS, MASTER, PING_SENT, PONG_GOT, EPOCH, LINK_STATE, WORDS };

static int find_member(const test_cluster *cluster, const char *id) {
    for (size_t i = 0; i < cluster->count; i++)
        if (cluster->members[i].joined && strcmp(cluster->members[i].id, id) == 0)
            return (int)i;
    return -1;
}

static bool has_flag(const char *flags, const char *flag) {
    size_t length = strlen(flag);
    for (const char *at = flags; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, flag, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static bool is_well(const char *flags) {
    return !has_flag(flags, "fail") && !has_flag(flags, "fail?") && !has_flag(flags, "handshake") &&
           !has_flag(flags, "noaddr");
}

/* "7" or "7-9"; "[7->-ID]" and "[7-<-ID]" are on the move, and listed with their owner as well. */
static void read_slots(view *seen, int member, const char *range) {
    if (*range == '[')
        return;
    char *behind;
    long first = strtol(range, &behind, 10);
    long last = *behind == '-' ? strtol(behind + 1, NULL, 10) : first;
    for (long slot = first; slot <= last && slot < TEST_SLOTS; slot++)
        seen->owner[slot] = member;
}

static void read_line(const test_cluster *cluster, view *seen, char *line) {
    char *words[WORDS] = {0}, *rest = NULL, *word = strtok_r(line, " ", &rest);
    size_t count = 0;
    for (; word && count < WORDS; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    if (count < WORDS)
        return;
    int member = find_member(cluster, words[ID]);
    if (has_flag(words[FLAGS], "myself"))
        seen->epoch = strtoll(words[EPOCH], NULL, 10);
    if (member < 0) {
        seen->lists_strangers = true;
        return;
    }
    seen->is_well[member] = is_well(words[FLAGS]);
    seen->master[member] =
        has_flag(words[FLAGS], "slave") ? find_member(cluster, words[MASTER]) : MASTER_NONE;
    for (; word; word = strtok_r(NULL, " ", &rest))
        read_slots(seen, member, word);
}

static bool look(const test_cluster *cluster, size_t looker, view *seen) {
    redisReply *reply = test_node_ask(cluster->members[looker].node, "CLUSTER NODES");
    bool answered = reply && reply->str && reply->type != REDIS_REPLY_ERROR;
    *seen = (view){0};
    for (int i = 0; i < TEST_SLOTS; i++)
        seen->owner[i] = -1;
    for (int i = 0; i < CLUSTER_MEMBERS_MOST; i++)
        seen->master[i] = MASTER_UNKNOWN;
    if (answered) {
        char *rest = NULL;
        for (char *line = strtok_r(reply->str, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest))
            read_line(cluster, seen, line);
    }
    freeReplyObject(reply);
    return answered;
}

bool cluster_member_knows(const test_cluster *cluster, size_t looker, size_t member) {
    view seen;
    return look(cluster, looker, &seen) && seen.is_well[member];
}

/* As test_wait_on(), but says at the end how things are: the caller has waited in vain. */
static bool wait_on(const test_cluster *cluster, int64_t end_ms) {
    if (test_wait_on(end_ms))
        return true;
    for (size_t i = 0; i < cluster->count; i++) {
        redisReply *reply = test_node_ask(cluster->members[i].node, "CLUSTER NODES");
        test_node_describe(cluster->members[i].node);
        if (reply && reply->str)
            fputs(reply->str, stderr);
        freeReplyObject(reply);
    }
    return false;
}

/* ------------------------------------------------------------------------------ owners */

int test_cluster_owner(const test_cluster *cluster, int slot) {
    int owner = -1;
    long long epoch = -1;
    view seen;
    for (size_t i = 0; i < cluster->count; i++)
        if (cluster_member_counts(cluster, i) && look(cluster, i, &seen) &&
            seen.owner[slot] == (int)i && seen.epoch > epoch) {
            owner = (int)i;
            epoch = seen.epoch;
        }
    return owner;
}

int test_cluster_key_owner(const test_cluster *cluster, const char *key, size_t length) {
    return test_cluster_owner(cluster, test_key_slot(key, length));
}

int test_cluster_wait_for_other_owner(const test_cluster *cluster, int slot, int former,
                                      int64_t limit_ms) {
    for (int64_t end_ms = test_wait_end(limit_ms);;) {
        int owner = test_cluster_owner(cluster, slot);
        if (owner >= 0 && owner != former)
            return owner;
        if (!wait_on(cluster, end_ms))
            return -1;
    }
}

int test_cluster_replica_of(const test_cluster *cluster, int master) {
    test_role role;
    for (size_t i = 0; i < cluster->count; i++)
        if (cluster_member_counts(cluster, i) &&
            test_node_get_role(cluster->members[i].node, &role) && !role.is_master &&
            role.in_sync && role.master_port == test_node_port(cluster->members[master].node))
            return (int)i;
    return -1;
}

/* ------------------------------------------------------------------------------ settled */

static bool says_ok(const test_node *node) {
    redisReply *reply = test_node_ask(node, "CLUSTER INFO");
    bool ok = reply && reply->str && strstr(reply->str, "cluster_state:ok");
    freeReplyObject(reply);
    return ok;
}

static bool is_in_order(const test_node *node) {
    test_role role;
    return says_ok(node) && test_node_get_role(node, &role) && (role.is_master || role.in_sync);
}

static bool lists_all_well(const test_cluster *cluster, const view *seen) {
    if (seen->lists_strangers)
        return false;
    for (size_t i = 0; i < cluster->count; i++) {
        bool listed = seen->master[i] != MASTER_UNKNOWN;
        if (listed != cluster->members[i].joined)
            return false;
        if (cluster_member_counts(cluster, i) && !seen->is_well[i])
            return false;
    }
    return true;
}

/* Nobody can tell a dead node which master it has now, so its master does not matter. */
static bool agree(const test_cluster *cluster, const view *one, const view *other) {
    for (size_t i = 0; i < cluster->count; i++)
        if (cluster_member_counts(cluster, i) && one->master[i] != other->master[i])
            return false;
    return memcmp(one->owner, other->owner, sizeof one->owner) == 0;
}

static bool is_settled(const test_cluster *cluster) {
    view first, seen;
    bool is_first = true;
    for (size_t i = 0; i < cluster->count; i++) {
        if (!cluster_member_counts(cluster, i))
            continue;
        if (!is_in_order(cluster->members[i].node) || !look(cluster, i, &seen) ||
            !lists_all_well(cluster, &seen) || (!is_first && !agree(cluster, &first, &seen)))
            return false;
        first = seen;
        is_first = false;
    }
    return true;
}

bool test_cluster_wait_until_settled(const test_cluster *cluster, int64_t limit_ms) {
    int64_t end_ms = test_wait_end(limit_ms);
    while (!is_settled(cluster))
        if (!wait_on(cluster, end_ms))
            return false;
    return true;
}
