/* See report.h. */
#include "report.h"

#include <inttypes.h>
#include <string.h>

static const char head_format[] = "%-9s %-14s %3s %9s %7s %9s %7s %9s %8s %9s %9s %10s\n";
static const char row_format[] =
    "%-9s %-14s %3d %9zu %7zu %9zu %7zu %9zu %8zu %9" PRId64 " %9s %10zu%s\n";

void report_head(FILE *out) {
    fprintf(out, head_format, "topology", "fault", "min", "operations", "faults", "grants",
            "losses", "overlaps", "refused", "recovered", "granted", "violations");
    fprintf(out, head_format, "", "", "rep", "", "", "", "told", "allowed", "writes", "in ms",
            "in ms", "");
}

void report_round(FILE *out, const round_result *result) {
    const struct {
        const char *name;
        size_t count;
    } kinds[] = {{"exclusion", result->exclusion}, {"fences", result->fences},
                 {"store", result->store},         {"order", result->order},
                 {"forgotten", result->forgotten}, {"litter", result->litter},
                 {"statuses", result->statuses}};
    char granted[24] = "-";
    if (result->grant_ms >= 0)
        snprintf(granted, sizeof granted, "%" PRId64, result->grant_ms);
    fprintf(out, row_format, result->site, result->nemesis, result->min_replicas,
            result->operations, result->faults, result->grants, result->losses, result->overlaps,
            result->late_writes, result->recovery_ms, granted, round_violations(result),
            result->failed ? "  THE HARNESS FAILED" : "");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].count)
            fprintf(out, "    VIOLATION %s: %zu\n", kinds[i].name, kinds[i].count);
    fflush(out);
}

static void add(round_result *sum, const round_result *one) {
    sum->operations += one->operations;
    sum->faults += one->faults;
    sum->failovers += one->failovers;
    sum->grants += one->grants;
    sum->losses += one->losses;
    sum->overlaps += one->overlaps;
    sum->late_writes += one->late_writes;
    sum->exclusion += one->exclusion;
    sum->fences += one->fences;
    sum->store += one->store;
    sum->order += one->order;
    sum->forgotten += one->forgotten;
    sum->litter += one->litter;
    sum->statuses += one->statuses;
    if (one->recovery_ms > sum->recovery_ms)
        sum->recovery_ms = one->recovery_ms;
    if (one->grant_ms > sum->grant_ms)
        sum->grant_ms = one->grant_ms;
}

static bool is_alike(const round_result *a, const round_result *b) {
    return strcmp(a->site, b->site) == 0 && a->min_replicas == b->min_replicas;
}

static bool is_first_of_its_kind(const round_result *results, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (is_alike(&results[i], &results[index]))
            return false;
    return true;
}

void report_sums(FILE *out, const round_result *results, size_t count) {
    round_result all = {.site = "all", .nemesis = "", .grant_ms = -1};
    for (size_t i = 0; i < count; i++)
        add(&all, &results[i]);
    report_round(out, &all);
    for (size_t i = 0; i < count; i++) {
        round_result sum = {.site = results[i].site, .min_replicas = results[i].min_replicas};
        if (!is_first_of_its_kind(results, i))
            continue;
        for (size_t j = i; j < count; j++)
            if (is_alike(&results[i], &results[j]) && results[j].fails_over)
                add(&sum, &results[j]);
        if (sum.failovers)
            fprintf(out,
                    "%s, min_replicas %d: two clients held a lock at once %zu times in %zu "
                    "failovers; the store refused %zu late writes and took %zu\n",
                    sum.site, sum.min_replicas, sum.overlaps, sum.failovers, sum.late_writes,
                    sum.store);
    }
}
