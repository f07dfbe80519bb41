/* See grant.h. */
#include "grant.h"
#include "records.h"

/*
 * The order, SPEC 3.5 as a table. The upgrade is first. For the others, a policy says how many of
 * the writers stand before the readers. The rest of the writers stand behind the readers.
 */

#define BY_TICKET SIZE_MAX /* readers and writers are one queue */
#define ALL_OF_THEM (SIZE_MAX - 1)

static const size_t writers_before_readers[4][2] = {
    [LKC_FAIR] = {[LKC_PHASE_READ] = BY_TICKET, [LKC_PHASE_WRITE] = BY_TICKET},
    [LKC_PHASE_FAIR] = {[LKC_PHASE_READ] = 1, [LKC_PHASE_WRITE] = 0},
    [LKC_PREFER_WRITER] = {[LKC_PHASE_READ] = ALL_OF_THEM, [LKC_PHASE_WRITE] = ALL_OF_THEM},
    [LKC_PREFER_READER] = {[LKC_PHASE_READ] = 0, [LKC_PHASE_WRITE] = 0},
};

/* The one of the two that comes first, after `writers_shown` writers. Either may be NULL. */
static lkc_record *nearer(const lkc_lock *lock, lkc_record *reader, lkc_record *writer,
                          size_t writers_shown) {
    if (!reader || !writer)
        return reader ? reader : writer;
    size_t before = writers_before_readers[lock->policy][lock->phase];
    if (before == BY_TICKET)
        return reader->wait.ticket < writer->wait.ticket ? reader : writer;
    return writers_shown < before ? writer : reader;
}

lkc_record *lkc_order_first(const lkc_lock *lock) {
    if (!lock->waiters.root)
        return NULL;
    if (lock->upgrade)
        return lock->upgrade; /* SPEC 4.2 */
    return nearer(lock, lkc_record_by_ticket(lkc_tree_head(&lock->readers)),
                  lkc_record_by_ticket(lkc_tree_head(&lock->writers)), 0);
}

size_t lkc_order_place(const lkc_lock *lock, const lkc_record *waiter) {
    if (waiter == lock->upgrade)
        return 1;
    bool reads = waiter->wait.mode == LKC_READ;
    const lkc_tree *mine = reads ? &lock->readers : &lock->writers;
    const lkc_tree *theirs = reads ? &lock->writers : &lock->readers;
    size_t rank = lkc_tree_rank(mine, &waiter->wait.ticket);
    size_t before = writers_before_readers[lock->policy][lock->phase];
    size_t others;
    if (before == BY_TICKET)
        others = lkc_tree_rank(theirs, &waiter->wait.ticket);
    else if (reads)
        others = lkc_min(before, lkc_tree_size(theirs));
    else
        others = rank < before ? 0 : lkc_tree_size(theirs);
    return rank + others + (lock->upgrade ? 2 : 1);
}

/* Moves `index` on to the first waiter that has not expired; NULL when there is none. */
static lkc_record *skip_expired(const lkc_tree *queue, size_t *index, uint64_t now_us) {
    lkc_record *record;
    while ((record = lkc_record_by_ticket(lkc_tree_at(queue, *index))) &&
           record->deadline_us <= now_us)
        ++*index;
    return record;
}

lkc_record *lkc_order_next(const lkc_lock *lock, lkc_order_walk *walk) {
    if (!walk->past_upgrade) {
        walk->past_upgrade = true;
        if (lock->upgrade && !walk->hide_upgrade && lock->upgrade->deadline_us > walk->now_us)
            return lock->upgrade;
    }
    lkc_record *reader = skip_expired(&lock->readers, &walk->reader, walk->now_us);
    lkc_record *writer = skip_expired(&lock->writers, &walk->writer, walk->now_us);
    lkc_record *next = nearer(lock, reader, writer, walk->writers_shown);
    if (next && next == reader) {
        walk->reader++;
    } else if (next) {
        walk->writer++;
        walk->writers_shown++;
    }
    return next;
}

/* Compatibility, fences and the phase. */

bool lkc_is_compatible(const lkc_lock *lock, const lkc_name *owner, const lkc_name *group,
                       lkc_mode mode) {
    if (lock->holding_owners == 0 || (lock->holding_owners == 1 && owner->count > 0))
        return true; /* SPEC 2.1: no other owner holds anything. */
    /*
     * SPEC 2.2, which counts other owners' holds only. The counts of the whole lock do as well: if
     * two owners hold, nobody writes and all read holds are of one group (invariants 1 and 2); if
     * one owner holds, it is another owner.
     */
    return mode == LKC_READ && lock->write_holds == 0 && lock->read_holds == group->count;
}

/* SPEC 8.1. */
static uint64_t draw_fence(lkc_lock *lock, uint64_t floor) {
    uint64_t above = lkc_max(lock->fence, lkc_max(lock->floor, floor)) + 1;
    lock->fence = lkc_max(above, lock->now_us);
    return lock->fence;
}

/* SPEC 8.2, for a new hold. */
static bool draws_fence(const lkc_lock *lock, const lkc_record *record, const lkc_grant *grant) {
    if (grant->begins_life || grant->mode == LKC_WRITE)
        return true;
    if (lock->read_group && lock->read_group != record->group)
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
    record->hold.last_by = LKC_BY_ACQUIRE;
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
        hold->hold.last_by = LKC_BY_ACQUIRE;
    }
}

void lkc_phase_update(lkc_lock *lock) {
    if (lock->write_holds > 0)
        lock->phase = LKC_PHASE_WRITE;
    else if (lock->holding_owners > 0)
        lock->phase = LKC_PHASE_READ;
}
