/* See checks.h. */
#include "checks.h"

#include "test_memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TOLD_MOST = 5 };

/* A client may need so long after a fault to have its connections again. */
static const int64_t recovery_ns = INT64_C(2000000000);

static int compare(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

/* ------------------------------------------------------------------------------ order */

static bool was_granted(const journal_call *call) {
    return call->ended_ns && call->status == LK_OK && call->kind <= CALL_ASYNC &&
           journal_locks[call->lock].policy == LK_FAIR;
}

static int by_handle(const void *a, const void *b) {
    const journal_call *one = a, *other = b;
    int order = compare(one->handle, other->handle);
    return order ? order : compare(one->began_ns, other->began_ns);
}

static int by_lock(const void *a, const void *b) {
    const journal_call *one = a, *other = b;
    int order = compare(one->lock, other->lock);
    return order ? order : compare(one->began_ns, other->began_ns);
}

/* The calls that were granted, in order. */
static journal_call *sort_granted(const order_evidence *seen, size_t *count,
                                  int (*order)(const void *, const void *)) {
    journal_call *granted = test_alloc(seen->call_count + 1, sizeof *granted);
    *count = 0;
    for (size_t i = 0; i < seen->call_count; i++)
        if (was_granted(&seen->calls[i]))
            granted[(*count)++] = seen->calls[i];
    qsort(granted, *count, sizeof *granted, order);
    return granted;
}

/* The number of sorted calls that are before `key`, or (after_equal) not after it. */
static size_t count_before(const journal_call *calls, size_t count, const journal_call *key,
                           int (*order)(const void *, const void *)) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order(&calls[middle], key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * The call that waited when its handle was seen: it ran during the whole look, so the waiter is of
 * no other call of the handle, unless it waits for longer than this one.
 */
static const journal_call *find_waiting(const journal_call *calls, size_t count,
                                        const journal_sighting *sighting) {
    journal_call key = {.handle = sighting->handle, .began_ns = sighting->before_ns};
    size_t before = count_before(calls, count, &key, by_handle);
    const journal_call *call = before ? &calls[before - 1] : NULL;
    if (!call || call->handle != sighting->handle || call->lock != sighting->lock ||
        call->ended_ns < sighting->after_ns ||
        sighting->waited_ms > (sighting->after_ns - call->began_ns) / 1000000)
        return NULL;
    return call;
}

static bool is_excused(const order_evidence *seen, const journal_call *call) {
    for (size_t i = 0; i < seen->fault_count; i++)
        if (seen->faults[i].from_ns < call->ended_ns &&
            call->began_ns < seen->faults[i].to_ns + recovery_ns)
            return true;
    for (size_t i = 0; i < seen->stall_count; i++)
        if ((seen->stalls[i].worker == call->worker || seen->stalls[i].worker == STALL_OF_ALL) &&
            seen->stalls[i].from_ns < call->ended_ns && call->began_ns < seen->stalls[i].to_ns)
            return true;
    return false;
}

/* The fence of a write is above all before it; that of a read is not below a write before it. */
static bool was_granted_before(const journal_call *a, const journal_call *b) {
    if (a->mode == LK_WRITE)
        return b->mode == LK_WRITE ? a->fence < b->fence : a->fence <= b->fence;
    return b->mode == LK_WRITE && a->fence < b->fence;
}

/* The first call that began after `seen_ns` and was granted before the waiter; NULL: none. */
static const journal_call *find_overtaker(const journal_call *calls, size_t count,
                                          const journal_call *waiter, int64_t seen_ns) {
    journal_call key = {.lock = waiter->lock, .began_ns = seen_ns};
    for (size_t i = count_before(calls, count, &key, by_lock);
         i < count && calls[i].lock == waiter->lock && calls[i].began_ns < waiter->ended_ns; i++)
        if (calls[i].handle != waiter->handle && was_granted_before(&calls[i], waiter) &&
            !(calls[i].mode == LK_READ && waiter->mode == LK_READ))
            return &calls[i];
    return NULL;
}

static void tell_overtaken(FILE *out, size_t told, const journal_call *first,
                           const journal_call *second, const journal_sighting *sighting) {
    if (!out || told >= TOLD_MOST)
        return;
    fprintf(
        out,
        "lock %s: handle %u (%s, fence %" PRIu64 ") was seen waiting at %" PRId64
        " ns; handle %u (%s, fence %" PRIu64 ") began at %" PRId64 " ns and was granted first\n",
        journal_locks[first->lock].name, first->handle, first->mode == LK_WRITE ? "write" : "read",
        first->fence, sighting->after_ns, second->handle,
        second->mode == LK_WRITE ? "write" : "read", second->fence, second->began_ns);
}

size_t check_order(const order_evidence *seen, FILE *out) {
    size_t count, same, overtaken = 0;
    journal_call *handles = sort_granted(seen, &count, by_handle);
    journal_call *locks = sort_granted(seen, &same, by_lock);
    bool *judged = test_alloc(count + 1, sizeof *judged);
    for (size_t i = 0; i < seen->sighting_count; i++) {
        const journal_sighting *sighting = &seen->sightings[i];
        const journal_call *waiter = find_waiting(handles, count, sighting);
        /* The first look tells the most. */
        if (!waiter || judged[waiter - handles])
            continue;
        judged[waiter - handles] = true;
        if (is_excused(seen, waiter))
            continue;
        const journal_call *overtaker = find_overtaker(locks, same, waiter, sighting->after_ns);
        if (overtaker)
            tell_overtaken(out, overtaken++, waiter, overtaker, sighting);
    }
    free(judged);
    free(handles);
    free(locks);
    return overtaken;
}

/* ------------------------------------------------------------------------------ the store */

static int by_hold(const void *a, const void *b) {
    const store_run *one = a, *other = b;
    return compare(one->hold, other->hold);
}

size_t check_store(const store_run *runs, size_t count, FILE *out) {
    size_t late = 0;
    store_run *sorted = test_alloc(count + 1, sizeof *sorted);
    if (count)
        memcpy(sorted, runs, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_hold);
    for (size_t i = 1; i < count; i++)
        if (sorted[i].hold == sorted[i - 1].hold) {
            late++;
            if (out && late <= TOLD_MOST)
                fprintf(out,
                        "lock %s: the store took a late write of hold %u, with fence %" PRIu64 "\n",
                        journal_locks[sorted[i].lock].name, sorted[i].hold, sorted[i].fence);
        }
    free(sorted);
    return late;
}

/* ------------------------------------------------------------------------------ calls */

size_t check_forgotten(const journal_call *calls, size_t count, was_killed_fn *was_killed,
                       const void *context, FILE *out) {
    size_t forgotten = 0;
    for (size_t i = 0; i < count; i++) {
        const journal_call *call = &calls[i];
        if (!call->began_ns || call->ended_ns || was_killed(call->worker, context))
            continue;
        forgotten++;
        if (out && forgotten <= TOLD_MOST)
            fprintf(out,
                    "lock %s: a %s call (%s) of worker %u, handle %u, began at %" PRId64
                    " ns and has not returned\n",
                    journal_locks[call->lock].name, call_kind_name(call->kind),
                    call->mode == LK_WRITE ? "write" : "read", call->worker, call->handle,
                    call->began_ns);
    }
    return forgotten;
}

int64_t longest_wait_after(const journal_call *calls, size_t count, int64_t instant_ns) {
    int64_t longest_ns = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t waited_ns = calls[i].ended_ns - instant_ns;
        if (calls[i].ended_ns && calls[i].began_ns < instant_ns && waited_ns > longest_ns)
            longest_ns = waited_ns;
    }
    return longest_ns / 1000000;
}

static bool was_waiting(const journal_call *call, int64_t instant_ns) {
    return (call->kind == CALL_TIMED || call->kind == CALL_BLOCKING || call->kind == CALL_ASYNC) &&
           call->began_ns < instant_ns && call->ended_ns >= instant_ns;
}

/* When the holds of this instant were last valid; the instant itself: there are none. */
static int64_t held_until(const history_hold *holds, size_t count, unsigned lock,
                          int64_t instant_ns) {
    int64_t until_ns = instant_ns;
    for (size_t i = 0; i < count; i++)
        if (holds[i].lock == lock && holds[i].from_ns <= instant_ns && holds[i].to_ns > until_ns)
            until_ns = holds[i].to_ns;
    return until_ns;
}

int64_t next_grant_within(const journal_call *calls, size_t call_count, const history_hold *holds,
                          size_t hold_count, unsigned lock, history_span span) {
    int64_t until_ns = held_until(holds, hold_count, lock, span.from_ns), granted_ns = span.to_ns;
    bool is_wanted = false;
    for (size_t i = 0; i < call_count; i++) {
        const journal_call *call = &calls[i];
        if (call->lock != lock)
            continue;
        is_wanted = is_wanted || was_waiting(call, span.from_ns);
        if (call->kind <= CALL_UPGRADE && call->status == LK_OK && call->ended_ns >= span.from_ns &&
            call->ended_ns < granted_ns)
            granted_ns = call->ended_ns;
    }
    if (!is_wanted)
        return -1;
    return (granted_ns - (granted_ns > until_ns ? until_ns : span.from_ns)) / 1000000;
}
