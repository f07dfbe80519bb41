/* See doctor.h: the sentinels of the URL, and what they say of the master. */
#include "doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    SENTINELS_LEAST = 3,
    DOWN_LEAST_MS = 1000,
    DOWN_MOST_MS = 30000,      /* the sentinels' own default */
    FAILOVER_MOST_MS = 180000, /* likewise */
};

/* What matters of all answers together. */
typedef struct {
    const lk_facts *facts;
    const lk_seed_facts *first; /* that knows the master; never NULL, since lk_examine() had one */
    int64_t named, answering, known;
} view;

static const lk_seed_facts *next_answer(const lk_facts *facts, const lk_seed_facts *one) {
    const lk_seed_facts *end = facts->seeds + facts->seed_count;
    for (one = one ? one + 1 : facts->seeds; one < end; one++)
        if (one->status == LK_OK)
            return one;
    return NULL;
}

static view look(const lk_facts *facts) {
    view self = {
        .facts = facts, .first = next_answer(facts, NULL), .named = (int64_t)facts->seed_count};
    for (const lk_seed_facts *one = self.first; one; one = next_answer(facts, one)) {
        self.answering++;
        if (one->others + 1 > self.known)
            self.known = one->others + 1;
    }
    return self;
}

static int64_t majority_of(int64_t count) {
    return count / 2 + 1;
}

/* ------------------------------------------------------------------------------ who answers */

static void judge_silent(const lk_facts *facts, finding_sink *sink, void *arg) {
    for (size_t i = 0; i < facts->seed_count; i++) {
        const lk_seed_facts *one = &facts->seeds[i];
        finding found = {.name = "sentinel", .server = one->server};
        if (one->status == LK_OK)
            continue;
        finding_set(&found, FINDING_NOTE, "%s", one->error);
        finding_advise(&found, one->status == LK_UNAVAILABLE
                                   ? "start it, or leave it out of the URL"
                                   : "set it up as the others, or leave it out of the URL");
        sink(&found, arg);
    }
}

/* Whether all sentinels that can tell say that they reach too few of the others. */
static bool is_without_quorum(const lk_facts *facts) {
    bool any = false;
    for (const lk_seed_facts *one = next_answer(facts, NULL); one; one = next_answer(facts, one)) {
        if (one->can_fail_over == LK_YES)
            return false;
        any = any || one->can_fail_over == LK_NO;
    }
    return any;
}

static bool judge_count(const view *self, finding *out) {
    static const char nobody[] = "if the master fails, no other server takes its place, and nobody "
                                 "can acquire a lock";
    int64_t silent = self->named - self->answering, majority = majority_of(self->known);
    finding_figure_add(out, "named", self->named);
    finding_figure_add(out, "answering", self->answering);
    finding_figure_add(out, "known", self->known);
    if (self->known - silent < majority) {
        finding_set(out, FINDING_WRONG,
                    "%" PRId64 " of %" PRId64 " sentinels of the URL answer, and a failover needs "
                    "%" PRId64 " of %" PRId64 ": %s",
                    self->answering, self->named, majority, self->known, nobody);
        finding_advise(out, "start the sentinels that are missing; SENTINEL SENTINELS lists them");
        return true;
    }
    /* A quorum that is never reached is a finding of its own. */
    if (self->first->quorum <= self->known && is_without_quorum(self->facts)) {
        finding_set(out, FINDING_WRONG,
                    "the sentinels reach too few of each other for a failover: %s", nobody);
        finding_advise(out, "start the sentinels that are missing, and look at the network between "
                            "them; SENTINEL SENTINELS lists them");
        return true;
    }
    bool is_alone = self->named == 1 && self->known > 1;
    finding_set(
        out, self->known < SENTINELS_LEAST || is_alone ? FINDING_NOTE : FINDING_FINE,
        "%" PRId64 " of %" PRId64 " sentinels of the URL answer; they know %" PRId64 " in all%s",
        self->answering, self->named, self->known,
        self->known < SENTINELS_LEAST
            ? ": if one of them is away, no failover happens, and nobody can acquire a lock "
              "when the master fails"
        : is_alone ? ": if this one is away, programs do not find the master"
                   : "");
    if (self->known < SENTINELS_LEAST)
        finding_advise(out, "run three sentinels or more, on machines that fail independently");
    else if (is_alone)
        finding_advise(out, "name all sentinels in the URL");
    return true;
}

