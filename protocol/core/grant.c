/* See grant.h. */
#include "grant.h"
#include "records.h"

bool lkc_is_compatible(const lkc_lock *lock, const lkc_name *owner, const lkc_name *group,
                       lkc_mode mode) {
    if (lock->holding_owners == 0 || (lock->holding_owners == 1 && owner->count > 0))
        return true; /* SPEC 2.1: no other owner holds anything. */
    /*
     * SPEC 2.2. Where two owners hold, nobody writes and all read holds are of one group
     * (invariants 1 and 2); where one does, it is not this one. So the lock's counts are as good as
     * those of the other owners alone.
     */
    return mode == LKC_READ && lock->write_holds == 0 && lock->read_holds == group->count;
}

/* SPEC 8.1. */
static uint64_t draw_fence(lkc_lock *lock, uint64_t floor) {
    uint64_t above = lkc_max(lock->fence, lkc_max(lock->floor, floor)) + 1;
    lock->fence = lkc_max(above, lock->now_us);
    return lock->fence;
}

/* SPEC 8.2, for a hold that is new. */
static bool draws_fence(const lkc_lock *lock, const lkc_record *record, const lkc_grant *grant) {
    if (grant->begins_life || grant->mode == LKC_WRITE)
        return true;
    if (lock->reading && lock->reading != record->group)
        return true;
    return lock->marked && lock->fence <= lock->mark_fence;
}

void lkc_grant_new(lkc_lock *lock, lkc_record *record, const lkc_grant *grant) {
    uint64_t fence = lock->fence;
    if (draws_fence(lock, record, grant))
        fence = draw_fence(lock, grant->floor);
    lkc_hold_add(lock, record);
    record->since_us = lock->now_us;
    record->hold.fence = record->hold.first_fence = fence;
    record->hold.last = grant->req;
    record->hold.by = LKC_BY_ACQUIRE;
    record->hold.granted_for = 0;
    lkc_hold_count(lock, record, grant->mode == LKC_READ, grant->mode == LKC_WRITE);
}

void lkc_grant_more(lkc_lock *lock, lkc_record *hold, const lkc_grant *grant) {
    unsigned reads = hold->hold.reads, writes = hold->hold.writes;
    if (grant->mode == LKC_WRITE && writes == 0)
        hold->hold.fence = draw_fence(lock, grant->floor); /* SPEC 4.3, 8.2 */
    if (grant->mode == LKC_READ)
        reads++;
    else
        writes++;
    assert(reads <= LKC_COUNT_MOST && writes <= LKC_COUNT_MOST);
    lkc_hold_count(lock, hold, reads, writes);
    if (grant->req > hold->hold.last) { /* SPEC 9.1 */
        hold->hold.last = grant->req;
        hold->hold.by = LKC_BY_ACQUIRE;
    }
}

void lkc_phase_update(lkc_lock *lock) {
    if (lock->write_holds > 0)
        lock->phase = LKC_PHASE_WRITE;
    else if (lock->holding_owners > 0)
        lock->phase = LKC_PHASE_READ;
}
