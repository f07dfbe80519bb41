/*
 * The judge of the random tests of one process. Workers say which lock they believe to hold, and
 * the judge decides whether that can be. Its verdict does not depend on anybody's speed: it
 * compares handles while nobody may come, go or change, and counts only those for which lk_valid()
 * is true at that instant. tests/support/history_check.h judges several processes.
 */
#ifndef INTEGRATION_JUDGE_H
#define INTEGRATION_JUDGE_H

#include "latchkey.h"

#include <pthread.h>
#include <stdatomic.h>

/* A room is a lock, and a guest is somebody who holds it. */
enum { ROOMS = 3, GUESTS = 9 };

typedef struct {
    const lk_lock *lock; /* NULL: the guest does not hold */
    lk_mode mode;
} guest;

extern atomic_int clashes, old_fences; /* must be 0 at the end */

/*
 * A guest says what it holds: after it has taken the lock, and before it releases it. Only for
 * handles that one thread uses; with several, one thread may see the fence of another's write.
 */
void show_guest(size_t room, size_t index, guest now);

/* The same for handles that several threads use; without a look at fences. */
void lock_room(size_t room);
void change_guest(size_t room, size_t index, guest now); /* between the two */
void unlock_room(size_t room);

#endif