/* ------------------------------------------------------------------------------ the master */

static bool has_flag(const lk_seed_facts *one, const char *flag) {
    return strstr(one->flags, flag) != NULL;
}

static bool judge_disagreement(const view *self, finding *out) {
    const lk_facts *facts = self->facts;
    const lk_seed_facts *other = self->first;
    while (other && strcmp(other->master, self->first->master) == 0)
        other = next_answer(facts, other);
    if (!other)
        return false;
    finding_set(out, FINDING_WRONG,
                "the sentinels disagree: %s names %s (epoch %" PRIu64 "), %s names %s (epoch "
                "%" PRIu64 "): programs that ask different sentinels may use different servers, "
                "and hold the same lock",
                self->first->server, self->first->master, self->first->epoch, other->server,
                other->master, other->epoch);
    finding_advise(out, "a failover may be going on: run doctor again; if it stays so, look at the "
                        "network between the sentinels, and name all sentinels in each URL");
    return true;
}

static bool judge_master(const view *self, finding *out) {
    const lk_seed_facts *down = NULL, *differs = NULL;
    uint64_t epoch = self->first->epoch;
    for (const lk_seed_facts *one = self->first; one; one = next_answer(self->facts, one)) {
        if (has_flag(one, "_down") && !(down && has_flag(down, "o_down")))
            down = one;
        if (one->epoch != self->first->epoch)
            differs = one;
        epoch = one->epoch > epoch ? one->epoch : epoch;
    }
    finding_figure_add(out, "epoch", (int64_t)epoch);
    if (judge_disagreement(self, out))
        return true;
    if (down) {
        finding_set(out, has_flag(down, "o_down") ? FINDING_WRONG : FINDING_NOTE,
                    "%s says that the master %s is down (%s)%s", down->server, down->master,
                    down->flags,
                    has_flag(down, "o_down") ? ": a failover is about to begin"
                                             : ": if enough sentinels agree, a failover begins");
        finding_advise(out, "run doctor again; if it stays so, look at the network between that "
                            "sentinel and the master");
        return true;
    }
    finding_set(out, differs ? FINDING_NOTE : FINDING_FINE, "all name %s, epoch %" PRIu64 "%s",
                self->first->master, epoch,
                differs ? "; some have not heard of the last failover yet" : "");
    if (differs)
        finding_advise(out, "run doctor again; if it stays so, look at the network between the "
                            "sentinels");
    return true;
}

/* Replicas with replica-priority 0 are never promoted. */
static bool judge_priority(const view *self, finding *out) {
    if (self->first->promotable != 0 || self->first->replicas <= 0)
        return false;
    finding_set(out, FINDING_NOTE,
                "replica-priority is 0 on all %" PRId64 " replicas: sentinels promote none of "
                "them, and nobody can acquire a lock while the master is away",
                self->first->replicas);
    finding_advise(out, "CONFIG SET replica-priority 100 on a replica, and the same in its "
                        "configuration");
    return true;
}

/* ------------------------------------------------------------------------------ settings */

static int64_t get_quorum(const lk_seed_facts *one) {
    return one->quorum;
}

static int64_t get_down_after(const lk_seed_facts *one) {
    return one->down_after_ms;
}

static int64_t get_failover_timeout(const lk_seed_facts *one) {
    return one->failover_timeout_ms;
}

/* Sentinels keep their settings each for themselves. */
static bool judge_difference(const view *self, const char *setting,
                             int64_t (*get)(const lk_seed_facts *), finding *out) {
    for (const lk_seed_facts *one = self->first; one; one = next_answer(self->facts, one)) {
        if (get(one) == get(self->first))
            continue;
        finding_set(out, FINDING_NOTE,
                    "%s is %" PRId64 " at %s and %" PRId64 " at %s: what happens when the master "
                    "fails depends on which sentinel acts",
                    setting, get(self->first), self->first->server, get(one), one->server);
        finding_advise(out, "SENTINEL SET the same value on all sentinels");
        return true;
    }
    return false;
}

