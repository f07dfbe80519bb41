/*
 * Checks the invariants of SPEC 12, by their numbers, and those of the core's own structures. For
 * tests: it counts everything again, every record for every name.
 */
#include "grant.h"
#include "records.h"

#define CHECK(condition, sentence) \
    do {                           \
        if (!(condition))          \
            return sentence;       \
    } while (0)

static lkc_record *hold_at(const lkc_lock *lock, size_t i) {
    return lkc_record_by_deadline(lkc_tree_at(&lock->holds, i));
}

static lkc_record *waiter_at(const lkc_lock *lock, size_t i) {
    return lkc_record_by_deadline(lkc_tree_at(&lock->waiters, i));
}

static lkc_record *missed_at(const lkc_lock *lock, size_t i) {
    return lkc_record_by_deadline(lkc_tree_at(&lock->missed, i));
}

static lkc_name *name_at(const lkc_names *names, size_t i) {
    return LKC_NODE_OWNER(lkc_tree_at(&names->tree, i), lkc_name, node);
}

static const char *check_trees(const lkc_lock *lock) {
    const lkc_tree *trees[] = {&lock->handles,     &lock->holds,      &lock->waiters,
                               &lock->missed,      &lock->readers,    &lock->writers,
                               &lock->owners.tree, &lock->groups.tree};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++)
        CHECK(lkc_tree_is_sound(trees[i]),
              "core: a tree is out of balance, or its sizes are wrong");
    size_t queued = lkc_tree_size(&lock->readers) + lkc_tree_size(&lock->writers);
    CHECK(queued + (lock->upgrade ? 1 : 0) == lkc_tree_size(&lock->waiters),
          "core: waiters by deadline and by ticket are not the same");
    return NULL;
}

static const char *check_holding(const lkc_lock *lock) {
    CHECK(lock->write_holds == 0 || lock->holding_owners == 1,
          "12.1: while a write is held, one owner holds");
    const lkc_name *group = NULL;
    for (size_t i = 0; lock->holding_owners > 1 && i < lkc_tree_size(&lock->holds); i++) {
        const lkc_record *hold = hold_at(lock, i);
        if (hold->hold.reads == 0)
            continue;
        CHECK(!group || group == hold->group,
              "12.2: if two owners hold, all holds with reads are of one group");
        group = hold->group;
    }
    CHECK(lock->holds.root || (!lock->waiters.root && !lock->missed.root),
          "12.3: if nobody holds, nobody waits, and there is no missed waiter");
    const lkc_record *first = lkc_order_first(lock);
    CHECK(!first || !lkc_is_compatible(lock, first->owner, first->group, first->wait.mode),
          "12.4: the first in order is not compatible");
    const lkc_record *upgrade = lock->upgrade;
    CHECK(!upgrade || (upgrade->owner->count > 0 && lock->holding_owners > 1),
          "12.5: if an upgrade waits, its owner holds, and another owner too");
    return NULL;
}

static const char *check_hold(const lkc_lock *lock, const lkc_record *hold, uint64_t now_us) {
    CHECK(hold->hold.reads > 0 || hold->hold.writes > 0, "12.6: a hold has a count above 0");
    CHECK(hold->hold.first_fence <= hold->hold.fence && hold->hold.fence <= lock->fence,
          "12.6: first fence <= fence <= the lock's fence");
    CHECK(hold->deadline_us > now_us, "12.7: every deadline is above now");
    CHECK(hold->role == LKC_ROLE_HOLD && lkc_pair_find(lock, &hold->handle).hold == hold,
          "core: a hold is found by its handle");
    CHECK(!hold->provisional || (hold->hold.ticket > 0 && hold->hold.ticket <= lock->ticket),
          "12.7: a ticket is not above the lock's counter");
    return NULL;
}

static const char *check_waiter(const lkc_lock *lock, const lkc_record *waiter, uint64_t now_us) {
    CHECK(waiter->deadline_us > now_us, "12.7: every deadline is above now");
    CHECK(waiter->wait.ticket <= lock->ticket, "12.7: a ticket is not above the lock's counter");
    lkc_pair pair = lkc_pair_find(lock, &waiter->handle);
    CHECK(waiter->role == LKC_ROLE_WAITER && pair.waiter == waiter,
          "core: a waiter is found by its handle");
    CHECK(!pair.hold || waiter == lock->upgrade,
          "12.9: a handle that has a hold and a waiter waits for an upgrade");
    return NULL;
}

static const char *check_missed(const lkc_lock *lock, const lkc_record *missed, uint64_t now_us) {
    const uint64_t *ticket = &missed->wait.ticket;
    CHECK(missed->deadline_us > now_us, "12.7: every deadline is above now");
    CHECK(*ticket > 0 && *ticket <= lock->ticket, "12.7: a ticket is not above the lock's counter");
    CHECK(!lkc_tree_find(&lock->readers, ticket) && !lkc_tree_find(&lock->writers, ticket) &&
              missed != lock->upgrade,
          "12.12: a missed waiter is not in the order");
    lkc_pair pair = lkc_pair_find(lock, &missed->handle);
    CHECK(missed->role == LKC_ROLE_MISSED && pair.waiter == missed,
          "core: a missed waiter is found by its handle");
    CHECK(!pair.hold, "12.12: a handle with a missed waiter has no hold");
    return NULL;
}

