/* See parties.h. */
#include "parties.h"
#include "memory.h"

/* Every record has room for a usual `who`, so that a spare one usually fits the next. */
enum { ROOM_LEAST = 16 };

static int compare_handle(const void *key, const lki_node *node) {
    return lki_handle_compare(key, &LKI_NODE_OWNER(node, const lki_party, by_handle)->handle);
}

static int compare_deadline(const void *key, const lki_node *node) {
    const lki_party *a = key, *b = LKI_NODE_OWNER(node, const lki_party, by_deadline);
    if (a->deadline_us != b->deadline_us)
        return a->deadline_us < b->deadline_us ? -1 : 1;
    return lki_handle_compare(&a->handle, &b->handle);
}

static int compare_ticket(const void *key, const lki_node *node) {
    const uint64_t *a = key,
                   *b = &LKI_NODE_OWNER(node, const lki_party, wait.by_ticket)->wait.ticket;
    return (*a > *b) - (*a < *b);
}

void lki_parties_init(lki_lock *lock) {
    lock->handles.compare = compare_handle;
    lock->holds.compare = lock->waiters.compare = compare_deadline;
    lock->readers.compare = lock->writers.compare = compare_ticket;
    lki_names_init(&lock->owners);
    lki_names_init(&lock->groups);
}

/* Memory. */

static size_t size_of(size_t room) {
    return offsetof(lki_party, who) + room;
}

static lki_party *take_record(lki_lock *lock, size_t who_length) {
    lki_party *party = lock->spare;
    if (party && party->who_room >= who_length) {
        lock->spare = NULL;
        return party;
    }
    size_t room = who_length > ROOM_LEAST ? who_length : ROOM_LEAST;
    party = lki_memory_take(lock, size_of(room));
    if (party)
        party->who_room = (uint8_t)room;
    return party;
}

static void give_record(lki_lock *lock, lki_party *party) {
    if (party)
        lki_memory_give(lock, party, size_of(party->who_room));
}

/* The roomier one is kept: what fitted the last request is likely to fit the next. */
void lki_party_recycle(lki_lock *lock, lki_party *party) {
    if (lock->spare && lock->spare->who_room >= party->who_room) {
        give_record(lock, party);
    } else {
        give_record(lock, lock->spare);
        lock->spare = party;
    }
}

lki_party *lki_party_new(lki_lock *lock, const lki_handle *handle, lki_text owner, lki_text group,
                         lki_text who) {
    char packed[LKI_HANDLE_PACKED];
    lki_name_key owner_key = lki_owner_key(owner, handle, packed);
    lki_name_key group_key = lki_group_key(group);
    lki_party *party = take_record(lock, who.length);
    if (!party)
        return NULL;
    party->owner = lki_names_take(lock, &lock->owners, &owner_key);
    party->group = party->owner ? lki_names_take(lock, &lock->groups, &group_key) : NULL;
    if (!party->group) {
        if (party->owner)
            lki_names_give(lock, &lock->owners, party->owner);
        lki_party_recycle(lock, party);
        return NULL;
    }
    party->handle = *handle;
    party->holds = party->provisional = party->tells_granted = party->tells_lost = false;
    party->who_length = (uint8_t)who.length;
    if (who.length > 0)
        memcpy(party->who, who.bytes, who.length);
    return party;
}

void lki_party_free(lki_lock *lock, lki_party *party) {
    lki_names_give(lock, &lock->owners, party->owner);
    lki_names_give(lock, &lock->groups, party->group);
    if (!party->tells_granted && !party->tells_lost) {
        lki_party_recycle(lock, party);
        return;
    }
    party->next_gone = NULL;
    if (lock->gone_tail)
        lock->gone_tail->next_gone = party;
    else
        lock->gone_head = party;
    lock->gone_tail = party;
}

void lki_parties_free(lki_lock *lock) {
    lki_party *party;
    while ((party = lki_party_by_deadline(lock->waiters.root))) {
        lki_waiter_remove(lock, party);
        lki_party_free(lock, party);
    }
    while ((party = lki_party_by_deadline(lock->holds.root))) {
        lki_hold_remove(lock, party);
        lki_party_free(lock, party);
    }
    while ((party = lock->gone_head)) {
        lock->gone_head = party->next_gone;
        lki_party_recycle(lock, party);
    }
    if (lock->reading)
        lki_names_give(lock, &lock->groups, lock->reading);
    give_record(lock, lock->spare);
    lki_names_free(lock, &lock->owners);
    lki_names_free(lock, &lock->groups);
}

