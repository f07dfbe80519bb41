/* What the messages of the server mean for handles: granted, watch, lost. */
#include "engine/message.h"

#include "base/clock.h"
#include "lock/hold.h"
#include "lock/operation.h"

#include <string.h>

enum { LEFT_LEAST_US = 1000 }; /* a grant with less of its lease left is refreshed first */

/* The message may arrive before the answer `queued`, which comes on the other connection. */
static lki_operation *operation_of(const lk_lock *lock, uint64_t request) {
    lki_operation *candidates[] = {lock->waiting, lock->asked};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        lki_operation *op = candidates[i];
        if (op && op->kind == LKI_DO_ACQUIRE && op->request == request &&
            (op->state == LKI_ASKED || lki_operation_is_queued(op)))
            return op;
    }
    return NULL;
}

/* SPEC 10.11. A grant with a fence that is not greater than the last one is known already. */
static void release_unknown(lk_lock *lock, const lki_message *message) {
    if (message->fence <= lock->last_fence || lock->asked || lock->waiting)
        return;
    lock->last_fence = message->fence;
    if (!lki_lock_holds(lock)) /* with a hold, it can only be the write of an upgrade */
        lki_undo(lock, LK_READ, message->fence);
    if (!lock->writes)
        lki_undo(lock, LK_WRITE, message->fence);
}

static int64_t later(int64_t a_us, int64_t b_us) {
    return a_us > b_us ? a_us : b_us;
}

/*
 * The earliest instant at which the hold can have begun. A later answer `queued` does not move it:
 * a waiter may miss a grant and come back (SPEC 5.6), and then the message of the missed grant may
 * arrive after that answer.
 */
static int64_t granted_from_us(const lki_server *server, const lki_operation *op) {
    return later(op->first_sent_us, lki_server_published_us(server));
}

/* The waiter was in the queue after this grant: it missed it. */
static bool is_missed(const lki_operation *op, const lki_message *message) {
    return message->server_us < op->queued_server_us;
}

/*
 * Whether a request that speaks for the waiter has no answer: a refresh, the acquire that was sent
 * again, or a cancel. If the server runs it after the grant expired unclaimed, it takes the request
 * as proof that no caller was told of the grant, and withdraws the abandoned mark (SPEC 5.6). So no
 * caller may be told before the answer. An acquire that was sent once is no such request: the
 * server ran it before the grant.
 */
static bool is_spoken_for(const lki_operation *op) {
    return op->lock->renewing_waiter || op->refresh_in_doubt || op->cancel.on_way ||
           (op->asked_again && op->ask.on_way);
}

/* is_own: only then is lki_server_published_us() about this message. */
static void granted(lk_lock *lock, const lki_message *message, bool is_own, int64_t now_us) {
    lki_operation *op = operation_of(lock, message->request);
    if (!op) {
        release_unknown(lock, message);
        return;
    }
    lki_answer answer = {.word = LKI_ANSWER_GRANTED,
                         .fence = message->fence,
                         .ms = message->ms,
                         .flags = message->flags,
                         .server_us = message->server_us};
    int64_t from_us = granted_from_us(lock->server, op);
    bool has_time = lki_lease_end_us(from_us, message->ms) >= now_us + LEFT_LEAST_US;
    bool needs_replicas = lock->session->settings.min_replicas; /* they confirm the claim */
    /*
     * While the last release of a hold has no answer, the grant may belong to it or to a new one.
     */
    if (is_own && has_time && !needs_replicas && !is_missed(op, message) && !is_spoken_for(op) &&
        !lki_hold_is_ending(lock)) {
        lki_acquire_granted(op, &answer, from_us, false);
        return;
    }
    /*
     * Refresh the waiter as soon as possible: the answer tells the state, and also claims the hold.
     * If the answer to an earlier request says `queued`, the refresh stays due: see
     * lki_waiter_schedule_refresh(). If a cancel has no answer, that answer tells the state.
     */
    lock->waiter_us = now_us;
    lki_lock_changed(lock);
}

/*
 * While the operation is ASKED, waiter_us belongs to an earlier wait, so a watch replaces it. When
 * the answer `queued` comes, lki_waiter_schedule_refresh() keeps the new value if it is earlier.
 */
static void watch(lk_lock *lock, const lki_message *message, int64_t now_us) {
    const lki_operation *op = operation_of(lock, message->request);
    int64_t due_us = lki_after_ms(now_us, message->ms);
    if (op && (op->state == LKI_ASKED || due_us < lock->waiter_us)) {
        lock->waiter_us = due_us;
        lki_lock_changed(lock);
    }
}

/*
 * Reads share a fence, so the message may be about an earlier hold of the handle. If it is older
 * than the present hold, it is about an earlier one, unless the server's clock went back. To find
 * out, renew the hold.
 */
static void lost(lk_lock *lock, const lki_message *message, int64_t now_us) {
    if (!lki_lock_holds(lock) || message->fence < lock->first_fence || message->fence > lock->fence)
        return;
    if (message->server_us >= lock->granted_server_us) {
        lki_hold_lose(lock, "it was released by force");
    } else if (!lock->manual_renew) {
        lock->renew_us = now_us;
        lki_lock_changed(lock);
    }
}

/*
 * The message is from the former server of the lock, or has come through it from another node of
 * the cluster, nobody knows how late. So it only says that something has happened.
 */
static void look_again(lk_lock *lock, int64_t now_us) {
    if (lock->waiting)
        lock->waiter_us = now_us;
    if (lki_lock_holds(lock) && !lock->manual_renew)
        lock->renew_us = now_us;
    lki_lock_changed(lock);
}

void lki_locks_heard(lki_locks *locks, lki_server *server, bool is_own, const char *text,
                     size_t length) {
    const char *at = text, *end = text + length;
    int64_t now_us = lki_now_us();
    lki_message message;
    while (lki_message_next(&at, end, &message)) {
        lk_lock *lock = lki_table_find(&locks->table, message.number);
        if (!lock || memcmp(message.handle, lock->handle, LKI_HANDLE_LENGTH) != 0)
            continue;
        if (lock->server != server) {
            look_again(lock, now_us);
            continue;
        }
        if (is_own)
            lki_server_raise_floor(server, message.server_us);
        if (message.kind == LKI_MESSAGE_GRANTED)
            granted(lock, &message, is_own, now_us);
        else if (message.kind == LKI_MESSAGE_WATCH)
            watch(lock, &message, now_us);
        else
            lost(lock, &message, now_us);
    }
}
