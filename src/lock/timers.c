/* See timers.h. */
#include "lock/timers.h"

#include "base/clock.h"
#include "base/memory.h"

#include <assert.h>

bool lki_timers_reserve(lki_timers *timers, size_t count) {
    if (count <= timers->room)
        return true;
    size_t room = timers->room ? timers->room : 8;
    while (room < count)
        room *= 2;
    lki_timer **heap = lki_resize(timers->heap, room * sizeof *heap);
    if (!heap)
        return false;
    timers->heap = heap;
    timers->room = room;
    return true;
}

void lki_timers_free(lki_timers *timers) {
    lki_free(timers->heap);
    *timers = (lki_timers){0};
}

static void put(lki_timers *timers, size_t slot, lki_timer *timer) {
    timers->heap[slot - 1] = timer;
    timer->slot = slot;
}

static void rise(lki_timers *timers, lki_timer *timer) {
    size_t slot = timer->slot;
    while (slot > 1 && timers->heap[slot / 2 - 1]->due_us > timer->due_us) {
        put(timers, slot, timers->heap[slot / 2 - 1]);
        slot /= 2;
    }
    put(timers, slot, timer);
}

static void sink(lki_timers *timers, lki_timer *timer) {
    size_t slot = timer->slot;
    for (;;) {
        size_t child = 2 * slot;
        if (child > timers->count)
            break;
        if (child < timers->count && timers->heap[child]->due_us < timers->heap[child - 1]->due_us)
            child++;
        if (timers->heap[child - 1]->due_us >= timer->due_us)
            break;
        put(timers, slot, timers->heap[child - 1]);
        slot = child;
    }
    put(timers, slot, timer);
}

static void take_out(lki_timers *timers, lki_timer *timer) {
    lki_timer *last = timers->heap[--timers->count];
    if (last != timer) {
        put(timers, timer->slot, last);
        rise(timers, last);
        sink(timers, last);
    }
    timer->slot = 0;
}

void lki_timers_set(lki_timers *timers, lki_timer *timer, int64_t due_us) {
    if (timer->slot && timer->due_us == due_us)
        return;
    timer->due_us = due_us;
    if (due_us == LKI_NEVER) {
        if (timer->slot)
            take_out(timers, timer);
        return;
    }
    if (!timer->slot) {
        assert(timers->count < timers->room);
        put(timers, ++timers->count, timer);
    }
    rise(timers, timer);
    sink(timers, timer);
}

lki_timer *lki_timers_first(const lki_timers *timers) {
    return timers->count ? timers->heap[0] : NULL;
}
