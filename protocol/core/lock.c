/* The birth and death of a lock, its memory, and when it goes by itself. */
#include "memory.h"
#include "parties.h"

lki_lock *lki_lock_new(const lki_allocator *allocator) {
    lki_lock *lock = allocator->allocate(sizeof *lock, allocator->context);
    if (!lock)
        return NULL;
    *lock = (lki_lock){.allocator = *allocator, .memory = sizeof *lock};
    lki_parties_init(lock);
    return lock;
}

void lki_lock_free(lki_lock *lock) {
    if (!lock)
        return;
    lki_parties_free(lock);
    assert(lock->memory == sizeof *lock);
    lock->allocator.release(lock, lock->allocator.context);
}

void *lki_memory_take(lki_lock *lock, size_t size) {
    void *memory = lock->allocator.allocate(size, lock->allocator.context);
    if (memory)
        lock->memory += size;
    return memory;
}

void lki_memory_give(lki_lock *lock, void *memory, size_t size) {
    lock->memory -= size;
    lock->allocator.release(memory, lock->allocator.context);
}

size_t lki_lock_memory(const lki_lock *lock) {
    return lock->memory;
}

uint64_t lki_lock_expires_ms(const lki_lock *lock) {
    uint64_t until_us = 0;
    const lki_party *hold = lki_party_by_deadline(lki_tree_tail(&lock->holds));
    const lki_party *waiter = lki_party_by_deadline(lki_tree_tail(&lock->waiters));
    if (hold)
        until_us = hold->deadline_us;
    if (waiter)
        until_us = lki_max(until_us, waiter->deadline_us);
    if (until_us > 0 && (lock->write_holds > 0 || lock->marked))
        until_us += LKI_MARK_US;
    if (lock->marked)
        until_us = lki_max(until_us, lock->mark_until_us);
    return (until_us + LKI_MS_US - 1) / LKI_MS_US;
}
