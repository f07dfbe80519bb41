/* See round.h. */
#include "round.h"

#include "checks.h"
#include "draw.h"
#include "litter.h"
#include "test_memory.h"
#include "waiting.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SHORT_MS = 400,
    MIDDLE_MS = 1500,
    LONG_MS = 600000,     /* no hold expires during a round: one that is left was forgotten */
    PERISHABLE_MS = 4000, /* in its place, where holds may be left */
    GRANTS_TO_GO_ON = 20,
    QUIET_MS = 1200,
    CALLS_A_SECOND = 20000,
    SETTLE_MOST_MS = 60000
};

/* A new master of these locks (a bit for each), from its first moment to the next fault. */
typedef struct {
    history_span span;
    unsigned locks;
} service;

typedef struct {
    site *servers;
    const nemesis *cause;
    const round_settings *settings;
    round_result *result;
    history *past;
    journal *notes;
    store *cells;
    crew *clients;
    attack how;
    history_span *faults; /* each from before its beginning to after its end */
    size_t fault_count;
    history_span *surprises; /* in which a failover came that the harness did not make */
    size_t surprise_count;
    int64_t generation, generation_ns; /* of the site, when the harness last looked */
    int64_t calm_ns;                   /* when the last fault was over */
    service *services;                 /* of each failover that the harness made */
    size_t service_count;
} scene;

size_t round_violations(const round_result *result) {
    return result->exclusion + result->fences + result->store + result->order + result->forgotten +
           result->litter + result->statuses;
}

/* ------------------------------------------------------------------------------ begin and end */

static journal_settings settings_for(const scene *self) {
    bool single = site_get_kind(self->servers) == SITE_SINGLE;
    int64_t long_ms = self->cause->leaves_holds ? PERISHABLE_MS : LONG_MS;
    return (journal_settings){.leases_ms = {SHORT_MS, long_ms, MIDDLE_MS, MIDDLE_MS, MIDDLE_MS},
                              .longest_hold_ms = single ? 300 : 3000,
                              .command_timeout_ms = single ? 1000 : 4000,
                              .min_replicas = self->settings->min_replicas,
                              .seed = self->settings->seed};
}

static bool begin(scene *self) {
    const char *urls[CREW_SIZE];
    journal_settings settings = settings_for(self);
    size_t room = CALLS_A_SECOND * (size_t)(10 + self->settings->ms / 1000);
    self->past = history_new(room);
    self->notes = journal_new(room, &settings);
    self->cells = store_new(room);
    for (unsigned i = 0; i < CREW_SIZE; i++)
        urls[i] = site_url(self->servers, i);
    self->clients = crew_start(self->past, self->notes, self->cells, urls);
    self->how =
        (attack){.servers = self->servers, .clients = self->clients, .seed = self->settings->seed};
    self->generation = site_generation(self->servers);
    self->generation_ns = history_now_ns();
    return self->clients != NULL;
}

static void end(scene *self) {
    crew_free(self->clients);
    history_free(self->past);
    journal_free(self->notes);
    store_free(self->cells);
    free(self->faults);
    free(self->surprises);
    free(self->services);
}

/* ------------------------------------------------------------------------------ the faults */

static void add_span(history_span **spans, size_t *count, int64_t from_ns) {
    *spans = test_grow(*spans, *count, sizeof **spans);
    (*spans)[(*count)++] = (history_span){from_ns, history_now_ns()};
}

/* A machine that stalls is enough for the servers to begin a failover of their own. */
static void look_for_surprise(scene *self) {
    int64_t generation = site_generation(self->servers);
    if (generation != self->generation) {
        add_span(&self->surprises, &self->surprise_count, self->generation_ns);
        self->result->failovers++;
    }
    self->generation = generation;
    self->generation_ns = history_now_ns();
}

static void note_service(scene *self) {
    service next = {.span = {self->how.served_ns, INT64_MAX}};
    for (unsigned i = 0; i < JOURNAL_LOCKS; i++)
        if (site_owner(self->servers, journal_locks[i].name) == self->how.successor)
            next.locks |= 1U << i;
    self->services = test_grow(self->services, self->service_count, sizeof *self->services);
    self->services[self->service_count++] = next;
}

static bool strike(scene *self) {
    const nemesis *cause = self->cause;
    int length_ms = cause->longest_ms - cause->shortest_ms;
    look_for_surprise(self);
    int64_t from_ns = history_now_ns();
    if (self->service_count)
        self->services[self->service_count - 1].span.to_ns = from_ns;
    bool worked = !cause->begin || cause->begin(&self->how);
    usleep((useconds_t)(cause->shortest_ms + (length_ms ? draw(&self->how.seed, length_ms) : 0)) *
           1000);
    if (cause->end && !cause->end(&self->how))
        worked = false;
    add_span(&self->faults, &self->fault_count, from_ns);
    if (getenv("FAULTS_TRACE"))
        fprintf(stderr, "fault %s from %" PRId64 " to %" PRId64 " ns\n", cause->name, from_ns,
                history_now_ns());
    self->result->faults += cause->begin != NULL;
    if (cause->fails_over) {
        note_service(self);
        self->result->failovers++;
        self->generation = site_generation(self->servers);
        self->generation_ns = history_now_ns();
    }
    usleep((useconds_t)draw(&self->how.seed, 200) * 1000);
    return worked;
}

static bool strike_for_a_while(scene *self) {
    int64_t end_ms = test_wait_end(self->settings->ms);
    do
        if (!strike(self))
            return false;
    while (test_wait_on(end_ms));
    return true;
}

