/*
 * What renewals cost while a slot of a cluster moves. One client holds locks of one slot: some with
 * one key, and one with two. Before the move, one command renews them all. While some keys have
 * moved, each hold needs a command of its own, and the lock with two keys is refused (TRYAGAIN) as
 * long as its keys are on two nodes. Prints the commands, and how near the leases came to their end.
 */
#include "cluster.h"
#include "latchkey.h"
#include "test_memory.h"
#include "waiting.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES = 3, SINGLE = 20, READERS = 20, LEASE_MS = 12000, PHASE_MS = 16000, SPLIT_MS = 5000 };

static test_cluster *cluster;
static lk_client *client;
static lk_lock *locks[SINGLE + READERS];
static atomic_int losses;

static void check(bool done, const char *what) {
    if (done)
        return;
    fprintf(stderr, "%s: %s\n", what, lk_last_error());
    exit(1);
}

static void count_loss(lk_lock *lock, void *arg) {
    (void)lock, (void)arg;
    atomic_fetch_add(&losses, 1);
}

/* The tag of all names is "a". */
static char *name_of(int lock) {
    return lock < SINGLE ? test_print("a}%d", lock) : test_print("a");
}

static void take(int lock) {
    char *name = name_of(lock);
    lk_lock_options options = {.lease_ms = LEASE_MS, .on_lost = count_loss};
    check(lk_lock_new(client, name, &options, &locks[lock]) == LK_OK, name);
    check((lock < SINGLE ? lk_wrlock : lk_rdlock)(locks[lock]) == LK_OK, name);
    free(name);
}

/* ------------------------------------------------------------------------------ counting */

typedef struct {
    int64_t done, refused;
} commands;

static void add_commands(const char *stats, const char *command, commands *sum) {
    char *word = test_print("cmdstat_%s:calls=", command);
    const char *at = strstr(stats, word);
    const char *rejected = at ? strstr(at, "rejected_calls=") : NULL;
    if (rejected) {
        sum->done += strtoll(at + strlen(word), NULL, 10);
        sum->refused += strtoll(rejected + strlen("rejected_calls="), NULL, 10);
    }
    free(word);
}

static commands count_commands(void) {
    commands sum = {0};
    for (size_t i = 0; i < NODES; i++) {
        redisReply *reply = test_node_ask(test_cluster_node(cluster, i), "INFO commandstats");
        check(reply != NULL, "INFO");
        add_commands(reply->str, "eval", &sum);
        add_commands(reply->str, "evalsha", &sum);
        freeReplyObject(reply);
    }
    return sum;
}

static int64_t lowest_remaining_ms(void) {
    int64_t lowest_ms = LEASE_MS;
    for (int i = 0; i < SINGLE + READERS; i++) {
        int64_t left_ms = lk_remaining_ms(locks[i]);
        lowest_ms = left_ms < lowest_ms ? left_ms : lowest_ms;
    }
    return lowest_ms;
}

/* Returns the shortest rest of a lease that was seen meanwhile. */
static int64_t watch(int64_t ms) {
    int64_t lowest_ms = LEASE_MS;
    for (int64_t end_ms = test_wait_end(ms); test_wait_on(end_ms);) {
        int64_t left_ms = lowest_remaining_ms();
        lowest_ms = left_ms < lowest_ms ? left_ms : lowest_ms;
    }
    return lowest_ms;
}

static void report(const char *phase, int64_t ms, commands before, int64_t lowest_ms) {
    commands after = count_commands();
    printf("%-36s %8.1f %8.1f %9" PRId64 " %5d\n", phase,
           (double)(after.done - before.done) * 1000 / (double)ms,
           (double)(after.refused - before.refused) * 1000 / (double)ms, lowest_ms,
           atomic_load(&losses));
}

/* ------------------------------------------------------------------------------ the phases */

static void move_key(const test_slot_move *move, const char *key) {
    check(test_cluster_move_key(cluster, move, key, strlen(key)), key);
}

static void stay(const char *phase, int64_t ms) {
    commands before = count_commands();
    report(phase, ms, before, watch(ms));
}

/* Half of the locks with one key are on each node; then the lock with two keys is split. */
static void move(void) {
    test_slot_move move = {.slot = test_key_slot("lk:{a}", strlen("lk:{a}"))};
    move.from = test_cluster_owner(cluster, move.slot);
    move.to = (move.from + 1) % NODES;
    check(test_cluster_move_begin(cluster, &move), "moving");
    for (int i = 0; i < SINGLE / 2; i++) {
        char *name = name_of(i), *key = test_print("lk:{%s}", name);
        move_key(&move, key);
        free(key);
        free(name);
    }
    stay("half of the locks have moved", PHASE_MS);
    move_key(&move, "lk:{a}");
    stay("the keys of a lock are on two nodes", SPLIT_MS);
    check(test_cluster_move_keys(cluster, &move), "moving");
    stay("all keys have moved, not the slot", PHASE_MS);
    check(test_cluster_move_end(cluster, &move), "moving");
}

int main(void) {
    cluster = test_cluster_start(
        &(test_cluster_options){.masters = NODES, .replicas = 0, .node_timeout_ms = 60000});
    check(cluster != NULL, "the cluster");
    check(lk_open(test_cluster_url(cluster), NULL, &client) == LK_OK, "opening");
    for (int i = 0; i < SINGLE + READERS; i++)
        take(i);
    printf("%d locks with one key and one with two keys and %d readers; leases of %d ms; the two "
           "keys are on two nodes for %d ms\n",
           SINGLE, READERS, LEASE_MS, SPLIT_MS);
    printf("%-36s %8s %8s %9s %5s\n", "", "scripts", "refused", "shortest", "lost");
    printf("%-36s %8s %8s %9s %5s\n", "", "a second", "a second", "lease, ms", "holds");
    stay("before", PHASE_MS);
    move();
    stay("after", PHASE_MS);
    lk_close(client);
    test_cluster_stop(cluster);
    return atomic_load(&losses) > 0;
}
