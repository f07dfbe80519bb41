/* The state of a handle, as the client knows it. Sends nothing, and never blocks. */
#include "base/clock.h"
#include "base/thread.h"
#include "lock/hold.h"
#include "lock/lock.h"

/* Locks the monitor, and returns the session. NULL: the handle cannot be used. */
static lki_session *lock_monitor(const lk_lock *lock) {
    if (!lock || lock->session->forks != lki_fork_count())
        return NULL;
    pthread_mutex_lock(&lock->session->monitor);
    return lock->session;
}

int64_t lk_remaining_ms(const lk_lock *lock) {
    lki_session *session = lock_monitor(lock);
    int64_t left_us = 0;
    if (!session)
        return 0;
    if (!session->closing && lki_lock_holds(lock) && !lki_hold_is_ending(lock))
        left_us = lock->deadline_us - lki_now_us();
    pthread_mutex_unlock(&session->monitor);
    return left_us > 0 ? left_us / 1000 : 0;
}

bool lk_valid(const lk_lock *lock) {
    lki_session *session = lock_monitor(lock);
    if (!session)
        return false;
    bool valid = !session->closing && lki_lock_holds(lock) && !lki_hold_is_ending(lock) &&
                 lki_now_us() < lock->deadline_us;
    pthread_mutex_unlock(&session->monitor);
    return valid;
}

/* A closing client releases its holds itself, so the user has nothing left to unlock. */
uint64_t lk_fence(const lk_lock *lock) {
    lki_session *session = lock_monitor(lock);
    if (!session)
        return 0;
    uint64_t fence = session->closing ? 0 : lock->fence;
    pthread_mutex_unlock(&session->monitor);
    return fence;
}

bool lk_abandoned(const lk_lock *lock) {
    lki_session *session = lock_monitor(lock);
    if (!session)
        return false;
    bool abandoned = !session->closing && lock->abandoned;
    pthread_mutex_unlock(&session->monitor);
    return abandoned;
}

static unsigned count_of(const lk_lock *lock, lk_mode mode) {
    lki_session *session = lock_monitor(lock);
    unsigned count = 0;
    if (!session)
        return 0;
    if (!session->closing)
        count = mode == LK_WRITE ? lock->writes : lock->reads;
    pthread_mutex_unlock(&session->monitor);
    return count;
}

unsigned lk_reads(const lk_lock *lock) {
    return count_of(lock, LK_READ);
}

unsigned lk_writes(const lk_lock *lock) {
    return count_of(lock, LK_WRITE);
}

const char *lk_owner(const lk_lock *lock) {
    return lock ? lock->owner : NULL;
}