static const char *check_order(const lkc_lock *lock) {
    lkc_order_walk walk = {.now_us = 0};
    uint64_t reader = 0, writer = 0;
    size_t place = 0;
    for (const lkc_record *waiter; (waiter = lkc_order_next(lock, &walk)); place++) {
        CHECK(lkc_order_place(lock, waiter) == place + 1, "3.5: a waiter's place is its position");
        if (waiter == lock->upgrade)
            continue;
        uint64_t *ticket = waiter->wait.mode == LKC_READ ? &reader : &writer;
        CHECK(waiter->wait.ticket > *ticket, "12.7: tickets differ, and stand in order");
        *ticket = waiter->wait.ticket;
    }
    CHECK(place == lkc_tree_size(&lock->waiters), "3.5: every waiter stands in the order");
    return NULL;
}

static const char *check_names(const lkc_lock *lock) {
    size_t holding = 0;
    for (size_t i = 0; i < lkc_tree_size(&lock->owners.tree); i++) {
        const lkc_name *owner = name_at(&lock->owners, i);
        size_t count = 0, references = 0;
        for (size_t j = 0; j < lkc_tree_size(&lock->holds); j++)
            count += hold_at(lock, j)->owner == owner;
        for (size_t j = 0; j < lkc_tree_size(&lock->waiters); j++)
            references += waiter_at(lock, j)->owner == owner;
        for (size_t j = 0; j < lkc_tree_size(&lock->missed); j++)
            references += missed_at(lock, j)->owner == owner;
        CHECK(owner->count == count, "12.8: the holds of an owner are counted");
        CHECK(owner->references == count + references, "core: references to an owner are counted");
        holding += count > 0;
    }
    CHECK(lock->holding_owners == holding, "12.8: the owners that hold are counted");
    for (size_t i = 0; i < lkc_tree_size(&lock->groups.tree); i++) {
        const lkc_name *group = name_at(&lock->groups, i);
        size_t count = 0, references = lock->read_group == group;
        for (size_t j = 0; j < lkc_tree_size(&lock->holds); j++) {
            references += hold_at(lock, j)->group == group;
            count += hold_at(lock, j)->group == group && hold_at(lock, j)->hold.reads > 0;
        }
        for (size_t j = 0; j < lkc_tree_size(&lock->waiters); j++)
            references += waiter_at(lock, j)->group == group;
        for (size_t j = 0; j < lkc_tree_size(&lock->missed); j++)
            references += missed_at(lock, j)->group == group;
        CHECK(group->count == count, "12.8: the read holds of a group are counted");
        CHECK(group->references == references, "core: references to a group are counted");
    }
    return NULL;
}

static const char *check_records(const lkc_lock *lock, uint64_t now_us) {
    size_t reading = 0, writing = 0;
    size_t handles = lkc_tree_size(&lock->holds) + lkc_tree_size(&lock->missed);
    for (size_t i = 0; i < lkc_tree_size(&lock->holds); i++) {
        const char *fault = check_hold(lock, hold_at(lock, i), now_us);
        CHECK(!fault, fault);
        reading += hold_at(lock, i)->hold.reads > 0;
        writing += hold_at(lock, i)->hold.writes > 0;
    }
    CHECK(lock->read_holds == reading, "12.8: the read holds are counted");
    CHECK(lock->write_holds == writing, "12.8: the write holds are counted");
    for (size_t i = 0; i < lkc_tree_size(&lock->waiters); i++) {
        const char *fault = check_waiter(lock, waiter_at(lock, i), now_us);
        CHECK(!fault, fault);
        handles += !lkc_pair_find(lock, &waiter_at(lock, i)->handle).hold;
    }
    for (size_t i = 0; i < lkc_tree_size(&lock->missed); i++) {
        const char *fault = check_missed(lock, missed_at(lock, i), now_us);
        CHECK(!fault, fault);
    }
    CHECK(handles == lkc_tree_size(&lock->handles),
          "core: the tree of handles has no other record");
    return NULL;
}

static const char *check_life(const lkc_lock *lock, uint64_t now_us) {
    CHECK(!lock->marked || lock->mark_fence <= lock->fence,
          "12.10: a mark's fence is not above the lock's");
    CHECK(lock->mark_of <= lock->ticket, "5.6: the ticket of the mark is one of this life");
    if (lkc_lock_is_empty(lock)) {
        CHECK(lock->marked || lock->fence == 0 || lock->fence > now_us,
              "12.11: without a mark, only a fence ahead of the clock is left");
        CHECK(lock->ticket == 0 && lock->mark_of == 0 && lock->floor == 0 && !lock->read_group &&
                  !lock->owners.tree.root && !lock->groups.tree.root && !lock->handles.root,
              "7.2: the mark or the fence are left, and the rest is gone");
        return NULL;
    }
    CHECK(lock->phase == (lock->write_holds > 0 ? LKC_PHASE_WRITE : LKC_PHASE_READ),
          "3.6: the phase is that of what is held");
    return NULL;
}

const char *lkc_lock_check(const lkc_lock *lock, uint64_t now_us) {
    const char *fault = check_trees(lock);
    if (!fault)
        fault = check_records(lock, now_us);
    if (!fault)
        fault = check_order(lock);
    if (!fault)
        fault = check_names(lock);
    if (!fault)
        fault = check_holding(lock);
    return fault ? fault : check_life(lock, now_us);
}
