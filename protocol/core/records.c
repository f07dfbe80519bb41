/* See records.h. */
#include "records.h"

/* Every record has room for a usual `who`, so the spare record usually fits the next request. */
enum { ROOM_LEAST = 16 };

static int compare_handle(const void *key, const lkc_node *node) {
    return lkc_handle_compare(key, &LKC_NODE_OWNER(node, const lkc_record, by_handle)->handle);
}

static int compare_deadline(const void *key, const lkc_node *node) {
    const lkc_record *a = key, *b = LKC_NODE_OWNER(node, const lkc_record, by_deadline);
    if (a->deadline_us != b->deadline_us)
        return a->deadline_us < b->deadline_us ? -1 : 1;
    return lkc_handle_compare(&a->handle, &b->handle);
}

static int compare_ticket(const void *key, const lkc_node *node) {
    const uint64_t *a = key,
                   *b = &LKC_NODE_OWNER(node, const lkc_record, wait.by_ticket)->wait.ticket;
    return (*a > *b) - (*a < *b);
}

void lkc_records_init(lkc_lock *lock) {
    lock->handles.compare = compare_handle;
    lock->holds.compare = lock->waiters.compare = lock->missed.compare = compare_deadline;
    lock->readers.compare = lock->writers.compare = compare_ticket;
    lkc_names_init(&lock->owners);
    lkc_names_init(&lock->groups);
}

/* Memory. */

static size_t size_of(size_t room) {
    return offsetof(lkc_record, who) + room;
}

static lkc_record *take_record(lkc_lock *lock, size_t who_length) {
    lkc_record *record = lock->spare;
    if (record && record->who_room >= who_length) {
        lock->spare = NULL;
        return record;
    }
    size_t room = who_length > ROOM_LEAST ? who_length : ROOM_LEAST;
    record = lkc_memory_take(lock, size_of(room));
    if (record)
        record->who_room = (uint8_t)room;
    return record;
}

static void give_record(lkc_lock *lock, lkc_record *record) {
    if (record)
        lkc_memory_give(lock, record, size_of(record->who_room));
}

/* The one with more room becomes the spare: it is more likely to fit the next request. */
void lkc_record_recycle(lkc_lock *lock, lkc_record *record) {
    if (lock->spare && lock->spare->who_room >= record->who_room) {
        give_record(lock, record);
    } else {
        give_record(lock, lock->spare);
        lock->spare = record;
    }
}

lkc_record *lkc_record_new(lkc_lock *lock, const lkc_handle *handle, lkc_text owner, lkc_text group,
                           lkc_text who) {
    char packed[LKC_HANDLE_PACKED];
    lkc_name_key owner_key = lkc_owner_key(owner, handle, packed);
    lkc_name_key group_key = lkc_group_key(group);
    lkc_record *record = take_record(lock, who.length);
    if (!record)
        return NULL;
    record->owner = lkc_names_take(lock, &lock->owners, &owner_key);
    record->group = record->owner ? lkc_names_take(lock, &lock->groups, &group_key) : NULL;
    if (!record->group) {
        if (record->owner)
            lkc_names_give(lock, &lock->owners, record->owner);
        lkc_record_recycle(lock, record);
        return NULL;
    }
    record->handle = *handle;
    record->role = LKC_ROLE_NEW;
    record->provisional = record->tells_granted = record->tells_lost = false;
    record->who_length = (uint8_t)who.length;
    if (who.length > 0)
        memcpy(record->who, who.bytes, who.length);
    return record;
}

void lkc_record_free(lkc_lock *lock, lkc_record *record) {
    lkc_names_give(lock, &lock->owners, record->owner);
    lkc_names_give(lock, &lock->groups, record->group);
    if (!record->tells_granted && !record->tells_lost) {
        lkc_record_recycle(lock, record);
        return;
    }
    record->next_gone = NULL;
    if (lock->gone_tail)
        lock->gone_tail->next_gone = record;
    else
        lock->gone_head = record;
    lock->gone_tail = record;
}

