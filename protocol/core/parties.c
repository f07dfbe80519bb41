/* See parties.h. */
#include "parties.h"
#include "memory.h"

/* Every record has room for a usual `who`, so that a spare one usually fits the next. */
enum { ROOM_LEAST = 16 };

static int compare_handle(const void *key, const lkc_node *node) {
    return lkc_handle_compare(key, &LKC_NODE_OWNER(node, const lkc_party, by_handle)->handle);
}

static int compare_deadline(const void *key, const lkc_node *node) {
    const lkc_party *a = key, *b = LKC_NODE_OWNER(node, const lkc_party, by_deadline);
    if (a->deadline_us != b->deadline_us)
        return a->deadline_us < b->deadline_us ? -1 : 1;
    return lkc_handle_compare(&a->handle, &b->handle);
}

static int compare_ticket(const void *key, const lkc_node *node) {
    const uint64_t *a = key,
                   *b = &LKC_NODE_OWNER(node, const lkc_party, wait.by_ticket)->wait.ticket;
    return (*a > *b) - (*a < *b);
}

void lkc_parties_init(lkc_lock *lock) {
    lock->handles.compare = compare_handle;
    lock->holds.compare = lock->waiters.compare = compare_deadline;
    lock->readers.compare = lock->writers.compare = compare_ticket;
    lkc_names_init(&lock->owners);
    lkc_names_init(&lock->groups);
}

/* Memory. */

static size_t size_of(size_t room) {
    return offsetof(lkc_party, who) + room;
}

static lkc_party *take_record(lkc_lock *lock, size_t who_length) {
    lkc_party *party = lock->spare;
    if (party && party->who_room >= who_length) {
        lock->spare = NULL;
        return party;
    }
    size_t room = who_length > ROOM_LEAST ? who_length : ROOM_LEAST;
    party = lkc_memory_take(lock, size_of(room));
    if (party)
        party->who_room = (uint8_t)room;
    return party;
}

static void give_record(lkc_lock *lock, lkc_party *party) {
    if (party)
        lkc_memory_give(lock, party, size_of(party->who_room));
}

/* The roomier one is kept: what fitted the last request is likely to fit the next. */
void lkc_party_recycle(lkc_lock *lock, lkc_party *party) {
    if (lock->spare && lock->spare->who_room >= party->who_room) {
        give_record(lock, party);
    } else {
        give_record(lock, lock->spare);
        lock->spare = party;
    }
}

lkc_party *lkc_party_new(lkc_lock *lock, const lkc_handle *handle, lkc_text owner, lkc_text group,
                         lkc_text who) {
    char packed[LKC_HANDLE_PACKED];
    lkc_name_key owner_key = lkc_owner_key(owner, handle, packed);
    lkc_name_key group_key = lkc_group_key(group);
    lkc_party *party = take_record(lock, who.length);
    if (!party)
        return NULL;
    party->owner = lkc_names_take(lock, &lock->owners, &owner_key);
    party->group = party->owner ? lkc_names_take(lock, &lock->groups, &group_key) : NULL;
    if (!party->group) {
        if (party->owner)
            lkc_names_give(lock, &lock->owners, party->owner);
        lkc_party_recycle(lock, party);
        return NULL;
    }
    party->handle = *handle;
    party->holds = party->provisional = party->tells_granted = party->tells_lost = false;
    party->who_length = (uint8_t)who.length;
    if (who.length > 0)
        memcpy(party->who, who.bytes, who.length);
    return party;
}

void lkc_party_free(lkc_lock *lock, lkc_party *party) {
    lkc_names_give(lock, &lock->owners, party->owner);
    lkc_names_give(lock, &lock->groups, party->group);
    if (!party->tells_granted && !party->tells_lost) {
        lkc_party_recycle(lock, party);
        return;
    }
    party->next_gone = NULL;
    if (lock->gone_tail)
        lock->gone_tail->next_gone = party;
    else
        lock->gone_head = party;
    lock->gone_tail = party;
}

void lkc_parties_free(lkc_lock *lock) {
    lkc_party *party;
    while ((party = lkc_party_by_deadline(lock->waiters.root))) {
        lkc_waiter_remove(lock, party);
        lkc_party_free(lock, party);
    }
    while ((party = lkc_party_by_deadline(lock->holds.root))) {
        lkc_hold_remove(lock, party);
        lkc_party_free(lock, party);
    }
    while ((party = lock->gone_head)) {
        lock->gone_head = party->next_gone;
        lkc_party_recycle(lock, party);
    }
    if (lock->reading)
        lkc_names_give(lock, &lock->groups, lock->reading);
    give_record(lock, lock->spare);
    lkc_names_free(lock, &lock->owners);
    lkc_names_free(lock, &lock->groups);
}

/* Handles and deadlines. */

static void enter_handle(lkc_lock *lock, lkc_party *party) {
    lkc_tree_insert(&lock->handles, &party->handle, &party->by_handle);
}