static bool judge_quorum(const view *self, finding *out) {
    int64_t quorum = self->first->quorum, known = self->known;
    if (quorum < 0)
        return false;
    finding_figure_add(out, "quorum", quorum);
    finding_figure_add(out, "sentinels", known);
    if (judge_difference(self, "quorum", get_quorum, out))
        return true;
    if (quorum > known) {
        finding_set(out, FINDING_WRONG,
                    "quorum is %" PRId64 " of %" PRId64 " sentinels: they never agree that the "
                    "master is down, so no other server takes its place",
                    quorum, known);
    } else if (quorum == 1 && known > 1) {
        finding_set(out, FINDING_NOTE,
                    "quorum is 1 of %" PRId64 ": one sentinel that does not reach the master is "
                    "enough to begin a failover, and each failover may lose locks that are held",
                    known);
    } else if (quorum > majority_of(known)) {
        finding_set(out, FINDING_NOTE,
                    "quorum is %" PRId64 " of %" PRId64 ": if %" PRId64 " of the sentinels are "
                    "away, no failover happens",
                    quorum, known, known - quorum + 1);
    } else {
        finding_set(out, FINDING_FINE,
                    "%" PRId64 " of %" PRId64 " sentinels must agree that the master is down",
                    quorum, known);
    }
    if (out->grade != FINDING_FINE)
        finding_advise(out, "SENTINEL SET the quorum to %" PRId64 ", on all sentinels",
                       majority_of(known));
    return true;
}

static bool judge_down_after(const view *self, finding *out) {
    int64_t ms = self->first->down_after_ms;
    if (ms < 0)
        return false;
    finding_figure_add(out, "down_after_ms", ms);
    if (judge_difference(self, "down-after-milliseconds", get_down_after, out))
        return true;
    if (ms < DOWN_LEAST_MS) {
        finding_set(out, FINDING_NOTE,
                    "down-after-milliseconds is %" PRId64 ": a short pause of the master begins a "
                    "failover, and a second one may follow within 2 s, to a server that has just "
                    "restarted without data: all locks are lost, and others can acquire them",
                    ms);
        finding_advise(out,
                       "SENTINEL SET down-after-milliseconds to 1000 or more, on all sentinels");
    } else {
        finding_set(out, ms > DOWN_MOST_MS ? FINDING_NOTE : FINDING_FINE,
                    "when the master fails, nobody can acquire a lock for about %.1f s, until the "
                    "sentinels notice (down-after-milliseconds), and for the failover itself",
                    (double)ms / 1e3);
        if (ms > DOWN_MOST_MS)
            finding_advise(out, "SENTINEL SET a shorter down-after-milliseconds, such as 5000, on "
                                "all sentinels");
    }
    return true;
}

static bool judge_failover(const view *self, finding *out) {
    int64_t ms = self->first->failover_timeout_ms;
    if (ms < 0)
        return false;
    finding_figure_add(out, "failover_timeout_ms", ms);
    if (judge_difference(self, "failover-timeout", get_failover_timeout, out))
        return true;
    finding_set(out, ms > FAILOVER_MOST_MS ? FINDING_NOTE : FINDING_FINE,
                "a failover that fails is tried again after %.0f s (twice the failover-timeout)",
                2 * (double)ms / 1e3);
    if (ms > FAILOVER_MOST_MS)
        finding_advise(out, "SENTINEL SET a shorter failover-timeout, such as 60000, on all "
                            "sentinels");
    return true;
}

void doctor_judge_sentinels(const lk_facts *facts, finding_sink *sink, void *arg) {
    static const struct {
        const char *name;
        bool (*judge)(const view *, finding *);
    } checks[] = {{"sentinels", judge_count},       {"master", judge_master},
                  {"priority", judge_priority},     {"quorum", judge_quorum},
                  {"down-after", judge_down_after}, {"failover", judge_failover}};
    view self = look(facts);
    judge_silent(facts, sink, arg);
    for (size_t i = 0; self.first && i < sizeof checks / sizeof *checks; i++) {
        finding found = {.name = checks[i].name, .server = facts->server};
        if (checks[i].judge(&self, &found))
            sink(&found, arg);
    }
}
