/* See history_check.h. */
#include "history_check.h"

#include "test_memory.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TOLD_MOST = 5 };

static int compare(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int by_lock(const void *a, const void *b) {
    const history_hold *one = a, *other = b;
    int order = compare(one->lock, other->lock);
    return order ? order : compare(one->from_ns, other->from_ns);
}

static int by_lock_and_client(const void *a, const void *b) {
    const history_hold *one = a, *other = b;
    int order = compare(one->lock, other->lock);
    if (!order)
        order = compare(one->client, other->client);
    return order ? order : compare(one->from_ns, other->from_ns);
}

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void tell(FILE *out, size_t told, const char *what, const history_hold *a,
                 const history_hold *b) {
    const history_hold *both[] = {a, b};
    if (!out || told >= TOLD_MOST)
        return;
    fprintf(out, "lock %u: %s\n", a->lock, what);
    for (size_t i = 0; i < 2; i++)
        fprintf(out,
                "    client %u %s, fence %" PRIu64 ", asked %" PRId64 ", valid %" PRId64
                " to %" PRId64 " ns\n",
                both[i]->client, both[i]->writes ? "writes" : "reads", both[i]->fence,
                both[i]->asked_ns, both[i]->from_ns, both[i]->to_ns);
}

/* ------------------------------------------------------------------------------ clashes */

/* A read that has the fence of a write came after it. */
static bool was_granted_first(const history_hold *a, const history_hold *b) {
    return a->fence != b->fence ? a->fence < b->fence : a->writes;
}

/* The jump came while the first had the lock, and before the second could have it. */
static bool is_excused(const history_hold *a, const history_hold *b, const history_rules *rules) {
    const history_hold *first = was_granted_first(a, b) ? a : b, *second = first == a ? b : a;
    for (size_t i = 0; i < rules->jump_count; i++)
        if (first->asked_ns < rules->jumps[i].to_ns && rules->jumps[i].from_ns < second->from_ns)
            return true;
    return false;
}

static bool overlap(const history_hold *a, const history_hold *b) {
    return (a->writes || b->writes) && a->from_ns < b->to_ns && b->from_ns < a->to_ns;
}

static void judge_pair(const history_hold *a, const history_hold *b, const history_rules *rules,
                       history_verdict *verdict, FILE *out) {
    if (!overlap(a, b))
        return;
    if (is_excused(a, b, rules))
        verdict->excused++;
    else
        tell(out, verdict->clashes++, "two are valid at once", a, b);
}

static void count_clashes(const history_hold *holds, size_t count, const history_rules *rules,
                          history_verdict *verdict, FILE *out) {
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1;
             j < count && holds[j].lock == holds[i].lock && holds[j].from_ns < holds[i].to_ns; j++)
            judge_pair(&holds[i], &holds[j], rules, verdict, out);
}

/* ------------------------------------------------------------------------------ fences */

/* Of the holds up to one, in the order by from_ns: which have the greatest fences. */
typedef struct {
    const history_hold *any, *write;
} greatest;

static const history_hold *greater(const history_hold *a, const history_hold *b) {
    return !a || b->fence > a->fence ? b : a;
}

/* How many of the sorted holds were valid before that instant. */
static size_t count_before(const history_hold *holds, size_t count, int64_t instant_ns) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (holds[middle].from_ns < instant_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What the fence of a hold must be above, or (of a read) not below; NULL: nothing. */
static const history_hold *greatest_before(const history_hold *hold, const history_hold *holds,
                                           const greatest *so_far, size_t count,
                                           const history_rules *rules) {
    bool is_order_of_asking = rules->jump_count || rules->clock_went_back;
    size_t before = count_before(
        holds, count, is_order_of_asking ? hold->asked_ns : earlier(hold->from_ns, hold->to_ns));
    bool may_join_older = rules->clock_went_back || rules->two_servers;
    if (!before || (may_join_older && !hold->writes))
        return NULL;
    return hold->writes ? so_far[before - 1].any : so_far[before - 1].write;
}

/* Holds of one lock (and one client), sorted; `so_far` has room for them. */
static size_t count_old_fences(const history_hold *holds, size_t count, const history_rules *rules,
                               greatest *so_far, size_t told, FILE *out) {
    size_t old = 0;
    for (size_t i = 0; i < count; i++) {
        so_far[i] = i ? so_far[i - 1] : (greatest){NULL, NULL};
        so_far[i].any = greater(so_far[i].any, &holds[i]);
        if (holds[i].writes)
            so_far[i].write = greater(so_far[i].write, &holds[i]);
    }
    for (size_t i = 0; i < count; i++) {
        const history_hold *hold = &holds[i];
        const history_hold *before = greatest_before(hold, holds, so_far, count, rules);
        if (before && (hold->writes ? hold->fence <= before->fence : hold->fence < before->fence))
            tell(out, told + old++, "the fence of the second is too small", before, hold);
    }
    return old;
}

static size_t count_all_old_fences(const history_hold *holds, size_t count,
                                   const history_rules *rules, FILE *out) {
    greatest *so_far = test_alloc(count + 1, sizeof *so_far);
    size_t old = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && holds[end].lock == holds[i].lock &&
                      (!rules->clock_went_back || holds[end].client == holds[i].client);)
            end++;
        old += count_old_fences(holds + i, end - i, rules, so_far, old, out);
    }
    free(so_far);
    return old;
}

history_verdict history_check(history_hold *holds, size_t count, history_rules rules, FILE *out) {
    history_verdict verdict = {0};
    qsort(holds, count, sizeof *holds, by_lock);
    count_clashes(holds, count, &rules, &verdict, out);
    if (rules.clock_went_back)
        qsort(holds, count, sizeof *holds, by_lock_and_client);
    verdict.old_fences = count_all_old_fences(holds, count, &rules, out);
    return verdict;
}
