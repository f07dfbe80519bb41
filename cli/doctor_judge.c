/* See doctor.h: the checks of one server, in the order in which they are shown. */
#include "doctor.h"

#include <string.h>

/* Clocks may differ by this, plus the error of the measurement. */
static const int64_t clock_tolerance_us = 100 * 1000;
/* Such a clock is not synchronized at all, and will confuse other programs too. */
static const int64_t clock_wrong_us = 10 * 1000 * 1000;
/* A longer round trip limits the throughput of a busy lock. */
static const int64_t slow_us = 20 * 1000;

/* Each of these returns false if the check does not apply. */

static bool judge_version(const lk_facts *facts, doctor_way way, finding *out) {
    (void)way;
    if (facts->supported == LK_UNKNOWN) {
        finding_set(out, FINDING_NOTE, "the server does not report its version");
        finding_advise(out, "make sure that it is Redis 6.2 or newer, or Valkey");
        return true;
    }
    finding_set(out, facts->supported == LK_YES ? FINDING_FINE : FINDING_WRONG, "%s %s%s",
                facts->kind, facts->version,
                facts->supported == LK_YES ? "" : ": too old for locks");
    if (facts->supported == LK_NO)
        finding_advise(out, "install Redis 6.2 or newer, or Valkey");
    return true;
}

static bool judge_role(const lk_facts *facts, doctor_way way, finding *out) {
    if (facts->replica == LK_YES) {
        finding_set(out, FINDING_WRONG,
                    "it is a replica: it refuses writes, so no lock can be acquired");
        finding_advise(out, way == FOUND_BY_URL
                                ? "use the address of its master (INFO replication: master_host, "
                                  "master_port), or redis+sentinel:// with its sentinels"
                                : "a failover may be going on: run doctor again");
    } else {
        finding_set(out, facts->replica == LK_NO ? FINDING_FINE : FINDING_NOTE, "%s",
                    facts->replica == LK_NO ? "it is a master"
                                            : "the server does not report whether it is a master");
    }
    return true;
}

static bool judge_eviction(const lk_facts *facts, doctor_way way, finding *out) {
    (void)way;
    if (!*facts->eviction) {
        finding_set(out, FINDING_NOTE, "the server does not report its maxmemory-policy");
        finding_advise(out, "make sure that it is noeviction");
    } else if (strcmp(facts->eviction, "noeviction") == 0) {
        finding_set(out, FINDING_FINE,
                    "maxmemory-policy is noeviction: a full server does not drop locks");
    } else {
        bool is_bounded = facts->maxmemory != 0;
        finding_set(out, is_bounded ? FINDING_WRONG : FINDING_NOTE,
                    "maxmemory-policy is %s: a full server drops locks while they are held, and "
                    "others can acquire them%s",
                    facts->eviction,
                    is_bounded ? "" : "; with maxmemory 0, as now, the server is never full");
        finding_advise(out, "CONFIG SET maxmemory-policy noeviction, and the same in the server's "
                            "configuration; or use a separate server for locks");
    }
    return true;
}

static bool judge_persistence(const lk_facts *facts, doctor_way way, finding *out) {
    (void)way;
    static const char switch_on[] =
        "CONFIG SET appendonly yes, and the same in the server's configuration";
    if (facts->aof == LK_YES) {
        finding_set(out, FINDING_FINE, "the append-only file is on: locks survive a restart");
    } else if (facts->rdb == LK_YES) {
        finding_set(out, FINDING_NOTE,
                    "snapshots only: locks survive a clean restart, but a crash loses those "
                    "acquired since the last snapshot, and others can acquire them");
        finding_advise(out, "%s", switch_on);
    } else if (facts->aof == LK_UNKNOWN) {
        finding_set(out, FINDING_NOTE,
                    "the server does not report whether it keeps its data on disk");
        finding_advise(out, "make sure that appendonly is yes");
    } else if (facts->rdb == LK_UNKNOWN) {
        finding_set(out, FINDING_NOTE,
                    "the append-only file is off, and the server does not report whether it "
                    "takes snapshots: a restart may lose all locks");
        finding_advise(out,
                       "%s; or grant the user CONFIG GET (+config|get), so that doctor can tell",
                       switch_on);
    } else {
        finding_set(out, FINDING_WRONG,
                    "nothing is kept on disk: a restart loses all locks, and others can acquire "
                    "those that are still held");
        finding_advise(out, "%s", switch_on);
    }
    return true;
}

