/* Compares what workers believe to hold; see judge.h. */
#include "judge.h"

#include <stdio.h>

static struct {
    pthread_mutex_t door;
    guest guests[GUESTS];
    uint64_t written; /* the greatest fence of a valid writer */
} rooms[ROOMS] = {{.door = PTHREAD_MUTEX_INITIALIZER},
                  {.door = PTHREAD_MUTEX_INITIALIZER},
                  {.door = PTHREAD_MUTEX_INITIALIZER}};

atomic_int clashes, old_fences;

/* `one` is valid before and after `other` is, so there was an instant at which both were. */
static void look_for_clash(size_t room, size_t index, guest one) {
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

/* Each writer has a new fence. Readers share that of the last writer. */
static void look_at_fence(size_t room, guest one, bool is_new) {
    uint64_t fence = lk_fence(one.lock), *written = &rooms[room].written;
    if (!lk_valid(one.lock))
        return;
    if (one.mode == LK_WRITE && is_new ? fence <= *written : fence < *written)
        atomic_fetch_add(&old_fences, 1);
    if (one.mode == LK_WRITE)
        *written = fence;
}

static guest replace_guest(size_t room, size_t index, guest now) {
    guest before = rooms[room].guests[index];
    look_for_clash(room, index, before);
    look_for_clash(room, index, now);
    rooms[room].guests[index] = now;
    return before;
}

void show_guest(size_t room, size_t index, guest now) {
    lock_room(room);
    guest before = replace_guest(room, index, now);
    if (now.lock)
        look_at_fence(room, now, !before.lock || before.mode != now.mode);
    unlock_room(room);
}

void lock_room(size_t room) {
    pthread_mutex_lock(&rooms[room].door);
}

void change_guest(size_t room, size_t index, guest now) {
    replace_guest(room, index, now);
}

void unlock_room(size_t room) {
    pthread_mutex_unlock(&rooms[room].door);
}