/* Handles and deadlines. */

static void enter_handle(lki_lock *lock, lki_party *party) {
    lki_tree_insert(&lock->handles, &party->handle, &party->by_handle);
}

static void leave_handle(lki_lock *lock, lki_party *party) {
    lki_tree_erase(&lock->handles, &party->handle, &party->by_handle);
}

static lki_party *find(const lki_lock *lock, const lki_handle *handle) {
    lki_node *node = lki_tree_find(&lock->handles, handle);
    return node ? LKI_NODE_OWNER(node, lki_party, by_handle) : NULL;
}

static bool is_upgrade_of(const lki_lock *lock, const lki_handle *handle) {
    return lock->upgrade && lki_handle_is(&lock->upgrade->handle, handle);
}

lki_pair lki_pair_find(const lki_lock *lock, const lki_handle *handle) {
    lki_party *party = find(lock, handle);
    if (!party)
        return (lki_pair){NULL, NULL};
    if (!party->holds)
        return (lki_pair){NULL, party};
    return (lki_pair){party, is_upgrade_of(lock, handle) ? lock->upgrade : NULL};
}

uint64_t lki_pair_last(const lki_pair *pair) {
    uint64_t held = pair->hold ? pair->hold->hold.last : 0;
    return lki_max(held, pair->waiter ? pair->waiter->wait.req : 0);
}

void lki_party_extend(lki_lock *lock, lki_party *party, uint64_t deadline_us) {
    if (deadline_us <= party->deadline_us)
        return;
    lki_tree *tree = party->holds ? &lock->holds : &lock->waiters;
    lki_tree_erase(tree, party, &party->by_deadline);
    party->deadline_us = deadline_us;
    lki_tree_insert(tree, party, &party->by_deadline);
}

/* Holds. */

void lki_hold_add(lki_lock *lock, lki_party *party) {
    party->holds = true;
    party->hold.reads = party->hold.writes = 0;
    enter_handle(lock, party);
    lki_tree_insert(&lock->holds, party, &party->by_deadline);
    if (party->owner->count++ == 0)
        lock->holding_owners++;
}

void lki_hold_count(lki_lock *lock, lki_party *party, unsigned reads, unsigned writes) {
    if (reads > 0 && party->hold.reads == 0) {
        lock->read_holds++;
        party->group->count++;
        if (lock->reading)
            lki_names_give(lock, &lock->groups, lock->reading);
        lock->reading = lki_name_share(party->group); /* SPEC 8.2 */
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

void lki_hold_remove(lki_lock *lock, lki_party *party) {
    lki_hold_count(lock, party, 0, 0);
    if (--party->owner->count == 0)
        lock->holding_owners--;
    lki_tree_erase(&lock->holds, party, &party->by_deadline);
    leave_handle(lock, party);
    if (is_upgrade_of(lock, &party->handle))
        enter_handle(lock, lock->upgrade);
}

/* Waiters. */

static lki_tree *queue_of(lki_lock *lock, const lki_party *party) {
    return party->wait.mode == LKI_READ ? &lock->readers : &lock->writers;
}

static void enqueue(lki_lock *lock, lki_party *party) {
    lki_tree_insert(queue_of(lock, party), &party->wait.ticket, &party->wait.by_ticket);
}

void lki_waiter_add(lki_lock *lock, lki_party *party, bool upgrade) {
    party->holds = false;
    party->wait.ticket = ++lock->ticket;
    lki_tree_insert(&lock->waiters, party, &party->by_deadline);
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

void lki_waiter_remove(lki_lock *lock, lki_party *party) {
    lki_tree_erase(&lock->waiters, party, &party->by_deadline);
    if (party != lock->upgrade) {
        lki_tree_erase(queue_of(lock, party), &party->wait.ticket, &party->wait.by_ticket);
        leave_handle(lock, party);
        return;
    }
    lock->upgrade = NULL;
    if (find(lock, &party->handle) == party)
        leave_handle(lock, party);
}

void lki_upgrade_demote(lki_lock *lock) {
    lki_party *party = lock->upgrade;
    assert(find(lock, &party->handle) == party);
    lock->upgrade = NULL;
    party->wait.ticket = ++lock->ticket;
    enqueue(lock, party);
}
