/* See table.h. Numbers are consecutive, so their low bits are a good hash. */
#include "lock/table.h"

#include "base/memory.h"
#include "lock/lock.h"

enum { FIRST_ROOM = 16 };

static lk_lock **bucket_of(const lki_table *table, uint64_t number) {
    return &table->buckets[number & (table->room - 1)];
}

static void put(const lki_table *table, lk_lock *lock) {
    lk_lock **bucket = bucket_of(table, lock->number);
    lock->next_in_bucket = *bucket;
    *bucket = lock;
}

static bool grow(lki_table *table) {
    lki_table larger = {.room = table->room ? table->room * 2 : FIRST_ROOM, .count = table->count};
    larger.buckets = lki_new(larger.room * sizeof *larger.buckets);
    if (!larger.buckets)
        return false;
    for (size_t i = 0; i < table->room; i++) {
        while (table->buckets[i]) {
            lk_lock *lock = table->buckets[i];
            table->buckets[i] = lock->next_in_bucket;
            put(&larger, lock);
        }
    }
    lki_free(table->buckets);
    *table = larger;
    return true;
}

bool lki_table_add(lki_table *table, lk_lock *lock) {
    if (table->count >= table->room && !grow(table))
        return false;
    put(table, lock);
    table->count++;
    return true;
}

void lki_table_remove(lki_table *table, lk_lock *lock) {
    lk_lock **link = bucket_of(table, lock->number);
    while (*link != lock)
        link = &(*link)->next_in_bucket;
    *link = lock->next_in_bucket;
    table->count--;
}

lk_lock *lki_table_find(const lki_table *table, uint64_t number) {
    lk_lock *lock = table->room ? *bucket_of(table, number) : NULL;
    while (lock && lock->number != number)
        lock = lock->next_in_bucket;
    return lock;
}

void lki_table_free(lki_table *table) {
    lki_free(table->buckets);
    *table = (lki_table){0};
}

lk_lock *lki_table_next(const lki_table *table, const lk_lock *lock) {
    if (lock && lock->next_in_bucket)
        return lock->next_in_bucket;
    size_t i = lock ? (lock->number & (table->room - 1)) + 1 : 0;
    while (i < table->room && !table->buckets[i])
        i++;
    return i < table->room ? table->buckets[i] : NULL;
}
