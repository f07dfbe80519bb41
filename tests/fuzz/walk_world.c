/* See walk_world.h. It knows the state of the lock, and none of the rules. */
#include "walk_world.h"

#include "differential_cast.h"
#include "form.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const char *label, *owner, *group;
} member;

static const member members[WALK_HANDLES] = {{"A", "x", "g"}, {"B", "x", "h"}, {"C", "y", "g"}};

lkc_text world_handle_text(int handle) {
    return cast_handle(handle);
}

const char *world_label(int handle) {
    return members[handle].label;
}

lkc_text world_owner(int handle) {
    return cast_text(members[handle].owner);
}

static bool has_one_group;

lkc_text world_group(int handle) {
    return cast_text(members[has_one_group ? 0 : handle].group);
}

void world_use_one_group(void) {
    has_one_group = true;
}

lkc_handle world_handle(int handle) {
    static lkc_handle parsed[WALK_HANDLES];
    static bool done;
    for (int i = 0; !done && i < WALK_HANDLES; i++)
        if (!lkc_handle_parse(cast_handle(i), &parsed[i]))
            abort();
    done = true;
    return parsed[handle];
}

/* Memory. */

static void *take_slot(void *slots, bool *used, size_t count, size_t size) {
    for (size_t i = 0; i < count; i++)
        if (!used[i]) {
            used[i] = true;
            return (unsigned char *)slots + i * size;
        }
    fprintf(stderr, "the arena of the walk is too small\n");
    abort();
}

static void *arena_allocate(size_t size, void *context) {
    walk_arena *arena = context;
    if (size <= ARENA_NAME_SIZE)
        return take_slot(arena->names, arena->name_used, ARENA_NAMES, ARENA_NAME_SIZE);
    if (size <= ARENA_RECORD_SIZE)
        return take_slot(arena->records, arena->record_used, ARENA_RECORDS, ARENA_RECORD_SIZE);
    assert(size <= sizeof arena->lock);
    return take_slot(arena->lock, &arena->lock_used, 1, sizeof arena->lock);
}

static void arena_release(void *memory, void *context) {
    walk_arena *arena = context;
    for (size_t i = 0; i < ARENA_NAMES; i++)
        if (memory == arena->names[i])
            arena->name_used[i] = false;
    for (size_t i = 0; i < ARENA_RECORDS; i++)
        if (memory == arena->records[i])
            arena->record_used[i] = false;
    if (memory == arena->lock)
        arena->lock_used = false;
}

void world_begin(walk_world *world, lkc_policy policy) {
    lkc_allocator allocator = {arena_allocate, arena_release, &world->arena};
    *world = (walk_world){.policy = policy, .now_us = FORM_CLOCK_START_US};
    world->lock = lkc_lock_new(&allocator);
}

size_t world_end(walk_world *world) {
    size_t left = 0;
    lkc_lock_free(world->lock);
    world->lock = NULL;
    for (size_t i = 0; i < ARENA_NAMES; i++)
        left += world->arena.name_used[i];
    for (size_t i = 0; i < ARENA_RECORDS; i++)
        left += world->arena.record_used[i];
    return left + world->arena.lock_used;
}

/* What is there. */

lkc_pair world_pair(const walk_world *world, int handle) {
    lkc_handle wanted = world_handle(handle);
    return lkc_pair_find(world->lock, &wanted);
}

static bool has_deadline(const walk_world *world, bool passed) {
    for (int i = 0; i < WALK_HANDLES; i++) {
        lkc_pair pair = world_pair(world, i);
        if ((pair.hold && (pair.hold->deadline_us <= world->now_us) == passed) ||
            (pair.waiter && (pair.waiter->deadline_us <= world->now_us) == passed))
            return true;
    }
    return false;
}

bool world_has_unexpired(const walk_world *world) {
    return has_deadline(world, false);
}

bool world_has_expired(const walk_world *world) {
    return has_deadline(world, true);
}

/* Which operations may do something. */

static bool may_with_hold(const lkc_record *hold, walk_kind kind) {
    switch (kind) {
    case WALK_ACQUIRE_READ:
    case WALK_ACQUIRE_READ_WAIT:
        return hold->hold.reads < WALK_COUNT_MOST;
    case WALK_ACQUIRE_WRITE:
    case WALK_ACQUIRE_WRITE_WAIT:
        return hold->hold.writes < WALK_COUNT_MOST;
    case WALK_AGAIN_GRANTED:
        return hold->hold.granted_for > 0;
    case WALK_AGAIN_LAST:
        return hold->hold.last_by != LKC_BY_CANCEL && hold->hold.last != hold->hold.granted_for;
    case WALK_RELEASE_READ:
        return hold->hold.reads > 0;
    case WALK_RELEASE_WRITE:
    case WALK_RELEASE_UNTOLD:
        return hold->hold.writes > 0;
    case WALK_CONVERT:
        return hold->hold.writes > 0 && hold->hold.reads < WALK_COUNT_MOST;
    default:
        return true;
    }
}

static bool may_of_handle(const lkc_pair *pair, walk_kind kind) {
    switch (kind) {
    case WALK_AGAIN_WAITER:
    case WALK_CANCEL:
        return pair->waiter;
    case WALK_RENEW_WAITER: /* also when its client does not know yet that it was granted */
        return pair->waiter || (pair->hold && pair->hold->hold.granted_for > 0);
    case WALK_ACQUIRE_READ:
    case WALK_ACQUIRE_READ_WAIT:
    case WALK_ACQUIRE_WRITE:
    case WALK_ACQUIRE_WRITE_WAIT:
        return !pair->hold || may_with_hold(pair->hold, kind);
    default:
        return pair->hold && may_with_hold(pair->hold, kind);
    }
}

size_t world_ops(const walk_world *world, walk_op out[WALK_OPS_MOST]) {
    size_t count = 0;
    const lkc_lock *lock = world->lock;
    for (int handle = 0; handle < WALK_HANDLES; handle++) {
        lkc_pair pair = world_pair(world, handle);
        for (int kind = 0; kind < WALK_FORCE; kind++)
            if (may_of_handle(&pair, (walk_kind)kind))
                out[count++] = (walk_op)(kind * WALK_HANDLES + handle);
        if (lock->holds.root)
            out[count++] = (walk_op)(WALK_FORCE * WALK_HANDLES + handle);
    }
    if (world_has_expired(world) || (lkc_lock_is_empty(lock) && lock->fence > 0))
        out[count++] = WALK_TOUCH * WALK_HANDLES;
    if (world_has_unexpired(world))
        out[count++] = WALK_SECOND * WALK_HANDLES;
    else if (lkc_lock_expires_ms(lock) * LKC_MS_US > world->now_us)
        out[count++] = WALK_END * WALK_HANDLES;
    return count;
}
