/* The birth and death of a lock, its memory, and when it goes by itself. */
#include "memory.h"
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
    return (until_us + LKC_MS_US - 1) / LKC_MS_US;
}
