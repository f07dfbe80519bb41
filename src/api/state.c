/* What a handle knows of itself: asked of nobody else, at any time. */
#include "base/clock.h"
#include "base/thread.h"
#include "lock/hold.h"
#include "lock/lock.h"

/* NULL: there is nothing to look at. Otherwise the monitor is held. */
static lki_session *look(const lk_lock *lock) {
    if (!lock || lock->session->forks != lki_fork_count())
        return NULL;
    pthread_mutex_lock(&lock->session->monitor);
    return lock->session;
}

int64_t lk_remaining_ms(const lk_lock *lock) {
    lki_session *session = look(lock);
    int64_t left_us = 0;
    if (!session)
        return 0;
    if (!session->closing && lki_lock_holds(lock) && !lki_hold_is_ending(lock))
        left_us = lock->deadline_us - lki_now_us();
    pthread_mutex_unlock(&session->monitor);
    return left_us > 0 ? left_us / 1000 : 0;
}

bool lk_valid(const lk_lock *lock) {
    lki_session *session = look(lock);
    if (!session)
        return false;
    bool valid = !session->closing && lki_lock_holds(lock) && !lki_hold_is_ending(lock) &&
                 lki_now_us() < lock->deadline_us;
    pthread_mutex_unlock(&session->monitor);
    return valid;
}

uint64_t lk_fence(const lk_lock *lock) {
    lki_session *session = look(lock);
    if (!session)
        return 0;
    uint64_t fence = lock->fence;
    pthread_mutex_unlock(&session->monitor);
    return fence;
}

bool lk_abandoned(const lk_lock *lock) {
    lki_session *session = look(lock);
    if (!session)
        return false;
    bool abandoned = lock->abandoned;
    pthread_mutex_unlock(&session->monitor);
    return abandoned;
}

/* A closing client gives back by itself: nothing is left for the user to unlock. */
static unsigned count_of(const lk_lock *lock, lk_mode mode) {
    lki_session *session = look(lock);
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