static bool judge_clock(const lk_facts *facts, doctor_way way, finding *out) {
    (void)way;
    if (facts->clock_known != LK_YES) {
        finding_set(out, FINDING_NOTE, "the server does not report its clock (TIME)");
        return true;
    }
    int64_t offset_us = facts->clock_offset_us;
    int64_t away_us = offset_us < 0 ? -offset_us : offset_us;
    double away_ms = (double)away_us / 1e3, error_ms = (double)facts->clock_error_us / 1e3;
    if (away_us <= facts->clock_error_us + clock_tolerance_us) {
        finding_set(out, FINDING_FINE,
                    "%.2f ms from the clock of this machine (measured within %.2f ms)", away_ms,
                    error_ms);
        return true;
    }
    finding_set(
        out, away_us > facts->clock_error_us + clock_wrong_us ? FINDING_WRONG : FINDING_NOTE,
        "%.1f ms %s the clock of this machine (measured within %.2f ms): one of the two clocks is "
        "wrong; leases do not depend on the difference, but fencing tokens start from the server's "
        "clock after the server has lost its data",
        away_ms, offset_us < 0 ? "behind" : "ahead of", error_ms);
    finding_advise(out, "synchronize both clocks with NTP (chrony, systemd-timesyncd)");
    return true;
}

static bool judge_module(const lk_facts *facts, doctor_way way, finding *out) {
    (void)way;
    finding_set(out, FINDING_FINE, "%s",
                facts->module == LK_YES ? "latchkey's module is loaded"
                                        : "not loaded, and not needed: locks run as scripts");
    return true;
}

static bool judge_round_trip(const lk_facts *facts, doctor_way way, finding *out) {
    (void)way;
    bool slow = facts->round_trip_us > slow_us;
    finding_set(out, slow ? FINDING_NOTE : FINDING_FINE, "%.3f ms%s",
                (double)facts->round_trip_us / 1e3,
                slow ? ": every acquire and release takes at least this long" : "");
    if (slow)
        finding_advise(out, "use a server that is closer");
    return true;
}

/* A master that sentinels or a cluster name, and that did not answer. */
bool doctor_judge_reach(const lk_facts *facts, finding *out) {
    if (facts->answered != LK_NO)
        return false;
    *out = (finding){.name = "reach", .server = facts->server};
    finding_set(out, FINDING_WRONG, "the master does not answer: nobody can acquire its locks: %s",
                facts->error);
    finding_advise(out,
                   "start it, or wait for the failover and run doctor again; if other machines "
                   "reach it, look at the network and the login of this one");
    return true;
}

const doctor_check doctor_checks[] = {
    {"version", judge_version},
    {"mode", doctor_judge_mode},
    {"role", judge_role},
    {"eviction", judge_eviction},
    {"persistence", judge_persistence},
    {"replicas", doctor_judge_replicas},
    {"lag", doctor_judge_lag},
    {"min-replicas", doctor_judge_min_replicas},
    {"clock", judge_clock},
    {"rights", doctor_judge_rights},
    {"commands", doctor_judge_commands},
    {"module", judge_module},
    {"round-trip", judge_round_trip},
    {NULL, NULL},
};

/*
 * A sentinel keeps no locks, so all that matters is what it is. What the role and the replicas of a
 * node of a cluster mean is told for the URL of the cluster.
 */
static bool applies(const lk_facts *facts, doctor_way way, const doctor_check *check) {
    if (strcmp(facts->mode, "sentinel") == 0)
        return check->judge == judge_version || check->judge == doctor_judge_mode;
    if (strcmp(facts->mode, "cluster") == 0 && way == FOUND_BY_URL)
        return check->judge != judge_role && check->judge != doctor_judge_replicas &&
               check->judge != doctor_judge_lag && check->judge != doctor_judge_min_replicas;
    return true;
}

static void judge_server(const lk_facts *facts, doctor_way way, finding_sink *sink, void *arg) {
    finding found;
    if (doctor_judge_reach(facts, &found)) {
        sink(&found, arg);
        return;
    }
    for (const doctor_check *check = doctor_checks; check->name; check++) {
        found = (finding){.name = check->name, .server = facts->server};
        if (applies(facts, way, check) && check->judge(facts, way, &found))
            sink(&found, arg);
    }
}

void doctor_judge(const lk_facts *facts, finding_sink *sink, void *arg) {
    if (facts->shard_count || (facts->seed_count && strcmp(facts->mode, "cluster") == 0)) {
        doctor_judge_cluster(facts, sink, arg);
    } else if (facts->seed_count) {
        doctor_judge_sentinels(facts, sink, arg);
        judge_server(facts, FOUND_BY_SENTINELS, sink, arg);
    } else {
        judge_server(facts, FOUND_BY_URL, sink, arg);
    }
}