void lkc_records_free(lkc_lock *lock) {
    lkc_record *record;
    while ((record = lkc_record_by_deadline(lock->waiters.root)) ||
           (record = lkc_record_by_deadline(lock->missed.root))) {
        lkc_waiter_remove(lock, record);
        lkc_record_free(lock, record);
    }
    while ((record = lkc_record_by_deadline(lock->holds.root))) {
        lkc_hold_remove(lock, record);
        lkc_record_free(lock, record);
    }
    while ((record = lock->gone_head)) {
        lock->gone_head = record->next_gone;
        lkc_record_recycle(lock, record);
    }
    if (lock->read_group)
        lkc_names_give(lock, &lock->groups, lock->read_group);
    give_record(lock, lock->spare);
    lkc_names_free(lock, &lock->owners);
    lkc_names_free(lock, &lock->groups);
}

/* Handles and deadlines. */

static void enter_handle(lkc_lock *lock, lkc_record *record) {
    lkc_tree_insert(&lock->handles, &record->handle, &record->by_handle);
}

static void leave_handle(lkc_lock *lock, lkc_record *record) {
    lkc_tree_erase(&lock->handles, &record->handle, &record->by_handle);
}

static lkc_record *find(const lkc_lock *lock, const lkc_handle *handle) {
    lkc_node *node = lkc_tree_find(&lock->handles, handle);
    return node ? LKC_NODE_OWNER(node, lkc_record, by_handle) : NULL;
}

static bool is_upgrade_of(const lkc_lock *lock, const lkc_handle *handle) {
    return lock->upgrade && lkc_handle_is(&lock->upgrade->handle, handle);
}

lkc_pair lkc_pair_find(const lkc_lock *lock, const lkc_handle *handle) {
    lkc_record *record = find(lock, handle);
    if (!record)
        return (lkc_pair){NULL, NULL};
    if (record->role != LKC_ROLE_HOLD)
        return (lkc_pair){NULL, record};
    return (lkc_pair){record, is_upgrade_of(lock, handle) ? lock->upgrade : NULL};
}

uint64_t lkc_pair_last(const lkc_pair *pair) {
    uint64_t held = pair->hold ? pair->hold->hold.last : 0;
    return lkc_max(held, pair->waiter ? pair->waiter->wait.req : 0);
}

void lkc_record_extend(lkc_lock *lock, lkc_record *record, uint64_t deadline_us) {
    if (deadline_us <= record->deadline_us)
        return;
    assert(record->role == LKC_ROLE_HOLD || record->role == LKC_ROLE_WAITER);
    lkc_tree *tree = record->role == LKC_ROLE_HOLD ? &lock->holds : &lock->waiters;
    lkc_tree_erase(tree, record, &record->by_deadline);
    record->deadline_us = deadline_us;
    lkc_tree_insert(tree, record, &record->by_deadline);
}

/* Holds. */

void lkc_hold_add(lkc_lock *lock, lkc_record *hold) {
    hold->role = LKC_ROLE_HOLD;
    hold->hold.reads = hold->hold.writes = 0;
    enter_handle(lock, hold);
    lkc_tree_insert(&lock->holds, hold, &hold->by_deadline);
    if (hold->owner->count++ == 0)
        lock->holding_owners++;
}

void lkc_hold_count(lkc_lock *lock, lkc_record *hold, unsigned reads, unsigned writes) {
    if (reads > 0 && hold->hold.reads == 0) {
        lock->read_holds++;
        hold->group->count++;
        if (lock->read_group)
            lkc_names_give(lock, &lock->groups, lock->read_group);
        lock->read_group = lkc_name_share(hold->group); /* SPEC 8.2 */
    } else if (reads == 0 && hold->hold.reads > 0) {
        lock->read_holds--;
        hold->group->count--;
    }
    if (writes > 0 && hold->hold.writes == 0)
        lock->write_holds++;
    else if (writes == 0 && hold->hold.writes > 0)
        lock->write_holds--;
    hold->hold.reads = (uint16_t)reads;
    hold->hold.writes = (uint16_t)writes;
}

