/* See grant.h. */
#include "grant.h"
#include "parties.h"

bool lki_is_compatible(const lki_lock *lock, const lki_name *owner, const lki_name *group,
                       lki_mode mode) {
    if (lock->holding_owners == 0 || (lock->holding_owners == 1 && owner->count > 0))
        return true; /* SPEC 2.1: no other owner holds anything. */
    /*
     * SPEC 2.2. Where two owners hold, nobody writes and all read holds are of one group
     * (invariants 1 and 2); where one does, it is not this one. So the lock's counts are as good as
     * those of the other owners alone.
     */
    return mode == LKI_READ && lock->write_holds == 0 && lock->read_holds == group->count;
}

/* SPEC 8.1. */
static uint64_t draw_fence(lki_lock *lock, uint64_t floor) {
    uint64_t above = lki_max(lock->fence, lki_max(lock->floor, floor)) + 1;
    lock->fence = lki_max(above, lock->now_us);
    return lock->fence;
}

/* SPEC 8.2, for a hold that is new. */
static bool draws_fence(const lki_lock *lock, const lki_party *party, const lki_grant *grant) {
    if (grant->begins_life || grant->mode == LKI_WRITE)
        return true;
    if (lock->reading && lock->reading != party->group)
        return true;
    return lock->marked && lock->fence <= lock->mark_fence;
}

void lki_grant_new(lki_lock *lock, lki_party *party, const lki_grant *grant) {
    uint64_t fence = lock->fence;
    if (draws_fence(lock, party, grant))
        fence = draw_fence(lock, grant->floor);
    lki_hold_add(lock, party);
    party->since_us = lock->now_us;
    party->hold.fence = party->hold.first_fence = fence;
    party->hold.last = grant->req;
    party->hold.by = LKI_BY_ACQUIRE;
    party->hold.granted_for = 0;
    lki_hold_count(lock, party, grant->mode == LKI_READ, grant->mode == LKI_WRITE);
}

void lki_grant_more(lki_lock *lock, lki_party *hold, const lki_grant *grant) {
    unsigned reads = hold->hold.reads, writes = hold->hold.writes;
    if (grant->mode == LKI_WRITE && writes == 0)
        hold->hold.fence = draw_fence(lock, grant->floor); /* SPEC 4.3, 8.2 */
    if (grant->mode == LKI_READ)
        reads++;
    else
        writes++;
    assert(reads <= LKI_COUNT_MOST && writes <= LKI_COUNT_MOST);
    lki_hold_count(lock, hold, reads, writes);
    if (grant->req > hold->hold.last) { /* SPEC 9.1 */
        hold->hold.last = grant->req;
        hold->hold.by = LKI_BY_ACQUIRE;
    }
}

void lki_phase_update(lki_lock *lock) {
    if (lock->write_holds > 0)
        lock->phase = LKI_PHASE_WRITE;
    else if (lock->holding_owners > 0)
        lock->phase = LKI_PHASE_READ;
}

void lki_mark_leave(lki_lock *lock, uint64_t instant_us) {
    /* Fences only rise, so this is the greatest of several marks too. */
    lock->mark_fence = lock->fence;
    lock->mark_until_us = lki_max(lock->marked ? lock->mark_until_us : 0, instant_us + LKI_MARK_US);
    lock->marked = true;
}

void lki_mark_clear(lki_lock *lock, const lki_party *hold) {
    if (hold->hold.fence > lock->mark_fence)
        lock->marked = false;
}
