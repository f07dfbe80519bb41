/* See doctor.h: the nodes of the URL, the cluster as a whole, and each of its masters. */
#include "doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16384, TIMEOUT_LEAST_MS = 1000, TIMEOUT_MOST_MS = 30000 };

/* ------------------------------------------------------------------------------ the cluster */

static bool judge_seeds(const lk_facts *facts, finding *out) {
    const lk_seed_facts *silent = NULL;
    size_t answering = 0;
    for (size_t i = 0; i < facts->seed_count; i++)
        if (facts->seeds[i].status == LK_OK)
            answering++;
        else if (!silent)
            silent = &facts->seeds[i];
    bool is_alone = facts->seed_count == 1 && facts->shard_count > 1;
    finding_figure_add(out, "named", (int64_t)facts->seed_count);
    finding_figure_add(out, "answering", (int64_t)answering);
    finding_set(out, silent || is_alone ? FINDING_NOTE : FINDING_FINE,
                "%zu of %zu nodes of the URL answer%s%s", answering, facts->seed_count,
                silent     ? ": "
                : is_alone ? ": if this one is away, programs that start do not find the cluster"
                           : "",
                silent ? silent->error : "");
    if (silent)
        finding_advise(out, "start it, or leave it out of the URL");
    else if (is_alone)
        finding_advise(out, "name some more nodes in the URL");
    return true;
}

static bool judge_state(const lk_facts *facts, finding *out) {
    size_t known = 0;
    finding_figure_add(out, "shards", (int64_t)facts->shard_count);
    for (size_t i = 0; i < facts->shard_count; i++) {
        const lk_shard_facts *shard = &facts->shards[i];
        if (*shard->state && strcmp(shard->state, "ok") != 0) {
            finding_set(out, FINDING_WRONG,
                        "%s says that the state of the cluster is %s: it refuses requests, so "
                        "nobody can acquire its locks",
                        shard->master->server, shard->state);
            finding_advise(out, "start the nodes that are missing; redis-cli --cluster check shows "
                                "them");
            return true;
        }
        known += *shard->state != '\0';
    }
    finding_set(out, known ? FINDING_FINE : FINDING_NOTE,
                known ? "ok, with %zu shards"
                      : "%zu shards; no master reports the state of the cluster",
                facts->shard_count);
    return true;
}

static bool is_full_coverage(const lk_facts *facts) {
    for (size_t i = 0; i < facts->shard_count; i++)
        if (facts->shards[i].full_coverage == LK_YES)
            return true;
    return false;
}

static bool judge_coverage(const lk_facts *facts, finding *out) {
    bool is_full = is_full_coverage(facts);
    if (!*facts->uncovered) {
        finding_set(out, FINDING_FINE, "all %d slots have a master; if one has none, %s", SLOTS,
                    is_full ? "all locks stop (cluster-require-full-coverage is yes)"
                            : "only its locks stop");
        return true;
    }
    finding_set(out, FINDING_WRONG, "no master has the slots %s: %s", facts->uncovered,
                is_full ? "the cluster refuses all requests, so nobody can acquire any lock "
                          "(cluster-require-full-coverage is yes)"
                        : "nobody can acquire the locks in these slots");
    finding_advise(out, "give these slots to a master: redis-cli --cluster fix");
    return true;
}

static bool judge_open_slots(const lk_facts *facts, finding *out) {
    int64_t count = 0;
    for (size_t i = 0; i < facts->shard_count; i++)
        if (facts->shards[i].open_slots > 0)
            count += facts->shards[i].open_slots;
    finding_figure_add(out, "open_slots", count);
    if (count == 0) {
        finding_set(out, FINDING_FINE, "no slot moves");
        return true;
    }
    finding_set(out, FINDING_NOTE,
                "%" PRId64 " ends of moves are open (migrating or importing): locks in these slots "
                "take longer until the move ends",
                count);
    finding_advise(out, "if no move goes on, end it: redis-cli --cluster fix");
    return true;
}

static bool judge_timeout(const lk_facts *facts, finding *out) {
    int64_t least = -1, most = -1;
    for (size_t i = 0; i < facts->shard_count; i++) {
        int64_t ms = facts->shards[i].node_timeout_ms;
        if (ms < 0)
            continue;
        least = least < 0 || ms < least ? ms : least;
        most = ms > most ? ms : most;
    }
    if (least < 0)
        return false;
    finding_figure_add(out, "node_timeout_ms", most);
    if (least != most) {
        finding_set(out, FINDING_NOTE,
                    "cluster-node-timeout is %" PRId64 " ms on one master and %" PRId64
                    " ms on another: nodes do not agree on when a master has failed",
                    least, most);
        finding_advise(out, "CONFIG SET the same cluster-node-timeout on all nodes");
        return true;
    }
    finding_set(out,
                most < TIMEOUT_LEAST_MS || most > TIMEOUT_MOST_MS ? FINDING_NOTE : FINDING_FINE,
                "when a master fails, nobody can acquire its locks for about %.1f s "
                "(cluster-node-timeout), and for the failover itself; a master that is cut off "
                "goes on granting for as long%s",
                (double)most / 1e3,
                most < TIMEOUT_LEAST_MS ? "; a short pause of a master begins a failover, and each "
                                          "failover may lose locks that are held"
                                        : "");
    if (out->grade != FINDING_FINE)
        finding_advise(out, "CONFIG SET cluster-node-timeout 5000 on all nodes, and the same in "
                            "their configuration");
    return true;
}