/* ------------------------------------------------------------------------------ after them */

/* The clients go on: locks are granted, on locks that are free of the dead. */
static bool goes_on(scene *self) {
    size_t before = journal_count(self->notes).grants;
    int64_t end_ms = test_wait_end(self->settings->limit_ms);
    while (journal_count(self->notes).grants < before + GRANTS_TO_GO_ON)
        if (!test_wait_on(end_ms))
            return false;
    usleep(QUIET_MS * 1000);
    return true;
}

static bool was_killed(unsigned worker, const void *clients) {
    return crew_killed(clients, worker);
}

static void end_clients(scene *self) {
    round_result *result = self->result;
    history_end(self->past);
    if (!crew_wait(self->clients, self->settings->limit_ms)) {
        size_t count;
        const journal_call *calls = journal_calls(self->notes, &count);
        result->forgotten += check_forgotten(calls, count, was_killed, self->clients, stderr);
        if (!result->forgotten) {
            fprintf(stderr, "a client does not end\n");
            result->forgotten++;
        }
    }
    result->statuses += crew_crashes(self->clients);
}

/* ------------------------------------------------------------------------------ judging */

/* Of faults and of failovers that came by themselves. To be freed. */
static history_span *join_spans(const scene *self, bool faults, bool surprises, size_t *count) {
    history_span *spans = test_alloc(self->fault_count + self->surprise_count + 1, sizeof *spans);
    *count = 0;
    for (size_t i = 0; faults && i < self->fault_count; i++)
        spans[(*count)++] = self->faults[i];
    for (size_t i = 0; surprises && i < self->surprise_count; i++)
        spans[(*count)++] = self->surprises[i];
    return spans;
}

static void measure_grants(scene *self, const history_hold *holds, size_t count) {
    size_t call_count;
    const journal_call *calls = journal_calls(self->notes, &call_count);
    for (size_t i = 0; i < self->service_count; i++)
        for (unsigned lock = 0; lock < JOURNAL_LOCKS; lock++) {
            int64_t ms = next_grant_within(calls, call_count, holds, count, lock,
                                           self->services[i].span);
            if ((self->services[i].locks >> lock & 1) && ms > self->result->grant_ms)
                self->result->grant_ms = ms;
        }
}

static void judge_holds(scene *self) {
    const nemesis *cause = self->cause;
    size_t count, replicas = site_replicas(self->servers);
    /* docs/GUARANTEES.md: every replica that can be promoted has what was granted. */
    bool covered = replicas && self->settings->min_replicas >= (int)replicas;
    history_rules rules = {.clock_went_back = cause->turns_back, .two_servers = replicas > 0};
    history_span *spans =
        join_spans(self, cause->forgets || cause->jumps || (cause->fails_over && !covered),
                   !covered, &rules.jump_count);
    rules.jumps = spans;
    history_hold *holds = history_read(self->past, &count);
    history_verdict verdict = history_check(holds, count, rules, stderr);
    self->result->exclusion = verdict.clashes;
    self->result->fences = verdict.old_fences;
    self->result->overlaps = verdict.excused;
    measure_grants(self, holds, count);
    free(holds);
    free(spans);
}

static void judge_order(scene *self) {
    order_evidence seen = {0};
    history_span *spans = join_spans(self, self->cause->moves_queue, true, &seen.fault_count);
    seen.faults = spans;
    seen.calls = journal_calls(self->notes, &seen.call_count);
    seen.sightings = journal_sightings(self->notes, &seen.sighting_count);
    seen.stalls = journal_stalls(self->notes, &seen.stall_count);
    self->result->order = check_order(&seen, stderr);
    self->result->recovery_ms = longest_wait_after(seen.calls, seen.call_count, self->calm_ns);
    free(spans);
}

static void judge(scene *self) {
    journal_counts counts = journal_count(self->notes);
    round_result *result = self->result;
    judge_holds(self);
    judge_order(self);
    for (unsigned i = 0; i < JOURNAL_LOCKS; i++) {
        size_t count;
        store_run *runs = store_read(self->cells, i, &count);
        result->store += check_store(runs, count, stderr);
        free(runs);
    }
    result->operations = counts.operations;
    result->grants = counts.grants;
    result->losses = counts.losses;
    result->statuses += counts.odd;
    result->late_writes = store_refused(self->cells);
}

/* ------------------------------------------------------------------------------ all of it */

static bool play(scene *self) {
    if (!begin(self) || !strike_for_a_while(self) ||
        !site_wait_until_settled(self->servers, SETTLE_MOST_MS))
        return false;
    self->calm_ns = history_now_ns();
    if (!goes_on(self)) {
        fprintf(stderr, "no lock is granted any more after the last fault\n");
        self->result->forgotten++;
    }
    end_clients(self);
    if (self->service_count)
        self->services[self->service_count - 1].span.to_ns = history_now_ns();
    look_for_surprise(self);
    judge(self);
    site_align_clocks(self->servers);
    self->result->litter =
        count_litter(self->servers, self->notes, self->settings->limit_ms, stderr);
    return true;
}

round_result round_run(site *servers, const nemesis *cause, const round_settings *settings) {
    round_result result = {.site = site_kind_name(site_get_kind(servers)),
                           .nemesis = cause->name,
                           .fails_over = cause->fails_over && !cause->jumps,
                           .min_replicas = settings->min_replicas,
                           .grant_ms = -1};
    scene self = {.servers = servers, .cause = cause, .settings = settings, .result = &result};
    result.failed = !play(&self);
    end(&self);
    return result;
}
