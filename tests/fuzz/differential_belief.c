/* See differential_belief.h. */
#include "differential_belief.h"

#include <stdlib.h>
#include <string.h>

#define CLAIM_US 1000000     /* SPEC 5.3 */
#define LIVENESS_US 10000000 /* SPEC 5.4 */

/* Where things stand in the reply of inspect and in its rows (SPEC 10.8). */
enum {
    LOCK_FENCE = 3,
    LOCK_ABANDONED,
    LOCK_HOLDERS,
    LOCK_WAITERS,
    LOCK_HOLD_ROWS,
    LOCK_WAITER_ROWS
};
enum { HOLD_READS = 3, HOLD_WRITES, HOLD_FENCE = 7, HOLD_PROVISIONAL };
enum { WAITER_MODE = 3, WAITER_REQ = 6 };

void belief_begin(belief *all, const lkc_text names[CAST_LOCKS]) {
    *all = (belief){0};
    for (size_t i = 0; i < CAST_LOCKS; i++)
        all->locks[i].name = names[i];
}

belief_lock *belief_find(belief *all, lkc_text name) {
    for (size_t i = 0; i < CAST_LOCKS; i++)
        if (all->locks[i].name.length == name.length &&
            memcmp(all->locks[i].name.bytes, name.bytes, name.length) == 0)
            return &all->locks[i];
    return NULL;
}

static uint64_t number_in(const reply *row, size_t at) {
    return (uint64_t)row->elements[at].integer;
}

static belief_party *party_in(belief_lock *lock, const reply *row) {
    int handle = cast_find(row->elements[0].text, row->elements[0].length);
    return handle == CAST_NOBODY ? NULL : &lock->parties[handle];
}

static void learn_hold(belief_party *party, const reply *row) {
    uint64_t fence = number_in(row, HOLD_FENCE);
    if (party->fence != fence)
        party->old_fence = party->fence;
    party->holds = true;
    party->fence = fence;
    party->reads = (unsigned)number_in(row, HOLD_READS);
    party->writes = (unsigned)number_in(row, HOLD_WRITES);
    party->provisional = number_in(row, HOLD_PROVISIONAL) != 0;
}

static void learn_waiter(belief_party *party, const reply *row) {
    const reply *mode = &row->elements[WAITER_MODE];
    party->waits = true;
    party->waits_req = number_in(row, WAITER_REQ);
    party->waits_for = reply_is(mode, "read")    ? LKC_WAITS_READ
                       : reply_is(mode, "write") ? LKC_WAITS_WRITE
                                                 : LKC_WAITS_UPGRADE;
}

static void learn_lock(belief_lock *lock, const reply *view) {
    const reply *holds = &view->elements[LOCK_HOLD_ROWS];
    const reply *waiters = &view->elements[LOCK_WAITER_ROWS];
    bool waited[CAST_HANDLES];
    for (int i = 0; i < CAST_HANDLES; i++) {
        belief_party *party = &lock->parties[i];
        waited[i] = party->waits;
        party->missed = party->missed || party->provisional;
        party->waits = party->holds = party->provisional = false;
        party->reads = party->writes = 0;
    }
    lock->fence = number_in(view, LOCK_FENCE);
    lock->abandoned = number_in(view, LOCK_ABANDONED) != 0;
    lock->holders = (unsigned)number_in(view, LOCK_HOLDERS);
    lock->waiters = (unsigned)number_in(view, LOCK_WAITERS);
    for (size_t i = 0; i < holds->count; i++) {
        belief_party *party = party_in(lock, &holds->elements[i]);
        if (party)
            learn_hold(party, &holds->elements[i]);
    }
    for (size_t i = 0; i < waiters->count; i++) {
        belief_party *party = party_in(lock, &waiters->elements[i]);
        if (party)
            learn_waiter(party, &waiters->elements[i]);
    }
    for (int i = 0; i < CAST_HANDLES; i++) {
        belief_party *party = &lock->parties[i];
        if (waited[i] && !party->waits && party->holds)
            party->granted_req = party->waits_req;
        if (party->holds || party->waits)
            party->missed = false;
        if (!party->holds && party->fence) {
            party->old_fence = party->fence;
            party->fence = 0;
        }
    }
}

/* Instants at which deadlines may lie. */

static void note_instant(belief *all, uint64_t instant_us) {
    all->instants[all->next_instant++ % BELIEF_INSTANTS] = instant_us;
}

static uint64_t number_of(const step_text *text) {
    return text->length <= 16 ? strtoull(text->bytes, NULL, 10) : 0;
}

static void note_lease(belief *all, uint64_t now_us, uint64_t lease_us) {
    note_instant(all, now_us + lease_us);
    if (lease_us > LIVENESS_US)
        note_instant(all, now_us + LIVENESS_US);
}

static void learn_instants(belief *all, const step *one, const form_pair *pair) {
    for (size_t i = 0; i < one->argument_count; i++) {
        uint64_t ms = number_of(&one->arguments[i]);
        if (strcmp(step_argument_name(one->op, i), "lease_ms") == 0 && ms >= LKC_LEASE_LEAST_MS &&
            ms <= LKC_LEASE_MOST_MS)
            note_lease(all, one->now_us, ms * 1000);
    }
    if (pair->done.message_count > 0)
        note_instant(all, one->now_us + CLAIM_US);
    for (size_t i = 0; i < pair->done.rest_count; i++)
        if (one->now_us % 4 == 0) /* now and then: it is the same one after most steps */
            note_instant(all, pair->done.rests[i].expires_ms * 1000);
}

/* SPEC 9.8: these are not remembered by the lock, and so not worth repeating. */
static bool changed_nothing(const reply *answer) {
    return answer->type != REPLY_ARRAY || reply_is(&answer->elements[0], "stale") ||
           reply_is(&answer->elements[0], "not-held") || reply_is(&answer->elements[0], "busy") ||
           reply_is(&answer->elements[0], "deadlock");
}

static void learn_request(belief *all, const step *one, const reply *answer) {
    belief_lock *lock = belief_find(all, (lkc_text){one->names[0].bytes, one->names[0].length});
    bool numbered = one->op == LKC_OP_ACQUIRE || one->op == LKC_OP_RELEASE ||
                    one->op == LKC_OP_CONVERT || one->op == LKC_OP_CANCEL;
    if (!lock || !numbered || one->argument_count < 3 || changed_nothing(answer))
        return;
    int handle = cast_find(one->arguments[0].bytes, one->arguments[0].length);
    if (handle == CAST_NOBODY)
        return;
    belief_party *party = &lock->parties[handle];
    party->last_req = number_of(&one->arguments[1]);
    party->last_op = one->op;
    if (one->argument_count > 3)
        party->last_mode = strcmp(one->arguments[3].bytes, "write") == 0 ? LKC_WRITE : LKC_READ;
}

void belief_learn(belief *all, const step *one, const form_pair *pair) {
    all->now_us = one->now_us;
    if (one->now_us > all->latest_us)
        all->latest_us = one->now_us;
    for (size_t i = 0; i < pair->view_count; i++) {
        belief_lock *lock = belief_find(all, pair->views[i].name);
        if (lock && pair->views[i].lock.type == REPLY_ARRAY)
            learn_lock(lock, &pair->views[i].lock);
    }
    learn_request(all, one, &pair->done.answer);
    learn_instants(all, one, pair);
}