/* How grants reach waiters. */
static bool judge_messages(const lk_facts *facts, finding *out) {
    finding_set(out, FINDING_FINE,
                "each grant to a waiter is published on its node, which tells all other nodes: "
                "the more nodes, the more traffic between them");
    return facts->shard_count > 0;
}

/* ------------------------------------------------------------------------------ each shard */

static void describe_shard(const lk_shard_facts *shard, int64_t well, finding *out) {
    static const char stops[] = ": if this master fails, nobody can acquire its locks";
    bool is_connected = shard->master->replicas != 0;
    if (shard->replicas == 0) {
        finding_set(out, FINDING_NOTE, "%s, with the slots %s, has no replica%s",
                    shard->master->server, shard->slots, stops);
        finding_advise(out, "add a replica: redis-cli --cluster add-node, with --cluster-slave");
    } else if (shard->replicas_down) {
        finding_set(out, FINDING_NOTE,
                    "%s, with the slots %s: %" PRId64 " of its %" PRId64 " replicas are down%s",
                    shard->master->server, shard->slots, shard->replicas_down, shard->replicas,
                    well > 0 ? "" : stops);
        finding_advise(out, "start the replicas that are down");
    } else if (!is_connected) {
        finding_set(out, FINDING_NOTE, "%s, with the slots %s: none of its replicas is connected%s",
                    shard->master->server, shard->slots, stops);
        finding_advise(out, "look at the network between the master and its replicas");
    }
}

static void judge_shards(const lk_facts *facts, finding_sink *sink, void *arg) {
    size_t safe = 0;
    for (size_t i = 0; i < facts->shard_count; i++) {
        const lk_shard_facts *shard = &facts->shards[i];
        finding found = {.name = "replicas", .server = shard->master->server};
        int64_t well = shard->replicas - shard->replicas_down;
        finding_figure_add(&found, "replicas", shard->replicas);
        finding_figure_add(&found, "replicas_down", shard->replicas_down);
        if (well > 0 && shard->replicas_down == 0 && shard->master->replicas != 0) {
            safe++;
            continue;
        }
        describe_shard(shard, well, &found);
        sink(&found, arg);
    }
    if (safe == 0)
        return;
    finding found = {.name = "replicas", .server = facts->server};
    finding_set(&found, FINDING_FINE, "%zu of %zu shards have replicas that are well", safe,
                facts->shard_count);
    sink(&found, arg);
}

/* ------------------------------------------------------------------------------ masters */

/* Judges one check on the master of shard `i`. False: it did not answer, or the check is not for it. */
static bool judge_one(const lk_facts *facts, size_t i, const doctor_check *check, finding *out) {
    const lk_facts *master = facts->shards[i].master;
    *out = (finding){.name = check->name, .server = master->server};
    return master->answered == LK_YES && check->judge(master, FOUND_IN_CLUSTER, out);
}

/* Masters that differ: those that are not fine by themselves, the others together. */
static void judge_differing(const lk_facts *facts, const doctor_check *check, finding_sink *sink,
                            void *arg) {
    finding one, example = {.name = NULL};
    size_t fine = 0;
    for (size_t i = 0; i < facts->shard_count; i++) {
        if (!judge_one(facts, i, check, &one))
            continue;
        if (one.grade != FINDING_FINE) {
            finding_prefix(&one, "%s: ", one.server);
            sink(&one, arg);
        } else if (fine++ == 0) {
            example = one;
        }
    }
    if (!fine)
        return;
    finding_prefix(&example, "%zu masters are fine, for example %s: ", fine, example.server);
    example.server = facts->server;
    sink(&example, arg);
}

static void judge_on_masters(const lk_facts *facts, const doctor_check *check, finding_sink *sink,
                             void *arg) {
    finding first, one;
    size_t count = 0;
    bool same = true;
    for (size_t i = 0; i < facts->shard_count; i++)
        if (judge_one(facts, i, check, &one)) {
            if (count++ == 0)
                first = one;
            same = same && finding_is_same(&first, &one);
        }
    if (count > 1 && !same) {
        judge_differing(facts, check, sink, arg);
    } else if (count) {
        if (count > 1) {
            finding_prefix(&first, "all %zu masters: ", count);
            first.server = facts->server;
        } else {
            finding_prefix(&first, "%s: ", first.server);
        }
        sink(&first, arg);
    }
}

void doctor_judge_cluster(const lk_facts *facts, finding_sink *sink, void *arg) {
    static const struct {
        const char *name;
        bool (*judge)(const lk_facts *, finding *);
    } checks[] = {{"nodes", judge_seeds},          {"state", judge_state},
                  {"coverage", judge_coverage},    {"open-slots", judge_open_slots},
                  {"node-timeout", judge_timeout}, {"messages", judge_messages}};
    finding found;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        found = (finding){.name = checks[i].name, .server = facts->server};
        if (checks[i].judge(facts, &found))
            sink(&found, arg);
    }
    judge_shards(facts, sink, arg);
    for (size_t i = 0; i < facts->shard_count; i++)
        if (doctor_judge_reach(facts->shards[i].master, &found))
            sink(&found, arg);
    for (const doctor_check *check = doctor_checks; check->name; check++)
        judge_on_masters(facts, check, sink, arg);
}