void lkc_hold_remove(lkc_lock *lock, lkc_record *hold) {
    lkc_hold_count(lock, hold, 0, 0);
    if (--hold->owner->count == 0)
        lock->holding_owners--;
    lkc_tree_erase(&lock->holds, hold, &hold->by_deadline);
    leave_handle(lock, hold);
    if (is_upgrade_of(lock, &hold->handle))
        enter_handle(lock, lock->upgrade);
}

/* Waiters. Those that are missed are in no queue. */

static lkc_tree *queue_of(lkc_lock *lock, const lkc_record *waiter) {
    return waiter->wait.mode == LKC_READ ? &lock->readers : &lock->writers;
}

static void enqueue(lkc_lock *lock, lkc_record *waiter) {
    lkc_tree_insert(queue_of(lock, waiter), &waiter->wait.ticket, &waiter->wait.by_ticket);
}

void lkc_waiter_add(lkc_lock *lock, lkc_record *waiter, bool upgrade) {
    waiter->role = LKC_ROLE_WAITER;
    waiter->wait.ticket = ++lock->ticket;
    lkc_tree_insert(&lock->waiters, waiter, &waiter->by_deadline);
    if (!upgrade) {
        enter_handle(lock, waiter);
        enqueue(lock, waiter);
        return;
    }
    assert(!lock->upgrade);
    lock->upgrade = waiter;
    if (!find(lock, &waiter->handle))
        enter_handle(lock, waiter);
}

void lkc_waiter_remove(lkc_lock *lock, lkc_record *waiter) {
    if (waiter->role == LKC_ROLE_MISSED) {
        lkc_tree_erase(&lock->missed, waiter, &waiter->by_deadline);
        leave_handle(lock, waiter);
        return;
    }
    lkc_tree_erase(&lock->waiters, waiter, &waiter->by_deadline);
    if (waiter != lock->upgrade) {
        lkc_tree_erase(queue_of(lock, waiter), &waiter->wait.ticket, &waiter->wait.by_ticket);
        leave_handle(lock, waiter);
        return;
    }
    lock->upgrade = NULL;
    if (find(lock, &waiter->handle) == waiter)
        leave_handle(lock, waiter);
}

void lkc_upgrade_demote(lkc_lock *lock) {
    lkc_record *waiter = lock->upgrade;
    assert(find(lock, &waiter->handle) == waiter);
    lock->upgrade = NULL;
    waiter->wait.ticket = ++lock->ticket;
    enqueue(lock, waiter);
}

void lkc_hold_miss(lkc_lock *lock, lkc_record *hold, uint64_t until_us) {
    /* The hold and the waiter share memory: read all of the one before writing the other. */
    assert(hold->hold.reads + hold->hold.writes == 1 && !is_upgrade_of(lock, &hold->handle));
    uint64_t ticket = hold->hold.ticket, req = hold->hold.granted_for;
    uint16_t liveness_ms = hold->hold.liveness_ms;
    lkc_mode mode = hold->hold.writes > 0 ? LKC_WRITE : LKC_READ;
    lkc_hold_remove(lock, hold);
    hold->role = LKC_ROLE_MISSED;
    hold->provisional = false;
    hold->deadline_us = until_us;
    hold->wait.ticket = ticket;
    hold->wait.req = req;
    hold->wait.liveness_ms = liveness_ms;
    hold->wait.mode = (uint8_t)mode;
    enter_handle(lock, hold);
    lkc_tree_insert(&lock->missed, hold, &hold->by_deadline);
}

void lkc_missed_return(lkc_lock *lock, lkc_record *missed, uint64_t deadline_us) {
    assert(missed->role == LKC_ROLE_MISSED);
    lkc_tree_erase(&lock->missed, missed, &missed->by_deadline);
    missed->role = LKC_ROLE_WAITER;
    missed->deadline_us = deadline_us;
    lkc_tree_insert(&lock->waiters, missed, &missed->by_deadline);
    enqueue(lock, missed);
}