static void leave_handle(lkc_lock *lock, lkc_party *party) {
    lkc_tree_erase(&lock->handles, &party->handle, &party->by_handle);
}

static lkc_party *find(const lkc_lock *lock, const lkc_handle *handle) {
    lkc_node *node = lkc_tree_find(&lock->handles, handle);
    return node ? LKC_NODE_OWNER(node, lkc_party, by_handle) : NULL;
}

static bool is_upgrade_of(const lkc_lock *lock, const lkc_handle *handle) {
    return lock->upgrade && lkc_handle_is(&lock->upgrade->handle, handle);
}

lkc_pair lkc_pair_find(const lkc_lock *lock, const lkc_handle *handle) {
    lkc_party *party = find(lock, handle);
    if (!party)
        return (lkc_pair){NULL, NULL};
    if (!party->holds)
        return (lkc_pair){NULL, party};
    return (lkc_pair){party, is_upgrade_of(lock, handle) ? lock->upgrade : NULL};
}

uint64_t lkc_pair_last(const lkc_pair *pair) {
    uint64_t held = pair->hold ? pair->hold->hold.last : 0;
    return lkc_max(held, pair->waiter ? pair->waiter->wait.req : 0);
}

void lkc_party_extend(lkc_lock *lock, lkc_party *party, uint64_t deadline_us) {
    if (deadline_us <= party->deadline_us)
        return;
    lkc_tree *tree = party->holds ? &lock->holds : &lock->waiters;
    lkc_tree_erase(tree, party, &party->by_deadline);
    party->deadline_us = deadline_us;
    lkc_tree_insert(tree, party, &party->by_deadline);
}

/* Holds. */

void lkc_hold_add(lkc_lock *lock, lkc_party *party) {
    party->holds = true;
    party->hold.reads = party->hold.writes = 0;
    enter_handle(lock, party);
    lkc_tree_insert(&lock->holds, party, &party->by_deadline);
    if (party->owner->count++ == 0)
        lock->holding_owners++;
}

void lkc_hold_count(lkc_lock *lock, lkc_party *party, unsigned reads, unsigned writes) {
    if (reads > 0 && party->hold.reads == 0) {
        lock->read_holds++;
        party->group->count++;
        if (lock->reading)
            lkc_names_give(lock, &lock->groups, lock->reading);
        lock->reading = lkc_name_share(party->group); /* SPEC 8.2 */
    } else if (reads == 0 && party->hold.reads > 0) {
        lock->read_holds--;
        party->group->count--;
    }
    if (writes > 0 && party->hold.writes == 0)
        lock->write_holds++;
    else if (writes == 0 && party->hold.writes > 0)
        lock->write_holds--;
    party->hold.reads = (uint16_t)reads;
    party->hold.writes = (uint16_t)writes;
}

void lkc_hold_remove(lkc_lock *lock, lkc_party *party) {
    lkc_hold_count(lock, party, 0, 0);
    if (--party->owner->count == 0)
        lock->holding_owners--;
    lkc_tree_erase(&lock->holds, party, &party->by_deadline);
    leave_handle(lock, party);
    if (is_upgrade_of(lock, &party->handle))
        enter_handle(lock, lock->upgrade);
}

/* Waiters. */

static lkc_tree *queue_of(lkc_lock *lock, const lkc_party *party) {
    return party->wait.mode == LKC_READ ? &lock->readers : &lock->writers;
}

static void enqueue(lkc_lock *lock, lkc_party *party) {
    lkc_tree_insert(queue_of(lock, party), &party->wait.ticket, &party->wait.by_ticket);
}

void lkc_waiter_add(lkc_lock *lock, lkc_party *party, bool upgrade) {
    party->holds = false;
    party->wait.ticket = ++lock->ticket;
    lkc_tree_insert(&lock->waiters, party, &party->by_deadline);
    if (!upgrade) {
        enter_handle(lock, party);
        enqueue(lock, party);
        return;
    }
    assert(!lock->upgrade);
    lock->upgrade = party;
    if (!find(lock, &party->handle))
        enter_handle(lock, party);
}

void lkc_waiter_remove(lkc_lock *lock, lkc_party *party) {
    lkc_tree_erase(&lock->waiters, party, &party->by_deadline);
    if (party != lock->upgrade) {
        lkc_tree_erase(queue_of(lock, party), &party->wait.ticket, &party->wait.by_ticket);
        leave_handle(lock, party);
        return;
    }
    lock->upgrade = NULL;
    if (find(lock, &party->handle) == party)
        leave_handle(lock, party);
}

void lkc_upgrade_demote(lkc_lock *lock) {
    lkc_party *party = lock->upgrade;
    assert(find(lock, &party->handle) == party);
    lock->upgrade = NULL;
    party->wait.ticket = ++lock->ticket;
    enqueue(lock, party);
}
