/* See server_cost_locks.h. */
#include "server_cost_locks.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FILL_STEP = 250, PROGRESS_FROM = 5000, RENEW_AFTER_MS = 4000 };

static uint64_t next_handle; /* no two populations share one */

static int64_t clock_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The server runs on this machine, by the same clock. */
static uint64_t floor_half_a_day_ahead(void) {
    return ((uint64_t)clock_ms(CLOCK_REALTIME) + 12 * 3600 * 1000) * 1000;
}

/* `readers: 2500 5000 7500 10000` */
static void show_progress(const char *what, size_t done, size_t all) {
    if (all < PROGRESS_FROM || (done % (PROGRESS_FROM / 2) != 0 && done != all))
        return;
    if (done <= PROGRESS_FROM / 2)
        fprintf(stderr, "%s:", what);
    fprintf(stderr, " %zu%s", done, done == all ? "\n" : "");
}

static const char *mode_of(bool reads) {
    return reads ? "read" : "write";
}

static void crowd_acquire(bench_crowd *crowd, bench_link *link, size_t at) {
    request_acquire(link,
                    (lock_request){&crowd->keys, &crowd->handles[at], crowd->next_req++, "read"},
                    crowd->fence - 1, "granted", NULL);
}

void crowd_fill(bench_crowd *crowd, bench_link *link, const char *name, size_t readers) {
    assert(readers > 0);
    *crowd = (bench_crowd){
        .keys = lock_keys_of(name, readers + GUESTS_MOST), .readers = readers, .next_req = 1};
    crowd->fence = floor_half_a_day_ahead() + 1;
    crowd->handles = test_alloc(readers + GUESTS_MOST, sizeof *crowd->handles);
    for (size_t i = 0; i < readers + GUESTS_MOST; i++)
        crowd->handles[i] = bench_handle_of(next_handle++);
    for (size_t i = 0; i < readers; i++) {
        crowd_acquire(crowd, link, i);
        if ((i + 1) % FILL_STEP == 0 || i + 1 == readers) {
            link_flush(link);
            show_progress("readers", i + 1, readers);
        }
    }
}

void crowd_clear(bench_crowd *crowd) {
    free(crowd->handles);
    *crowd = (bench_crowd){0};
}

void crowd_join(bench_crowd *crowd, bench_link *link) {
    assert(crowd->guests < GUESTS_MOST);
    crowd_acquire(crowd, link, crowd->readers + crowd->guests++);
}

void crowd_leave(bench_crowd *crowd, bench_link *link) {
    assert(crowd->guests > 0);
    const bench_handle *handle = &crowd->handles[crowd->readers + --crowd->guests];
    request_release(link, (lock_request){&crowd->keys, handle, crowd->next_req++, "read"},
                    crowd->fence);
}

/* A step that has no divisor in common with the usual numbers, and so visits all. */
static size_t next_of(size_t *cursor, size_t count) {
    *cursor = (*cursor + 7919) % count;
    return *cursor;
}

void crowd_renew_one(bench_crowd *crowd, bench_link *link) {
    const bench_handle *handle = &crowd->handles[next_of(&crowd->next_renewed, crowd->readers)];
    request_renew(link, &crowd->keys, &(renew_entry){handle, crowd->fence, 0}, 1, "lease");
}

static queue_slot *slot_at(bench_queue *queue, uint64_t turn) {
    return &queue->slots[turn % queue->slot_count];
}

static void queue_acquire(bench_queue *queue, bench_link *link, const char *answer) {
    queue_slot *slot = slot_at(queue, queue->last);
    slot->reads = queue->mixed && queue->last % 2 == 1;
    slot->req = queue->next_req++;
    request_acquire(link,
                    (lock_request){&queue->keys, &slot->handle, slot->req, mode_of(slot->reads)},
                    queue->floor, answer, NULL);
}

void queue_enqueue(bench_queue *queue, bench_link *link) {
    queue->last++;
    assert(queue->last - queue->first < queue->slot_count);
    queue_acquire(queue, link, "queued");
}

void queue_fill(bench_queue *queue, bench_link *link, const char *name, size_t waiters,
                bool mixed) {
    *queue = (bench_queue){
        .keys = lock_keys_of(name, 1 + waiters + GUESTS_MOST), .mixed = mixed, .next_req = 1};
    queue->floor = floor_half_a_day_ahead();
    queue->fence = queue->floor + 1;
    queue->slot_count = 1 + waiters + GUESTS_MOST;
    queue->slots = test_alloc(queue->slot_count, sizeof *queue->slots);
    for (size_t i = 0; i < queue->slot_count; i++)
        queue->slots[i].handle = bench_handle_of(next_handle++);
    queue->renewed_ms = clock_ms(CLOCK_MONOTONIC);
    queue_acquire(queue, link, "granted");
    for (size_t i = 0; i < waiters; i++) {
        queue_enqueue(queue, link);
        if ((i + 1) % FILL_STEP == 0 || i + 1 == waiters) {
            link_flush(link);
            show_progress(mixed ? "waiters, reader and writer in turn" : "waiters, all writers",
                          i + 1, waiters);
            queue_keep_alive(queue, link);
        }
    }
}

void queue_clear(bench_queue *queue) {
    free(queue->slots);
    *queue = (bench_queue){0};
}

void queue_cancel_last(bench_queue *queue, bench_link *link) {
    assert(queue->last > queue->first);
    const queue_slot *slot = slot_at(queue, queue->last--);
    request_cancel(link, (lock_request){&queue->keys, &slot->handle, queue->next_req++, NULL},
                   slot->req);
}

void queue_renew_one(bench_queue *queue, bench_link *link) {
    assert(queue->last > queue->first);
    size_t behind = next_of(&queue->next_renewed, (size_t)(queue->last - queue->first));
    const queue_slot *slot = slot_at(queue, queue->first + 1 + behind);
    request_renew(link, &queue->keys, &(renew_entry){&slot->handle, 0, slot->req}, 1, "queued");
}

void queue_hand_over(bench_queue *queue, bench_link *link) {
    assert(queue->last > queue->first);
    const queue_slot *slot = slot_at(queue, queue->first++);
    request_release(
        link, (lock_request){&queue->keys, &slot->handle, queue->next_req++, mode_of(slot->reads)},
        queue->fence);
    if (!slot_at(queue, queue->first)->reads) /* SPEC 8.2: a reader gets the lock's fence */
        queue->fence++;
}

void queue_claim(bench_queue *queue, bench_link *link) {
    const queue_slot *slot = slot_at(queue, queue->first);
    request_renew(link, &queue->keys, &(renew_entry){&slot->handle, 0, slot->req}, 1, "granted");
}

void queue_keep_alive(bench_queue *queue, bench_link *link) {
    int64_t now_ms = clock_ms(CLOCK_MONOTONIC);
    if (now_ms - queue->renewed_ms < RENEW_AFTER_MS)
        return;
    queue->renewed_ms = now_ms;
    renew_entry entries[RENEW_MOST];
    size_t count = 0;
    for (uint64_t turn = queue->first + 1; turn <= queue->last; turn++) {
        const queue_slot *slot = slot_at(queue, turn);
        entries[count++] = (renew_entry){&slot->handle, 0, slot->req};
        if (count == RENEW_MOST || turn == queue->last) {
            request_renew(link, &queue->keys, entries, count, "queued");
            count = 0;
        }
    }
    link_flush(link);
}
