/*
 * The judge of the random tests of one process: who believes to be inside of which lock, and
 * whether that can be. Its verdict does not depend on how fast anybody is: it compares handles
 * while nobody may come, go or change, and counts only what is valid at that instant by the word of
 * lk_valid(). tests/support/history_check.h judges several processes.
 */
#ifndef TEST_TORTURE_WORLD_H
#define TEST_TORTURE_WORLD_H

#include "latchkey.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { ROOMS = 3, GUESTS = 9 };

typedef struct {
    const lk_lock *lock; /* NULL: it does not hold */
    lk_mode mode;
} guest;

static struct {
    pthread_mutex_t door;
    guest guests[GUESTS];
    uint64_t written; /* the greatest fence of a valid writer */
} rooms[ROOMS] = {{.door = PTHREAD_MUTEX_INITIALIZER},
                  {.door = PTHREAD_MUTEX_INITIALIZER},
                  {.door = PTHREAD_MUTEX_INITIALIZER}};

static atomic_int clashes, old_fences;

/* One is valid before and after the other is: so there was an instant at which both were. */
static inline void look_for_clash(size_t room, size_t index, guest one) {
    for (size_t i = 0; i < GUESTS; i++) {
        guest other = rooms[room].guests[i];
        if (i == index || !one.lock || !other.lock ||
            (one.mode == LK_READ && other.mode == LK_READ))
            continue;
        if (lk_valid(one.lock) && lk_valid(other.lock) && lk_valid(one.lock)) {
            fprintf(stderr, "lock %zu: fences %llu and %llu are both valid\n", room,
                    (unsigned long long)lk_fence(one.lock),
                    (unsigned long long)lk_fence(other.lock));
            atomic_fetch_add(&clashes, 1);
        }
    }
}

/* Every writer's is new; readers share that of the last writer. */
static inline void look_at_fence(size_t room, guest one, bool is_new) {
    uint64_t fence = lk_fence(one.lock), *written = &rooms[room].written;
    if (!lk_valid(one.lock))
        return;
    if (one.mode == LK_WRITE && is_new ? fence <= *written : fence < *written)
        atomic_fetch_add(&old_fences, 1);
    if (one.mode == LK_WRITE)
        *written = fence;
}

/* With the door closed. Returns what the guest had before. */
static inline guest change_guest(size_t room, size_t index, guest now) {
    guest before = rooms[room].guests[index];
    look_for_clash(room, index, before);
    look_for_clash(room, index, now);
    rooms[room].guests[index] = now;
    return before;
}

/*
 * A guest says what it holds: after it has taken it, and before it gives it back. One thread uses
 * the handle; where several do, one may see the fence of another's write: change_guest() is theirs.
 */
static inline void show_guest(size_t room, size_t index, guest now) {
    pthread_mutex_lock(&rooms[room].door);
    guest before = change_guest(room, index, now);
    if (now.lock)
        look_at_fence(room, now, !before.lock || before.mode != now.mode);
    pthread_mutex_unlock(&rooms[room].door);
}

#endif
