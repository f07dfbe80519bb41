/* See checks.h. */
#include "checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLACK_MS = 1000 }; /* allowed on a busy machine, beyond the lease of the dead writer */

/* From start_us to end_us the lock was certainly held. */
typedef struct {
    const actor *by;
    const turn *of;
    bool writes;
    int64_t start_us, end_us;
} hold;

/* All holds, in the order of their start. */
typedef struct {
    const record *shared;
    int count, writes;
    hold all[ACTORS * TURNS_MOST];
} history;

static int by_start(const void *left, const void *right) {
    const hold *a = left, *b = right;
    return (a->start_us > b->start_us) - (a->start_us < b->start_us);
}

static history *history_new(const record *shared) {
    history *past = calloc(1, sizeof *past);
    if (!past)
        abort();
    past->shared = shared;
    for (int i = 0; i < ACTORS; i++) {
        const actor *by = &shared->actors[i];
        for (int t = 0; t < atomic_load(&by->turn_count); t++) {
            const turn *of = &by->turns[t];
            if (turn_phase(of) < PHASE_HELD)
                continue;
            bool writes = by->mode == LK_WRITE;
            past->all[past->count++] =
                (hold){by, of, writes, of->granted_us, turn_end_us(shared, of, of->granted_us)};
            past->writes += writes;
        }
    }
    qsort(past->all, (size_t)past->count, sizeof *past->all, by_start);
    return past;
}

__attribute__((format(printf, 2, 3))) static finding found(bool fine, const char *format, ...) {
    finding result = {.fine = fine};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result.text, sizeof result.text, format, arguments);
    va_end(arguments);
    return result;
}

static bool overlap(const hold *a, const hold *b) {
    return a->start_us < b->end_us && b->start_us < a->end_us;
}

static finding writers_alone(const history *past) {
    int pairs = 0, overlaps = 0;
    for (int i = 0; i < past->count; i++)
        for (int j = i + 1; j < past->count; j++) {
            const hold *a = &past->all[i], *b = &past->all[j];
            if (!a->writes && !b->writes)
                continue;
            pairs++;
            overlaps += overlap(a, b);
        }
    return found(overlaps == 0 && pairs > 0,
                 "a writer had the lock alone: %d of %d pairs with a writer overlapped", overlaps,
                 pairs);
}

static finding readers_together(const history *past) {
    int overlaps = 0;
    for (int i = 0; i < past->count; i++)
        for (int j = i + 1; j < past->count; j++)
            overlaps += !past->all[i].writes && !past->all[j].writes &&
                        overlap(&past->all[i], &past->all[j]);
    return found(overlaps > 0, "readers shared the lock: %d pairs of reads overlapped", overlaps);
}

/*
 * Compares only certain cases: one request was seen in the queue before the other was made. Two
 * readers may be granted together, and may record that in either order.
 */
static finding in_order(const history *past) {
    int pairs = 0, overtaken = 0;
    for (int i = 0; i < past->count; i++)
        for (int j = 0; j < past->count; j++) {
            const hold *first = &past->all[i], *second = &past->all[j];
            int64_t seen_us = first->of->seen_in_queue_us;
            if (seen_us == 0 || seen_us >= second->of->asked_us ||
                (!first->writes && !second->writes))
                continue;
            /* A request after the first grant cannot overtake it, so it does not count. */
            if (second->of->asked_us >= first->start_us)
                continue;
            pairs++;
            overtaken += first->start_us >= second->start_us;
        }
    return found(overtaken == 0 && pairs > 0,
                 "requests were served in order: %d of %d overtook a request already in the queue",
                 overtaken, pairs);
}

static finding tokens_rise(const history *past) {
    uint64_t last = 0;
    int wrong = 0;
    for (int i = 0; i < past->count; i++) {
        uint64_t fence = past->all[i].of->fence;
        if (past->all[i].writes) {
            wrong += fence <= last;
            last = fence;
        } else {
            wrong += fence < last;
        }
    }
    return found(wrong == 0 && past->writes > 1,
                 "tokens rose over all %d writes; no read had a lower token than the write before",
                 past->writes);
}

