/* See record.h. */
#include "record.h"

#include <err.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

record *record_new(void) {
    record *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        err(1, "mmap");
    snprintf(shared->lock_name, sizeof shared->lock_name, "demo:%ld-%lld", (long)getpid(),
             (long long)now_us());
    atomic_store(&shared->doomed, NOBODY);
    for (int i = 0; i < ACTORS; i++) {
        actor *one = &shared->actors[i];
        one->mode = i < READERS ? LK_READ : LK_WRITE;
        snprintf(one->label, sizeof one->label, "%s %d", i < READERS ? "reader" : "writer",
                 i < READERS ? i + 1 : i - READERS + 1);
    }
    return shared;
}

int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

phase turn_phase(const turn *of) {
    return (phase)atomic_load(&of->phase);
}

int64_t turn_end_us(const record *shared, const turn *of, int64_t now) {
    if (turn_phase(of) == PHASE_DONE)
        return of->released_us;
    return of->last && shared->killed_us > 0 ? shared->killed_us : now;
}

int64_t record_went_on_us(const record *shared, int64_t now) {
    int64_t first = now;
    for (int i = 0; i < ACTORS; i++) {
        const actor *one = &shared->actors[i];
        for (int t = atomic_load(&one->turn_count) - 1; t >= 0; t--) {
            const turn *of = &one->turns[t];
            if (turn_phase(of) >= PHASE_HELD && of->granted_us > shared->killed_us &&
                of->granted_us < first)
                first = of->granted_us;
        }
    }
    return first;
}
