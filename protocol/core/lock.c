/*
 * The lock as a whole: its creation and its memory, its lives, the mark and the fence that outlive
 * them, and the instant at which everything is forgotten (SPEC 1.7, 6, 7).
 */
#include "records.h"

lkc_lock *lkc_lock_new(const lkc_allocator *allocator) {
    lkc_lock *lock = allocator->allocate(sizeof *lock, allocator->context);
    if (!lock)
        return NULL;
    *lock = (lkc_lock){.allocator = *allocator, .memory = sizeof *lock};
    lkc_records_init(lock);
    return lock;
}

void lkc_lock_free(lkc_lock *lock) {
    if (!lock)
        return;
    lkc_records_free(lock);
    assert(lock->memory == sizeof *lock);
    lock->allocator.release(lock, lock->allocator.context);
}

void *lkc_memory_take(lkc_lock *lock, size_t size) {
    void *memory = lock->allocator.allocate(size, lock->allocator.context);
    if (memory)
        lock->memory += size;
    return memory;
}

void lkc_memory_give(lkc_lock *lock, void *memory, size_t size) {
    lock->memory -= size;
    lock->allocator.release(memory, lock->allocator.context);
}

size_t lkc_lock_memory(const lkc_lock *lock) {
    return lock->memory;
}

uint64_t lkc_lock_expires_ms(const lkc_lock *lock) {
    uint64_t until_us = 0;
    const lkc_record *hold = lkc_record_by_deadline(lkc_tree_tail(&lock->holds));
    const lkc_record *waiter = lkc_record_by_deadline(lkc_tree_tail(&lock->waiters));
    if (hold)
        until_us = hold->deadline_us;
    if (waiter)
        until_us = lkc_max(until_us, waiter->deadline_us);
    if (until_us > 0 && (lock->write_holds > 0 || lock->marked))
        until_us += LKC_MARK_US;
    if (lock->marked)
        until_us = lkc_max(until_us, lock->mark_until_us);
    /* A fence is an instant too. Until the clock has passed it, the next life must not draw it. */
    until_us = lkc_max(until_us, lock->fence);
    return (until_us + LKC_MS_US - 1) / LKC_MS_US;
}

bool lkc_lock_has_expired(const lkc_lock *lock) {
    return lkc_lock_expires_ms(lock) * LKC_MS_US <= lock->now_us;
}

void lkc_mark_leave(lkc_lock *lock, uint64_t instant_us) {
    /* Fences only rise, so of several marks the last one has the greatest fence. */
    lock->mark_fence = lock->fence;
    lock->mark_until_us = lkc_max(lock->marked ? lock->mark_until_us : 0, instant_us + LKC_MARK_US);
    lock->marked = true;
    lock->mark_of = 0;
}

void lkc_mark_clear(lkc_lock *lock, const lkc_record *hold) {
    if (hold->hold.fence > lock->mark_fence)
        lock->marked = false;
}

void lkc_mark_withdraw(lkc_lock *lock, const lkc_record *missed) {
    if (lock->mark_of == missed->wait.ticket)
        lock->marked = false;
}

void lkc_life_end(lkc_lock *lock) {
    lock->policy = LKC_FAIR;
    lock->phase = LKC_PHASE_READ;
    lock->ticket = lock->mark_of = lock->floor = 0;
    if (lock->read_group)
        lkc_names_give(lock, &lock->groups, lock->read_group);
    lock->read_group = NULL;
    if (lock->marked)
        return;
    lock->mark_fence = lock->mark_until_us = 0;
    if (lock->fence <= lock->now_us)
        lock->fence = 0; /* SPEC 7.1: the clock alone makes the next fence greater */
}