/* The first hold after the death; past->count if there is none. */
static int next_after_death(const history *past) {
    int i = 0;
    while (i < past->count && past->all[i].start_us <= past->shared->killed_us)
        i++;
    return i;
}

static finding went_on(const history *past) {
    int64_t killed_us = past->shared->killed_us;
    int next = next_after_death(past), died = next - 1;
    while (died >= 0 && !past->all[died].of->last)
        died--;
    if (killed_us == 0 || died < 0)
        return found(false, "no writer was killed while it held the lock");
    const char *who = past->all[died].by->label;
    double at = (double)(killed_us - past->shared->start_us) / 1e6;
    if (next == past->count)
        return found(false, "%s was killed at %.1f s, and nobody got the lock afterwards", who, at);
    int64_t later_ms = (past->all[next].start_us - killed_us) / 1000;
    return found(
        later_ms <= LEASE_MS + SLACK_MS,
        "%s was killed at %.1f s while it held the lock; %s got it %lld ms later (lease %d s)", who,
        at, past->all[next].by->label, (long long)later_ms, LEASE_MS / 1000);
}

/* Every holder after the death is told, until a writer has released the lock; no other is. */
static finding told_of_death(const history *past) {
    int told = 0, wrong = 0, next = next_after_death(past);
    bool due = false;
    for (int i = 0; i < past->count; i++) {
        if (i == next)
            due = true;
        wrong += past->all[i].of->abandoned != due;
        told += past->all[i].of->abandoned;
        if (due && past->all[i].writes)
            due = false;
    }
    return found(wrong == 0 && told > 0,
                 "lk_abandoned told %d holders of the death, up to the next writer, and no others",
                 told);
}

static finding all_had_turns(const history *past) {
    int fewest = TURNS_MOST, asked = 0;
    for (int i = 0; i < ACTORS; i++) {
        int turns = 0;
        for (int h = 0; h < past->count; h++)
            turns += past->all[h].by == &past->shared->actors[i];
        fewest = turns < fewest ? turns : fewest;
        asked += atomic_load(&past->shared->actors[i].turn_count);
    }
    return found(fewest > 0 && asked == past->count,
                 "every process got the lock at least %d times, and all %d requests were granted",
                 fewest, asked);
}

static finding nothing_lost(const history *past) {
    int lost = 0;
    for (int i = 0; i < past->count; i++)
        lost += turn_phase(past->all[i].of) != PHASE_DONE ? !past->all[i].of->last
                                                          : past->all[i].of->unlocked != LK_OK;
    return found(lost == 0,
                 "nobody else lost the lock: %d of %d holds ended without a normal release", lost,
                 past->count - 1);
}

static bool count_one(const char *name, void *arg) {
    (void)name;
    ++*(int *)arg;
    return true;
}

/* A lock without a known token has no key in the server. */
static finding nothing_left(const record *shared, lk_client *client) {
    int listed = 0;
    lk_info *info;
    if (lk_inspect(client, shared->lock_name, &info) != LK_OK)
        return found(false, "the server cannot be asked: %s", lk_last_error());
    size_t holders = info->holder_total, waiters = info->waiter_total;
    bool forgotten = info->fence == 0 && !info->abandoned;
    lk_info_free(info);
    if (lk_list(client, shared->lock_name, count_one, &listed) != LK_OK)
        return found(false, "the server cannot be asked: %s", lk_last_error());
    return found(holders == 0 && waiters == 0 && listed == 0 && forgotten,
                 "nothing is left in the server: %zu holders, %zu waiters, %s", holders, waiters,
                 forgotten && listed == 0 ? "no keys" : "BUT KEYS");
}

void checks_make(const record *shared, lk_client *client, finding out[CHECKS]) {
    history *past = history_new(shared);
    finding (*const checks[])(const history *) = {
        writers_alone, readers_together, in_order,      tokens_rise,
        went_on,       told_of_death,    all_had_turns, nothing_lost,
    };
    _Static_assert(sizeof checks / sizeof *checks + 1 == CHECKS, "one finding of each");
    for (int i = 0; i < CHECKS - 1; i++)
        out[i] = checks[i](past);
    out[CHECKS - 1] = nothing_left(shared, client);
    free(past);
}
