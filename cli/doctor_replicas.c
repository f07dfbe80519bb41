/* See doctor.h: the replicas of a server, and what a failover would lose. */
#include "doctor.h"

#include <inttypes.h>
#include <string.h>

/* A replica confirms what it has once a second. */
enum { LAG_MOST_S = 5, LAG_MOST_BYTES = 1024 * 1024 };

/* ------------------------------------------------------------------------------ replicas */

bool doctor_judge_replicas(const lk_facts *facts, doctor_way way, finding *out) {
    if (facts->replica == LK_YES || way == FOUND_IN_CLUSTER)
        return false;
    finding_figure_add(out, "replicas", facts->replicas);
    if (facts->local == LK_YES) {
        finding_set(out, FINDING_FINE, "none, and none needed: local: is for this machine only");
    } else if (facts->replicas < 0) {
        finding_set(out, FINDING_NOTE, "the server does not report its number of replicas");
    } else if (facts->replicas == 0 && way == FOUND_BY_SENTINELS) {
        finding_set(out, FINDING_NOTE,
                    "no replica is connected: the sentinels have no server to promote, and nobody "
                    "can acquire a lock while this one is away");
        finding_advise(out, "set up a replica (REPLICAOF there), or start it again");
    } else if (facts->replicas == 0) {
        finding_set(out, FINDING_NOTE,
                    "no replica is connected: nobody can acquire a lock while this server is away");
        finding_advise(out, "if you cannot accept that, set up a replica (REPLICAOF there) and "
                            "sentinels, and use redis+sentinel://");
    } else {
        finding_set(out, FINDING_FINE, "%" PRId64 " connected%s", facts->replicas,
                    way == FOUND_BY_URL ? "; if one becomes the master, programs follow only with "
                                          "redis+sentinel://"
                                        : "");
    }
    return true;
}

/* ------------------------------------------------------------------------------ lag */

static bool is_online(const lk_replica_facts *replica) {
    return strcmp(replica->state, "online") == 0;
}

static bool is_behind(const lk_replica_facts *replica) {
    return !is_online(replica) || replica->lag_s > LAG_MOST_S ||
           replica->lag_bytes > LAG_MOST_BYTES;
}

/* The one that would lose most. A replica that is not online has nothing to be sure of. */
static const lk_replica_facts *find_slowest(const lk_facts *facts) {
    const lk_replica_facts *slowest = &facts->replica_list[0];
    for (size_t i = 1; i < facts->replica_list_count; i++) {
        const lk_replica_facts *one = &facts->replica_list[i];
        if (is_online(one) != is_online(slowest)) {
            if (!is_online(one))
                slowest = one;
        } else if (one->lag_s > slowest->lag_s ||
                   (one->lag_s == slowest->lag_s && one->lag_bytes > slowest->lag_bytes)) {
            slowest = one;
        }
    }
    return slowest;
}

bool doctor_judge_lag(const lk_facts *facts, doctor_way way, finding *out) {
    (void)way;
    if (facts->replica == LK_YES || facts->replica_list_count == 0)
        return false;
    const lk_replica_facts *slowest = find_slowest(facts);
    finding_figure_add(out, "lag_bytes", slowest->lag_bytes);
    finding_figure_add(out, "lag_s", slowest->lag_s);
    if (!is_behind(slowest)) {
        finding_set(out, FINDING_FINE,
                    "no replica is more than %" PRId64 " bytes and %" PRId64
                    " s behind: a failover may lose locks that were granted in this time",
                    slowest->lag_bytes < 0 ? 0 : slowest->lag_bytes,
                    slowest->lag_s < 0 ? 0 : slowest->lag_s);
        return true;
    }
    if (is_online(slowest))
        finding_set(out, FINDING_NOTE,
                    "the replica %s is %" PRId64 " bytes and %" PRId64
                    " s behind: if it becomes the master now, locks that were granted in this "
                    "time are lost, and others can acquire them",
                    slowest->address, slowest->lag_bytes, slowest->lag_s);
    else
        finding_set(out, FINDING_NOTE,
                    "the replica %s does not have all data yet (its state is %s): until then it "
                    "cannot become the master",
                    slowest->address, slowest->state);
    finding_advise(out, is_online(slowest) ? "look at the network, the disk and the load of the "
                                             "replica"
                                           : "run doctor again when it is online");
    return true;
}

/* ------------------------------------------------------------------------------ min-replicas */

static int64_t count_good(const lk_facts *facts) {
    int64_t count = 0;
    for (size_t i = 0; i < facts->replica_list_count; i++)
        count += is_online(&facts->replica_list[i]) &&
                 facts->replica_list[i].lag_s <= facts->min_replicas_lag_s;
    return count;
}

/* The server never refuses a write: what does that mean for a master that is cut off? */
static void judge_unguarded(const lk_facts *facts, doctor_way way, finding *out) {
    if (way == FOUND_IN_CLUSTER) {
        finding_set(out, FINDING_FINE,
                    "min-replicas-to-write is 0: a master that is cut off from the other masters "
                    "stops by itself after cluster-node-timeout");
        return;
    }
    finding_set(out, FINDING_NOTE,
                "min-replicas-to-write is 0: a master that is cut off from its replicas goes on "
                "granting locks to the clients that still reach it, while %s another server that "
                "grants the same locks; set it on all servers, also in their configuration%s",
                way == FOUND_BY_SENTINELS ? "the sentinels promote" : "somebody promotes",
                facts->replicas == 1 ? "; with one replica, locks then stop while it is away" : "");
    finding_command(out, "CONFIG SET min-replicas-to-write 1");
}

bool doctor_judge_min_replicas(const lk_facts *facts, doctor_way way, finding *out) {
    if (facts->replica == LK_YES || facts->local == LK_YES ||
        (facts->replicas <= 0 && facts->min_replicas <= 0))
        return false;
    int64_t needed = facts->min_replicas, good = count_good(facts);
    finding_figure_add(out, "min_replicas", needed);
    if (needed < 0) {
        finding_set(out, FINDING_NOTE, "the server does not report min-replicas-to-write");
        finding_advise(out, "make sure that it is 1 or more; or grant the user CONFIG GET "
                            "(+config|get), so that doctor can tell");
        return true;
    }
    if (needed == 0) {
        judge_unguarded(facts, way, out);
        return true;
    }
    finding_figure_add(out, "max_lag_s", facts->min_replicas_lag_s);
    finding_figure_add(out, "good_replicas", good);
    if (good < needed) {
        finding_set(out, FINDING_WRONG,
                    "min-replicas-to-write is %" PRId64 ", and %" PRId64
                    " replicas are near enough: the server refuses writes, so no lock can be "
                    "acquired or released",
                    needed, good);
        finding_advise(out, "start the replicas that are missing; or lower min-replicas-to-write");
    } else {
        finding_set(out, good == needed ? FINDING_NOTE : FINDING_FINE,
                    "min-replicas-to-write is %" PRId64
                    ": a master that is cut off stops granting locks after %" PRId64 " s%s",
                    needed, facts->min_replicas_lag_s,
                    good == needed ? "; one replica less, and this one stops, too" : "");
        if (good == needed)
            finding_advise(out, "add a replica, if locks must go on while one is away");
    }
    return true;
}
