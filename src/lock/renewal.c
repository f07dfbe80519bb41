/* See renewal.h. Also lk_renew, which renews one hold. */
#include "lock/renewal.h"

#include "base/clock.h"
#include "base/memory.h"
#include "lock/hold.h"
#include "lock/operation.h"

/* The server drops a silent waiter after its lease, but at most 10 s: it refreshes three times. */
enum { LIVENESS_MOST_MS = 10000, REFRESHES = 3 };
enum { RETRY_MS = 250, RETRIES_PER_LEASE = 10 };

/* The hold or waiter of a handle at the time of sending. */
typedef struct {
    lk_lock *lock;
    bool waiter;
    uint64_t which;      /* the hold_serial of the hold, or the request number of the waiter */
    bool is_wide;        /* sent with both keys of the lock */
    bool is_unconfirmed; /* renewed; replicas must confirm it before the deadline moves */
    int64_t ms;          /* is_unconfirmed: the lease that is left */
} entry;

typedef struct {
    lki_request request;
    lki_confirmation confirmation;
    lki_server *server;
    lki_sent sent;
    size_t count;
    entry entries[];
} batch;

static int64_t shorter(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/*
 * SPEC 5.5: the waiters at positions 1 and 2 also ask at the next deadline of the lock. If a
 * refresh was requested after this answer's request was sent, it stays: the answer may be too old
 * for it.
 */
void lki_waiter_schedule_refresh(lk_lock *lock, const lki_answer *queued, int64_t sent_us) {
    int64_t refresh_ms = shorter(lock->lease_ms, LIVENESS_MOST_MS) / REFRESHES;
    if (queued->position >= 1 && queued->position <= 2)
        refresh_ms = shorter(refresh_ms, queued->ms > 0 ? queued->ms : 1);
    int64_t next_us = lki_after_ms(lki_now_us(), refresh_ms);
    lock->waiter_us = lock->waiter_us > sent_us ? shorter(lock->waiter_us, next_us) : next_us;
    lock->waiting->queued_server_us = queued->server_us;
}

/* ------------------------------------------------------------------------------ answers */

static bool is_same_hold(const entry *e) {
    return lki_lock_holds(e->lock) && e->lock->hold_serial == e->which;
}

static lki_operation *same_waiter(const entry *e) {
    lki_operation *op = e->lock->waiting;
    return op && lki_operation_is_queued(op) && op->request == e->which ? op : NULL;
}

/*
 * Not while its cancel has no answer: the answer may be a grant, and then no request that speaks
 * for the waiter may be on its way (see is_spoken_for() in messages.c).
 */
static bool may_refresh(const lk_lock *lock) {
    const lki_operation *op = lock->waiting;
    return op && lki_operation_is_queued(op) && !op->cancel.on_way;
}

/* After ms, or sooner if the lease is short. */
static void retry_after(const entry *e, int64_t ms) {
    ms = shorter(ms, e->lock->lease_ms / RETRIES_PER_LEASE);
    int64_t due_us = lki_after_ms(lki_now_us(), ms);
    if (e->waiter)
        e->lock->waiter_us = due_us;
    else if (is_same_hold(e))
        e->lock->renew_us = due_us;
}

static void hold_answered(entry *e, const lki_answer *answer, int64_t sent_us) {
    if (!is_same_hold(e))
        return;
    e->is_unconfirmed = answer->word == LKI_ANSWER_LEASE && e->lock->session->settings.min_replicas;
    e->ms = answer->ms;
    if (e->is_unconfirmed)
        return;
    if (answer->word == LKI_ANSWER_LEASE)
        lki_hold_renewed(e->lock, sent_us, answer->ms);
    else if (answer->word == LKI_ANSWER_NOT_HELD)
        lki_hold_gone(e->lock);
    else
        retry_after(e, RETRY_MS);
}

static void waiter_answered(const entry *e, const lki_answer *answer, int64_t sent_us) {
    lki_operation *op = same_waiter(e);
    if (!op)
        return;
    switch (answer->word) {
    case LKI_ANSWER_QUEUED:
        lki_waiter_schedule_refresh(e->lock, answer, sent_us);
        break;
    case LKI_ANSWER_GRANTED:
        lki_acquire_granted(op, answer, sent_us, true);
        break;
    case LKI_ANSWER_NOT_HELD: /* SPEC 9.7: the server dropped it; it asks again, at the end */
        if (op->state == LKI_CANCELING) { /* its cancel would get the same answer */
            lki_operation_report(op, op->cancel_status, NULL);
            lki_operation_over(op);
        } else {
            op->silent_since_us = lki_now_us();
            op->request = 0; /* so that a late message about an expired grant does not match */
            lki_operation_set(op, LKI_UNSENT);
        }
        break;
    default:
        retry_after(e, RETRY_MS);
        break;
    }
}

static void log_refusal(const batch *b, const char *text, const char *advice,
                        const char *what_next) {
    lki_session *session = b->server->session;
    lki_log(session, LK_LOG_WARNING, "%s: the server refused a renewal of %zu: %s; %s%s",
            session->topology->shown, b->count, text, advice, what_next);
}

static void set_renewing(const entry *e, bool on_way) {
    if (e->waiter)
        e->lock->renewing_waiter = on_way;
    else
        e->lock->renewing_hold = on_way;
}

static bool send_batch(lki_server *, const entry *, size_t count, int64_t now_us);

static void send_alone(const entry *e) {
    bool is_wanted = e->waiter ? same_waiter(e) && may_refresh(e->lock)
                               : is_same_hold(e) && !lki_hold_is_ending(e->lock);
    if (is_wanted && !send_batch(e->lock->server, e, 1, lki_now_us()))
        retry_after(e, RETRY_MS);
}

/* The server refused this entry, but not the others. */
static void entry_failed(const batch *b, const entry *e, const char *text) {
    lki_refusal refusal = lki_refusal_read(text, e->is_wide);
    lki_lock_note_refusal(e->lock, &refusal, &(lki_elsewhere){0});
    if (refusal.kind == LKI_REFUSED_RESEND) {
        if (b->count == 1)
            send_alone(e); /* a batch may be refused as split, and would send it alone again */
        else
            retry_after(e, 0);
        return;
    }
    log_refusal(b, text, refusal.advice, "");
    retry_after(e, RETRY_MS);
}

static void entry_answered(batch *b, size_t i, const redisReply *reply, uint64_t server_us) {
    entry *e = &b->entries[i];
    lki_answer answer = lki_answer_entry(reply, i);
    answer.server_us = server_us;
    if (answer.word == LKI_ANSWER_ERROR)
        entry_failed(b, e, answer.text);
    else if (e->waiter)
        waiter_answered(e, &answer, b->request.sent_us);
    else
        hold_answered(e, &answer, b->request.sent_us);
}

/*
 * Whether one entry may be the reason why the server refuses the whole command: its key may be in
 * another slot, or the user may lack the right to it. LK_UNAVAILABLE concerns every entry.
 */
static bool is_about_an_entry(const lki_refusal *refusal) {
    return refusal->kind == LKI_REFUSED_FINAL && refusal->status != LK_UNAVAILABLE;
}

static void entry_refused(const batch *b, const entry *e, const lki_refusal *refusal,
                          const lki_elsewhere *elsewhere) {
    bool is_alone = b->count == 1;
    /* The next one is wide, and so is not sent for ever. */
    lki_lock_note_refusal(e->lock, refusal, elsewhere);
    if (elsewhere->to)
        retry_after(e, 0); /* the handle goes there first */
    else if (refusal->is_split && !is_alone)
        send_alone(e); /* its key may be here, and that of another entry not */
    else if (refusal->kind == LKI_REFUSED_RESEND && !is_alone)
        retry_after(e, 0);
    else if (refusal->kind == LKI_REFUSED_RESEND)
        send_alone(e); /* in a batch again, it could be refused for another entry */
    else if (!is_about_an_entry(refusal))
        retry_after(e, RETRY_MS);
    else if (!is_alone)
        send_alone(e);
    else
        retry_after(e, e->lock->lease_ms);
}

/* The connection was lost. All handles renew when there is a new one. */
static void entry_lost(const entry *e) {
    lki_operation *op = e->waiter ? same_waiter(e) : NULL;
    if (op)
        op->refresh_in_doubt = true;
    e->lock->renewal_in_doubt = lki_lock_holds(e->lock);
}

static lki_refusal read_refusal(const batch *b, const char *text, lki_elsewhere *elsewhere) {
    lki_refusal refusal = lki_server_refused(b->server, b->sent, text, elsewhere);
    if (refusal.kind != LKI_REFUSED_RESEND)
        log_refusal(b, text, refusal.advice,
                    b->count > 1 && is_about_an_entry(&refusal) ? "; each is sent alone now" : "");
    return refusal;
}

/* A hold that replicas have not confirmed keeps its earlier deadline. */
static void entry_confirmed(const entry *e, int64_t sent_us, bool is_confirmed) {
    set_renewing(e, false);
    if (is_confirmed && is_same_hold(e))
        lki_hold_renewed(e->lock, sent_us, e->ms);
    else
        retry_after(e, RETRY_MS);
    lki_lock_changed(e->lock);
    lki_lock_release(e->lock);
}

static void batch_confirmed(lki_confirmation *confirmation, const lki_error *why) {
    batch *b = (batch *)(void *)((char *)confirmation - offsetof(batch, confirmation));
    if (why)
        lki_log(b->server->session, LK_LOG_WARNING, "%s: a renewal does not count, because %s",
                b->server->session->topology->shown, why->text);
    for (size_t i = 0; i < b->count; i++)
        if (b->entries[i].is_unconfirmed)
            entry_confirmed(&b->entries[i], b->request.sent_us, !why);
    lki_free(b);
}

static void batch_answered(lki_request *request, const redisReply *reply) {
    batch *b = (batch *)(void *)request;
    lki_answer whole = {.word = LKI_ANSWER_NONSENSE};
    lki_refusal refusal = {.kind = LKI_REFUSED_LATER};
    lki_elsewhere elsewhere = {0};
    if (reply)
        whole = lki_answer_read(reply);
    if (whole.word == LKI_ANSWER_RENEWED)
        lki_server_raise_floor(b->server, whole.server_us);
    if (whole.word == LKI_ANSWER_ERROR)
        refusal = read_refusal(b, whole.text, &elsewhere);
    bool is_unconfirmed = false;
    for (size_t i = 0; i < b->count; i++) {
        const entry *e = &b->entries[i];
        set_renewing(e, false);
        if (!reply)
            entry_lost(e);
        else if (whole.word == LKI_ANSWER_RENEWED)
            entry_answered(b, i, reply, whole.server_us);
        else
            entry_refused(b, e, &refusal, &elsewhere);
        lki_lock_changed(e->lock);
        is_unconfirmed = is_unconfirmed || e->is_unconfirmed;
        if (e->is_unconfirmed)
            set_renewing(e, true); /* it keeps the handle until batch_confirmed() */
        else
            lki_lock_release(e->lock);
    }
    if (is_unconfirmed) {
        b->confirmation.done = batch_confirmed;
        lki_confirm(b->server, &b->confirmation);
    } else {
        lki_free(b);
    }
}

/* ------------------------------------------------------------------------------ sending */

static int64_t hold_due_us(const lk_lock *lock) {
    bool is_renewed = lki_lock_holds(lock) && !lock->freed && !lki_hold_is_ending(lock);
    return is_renewed && !lock->renewing_hold ? lock->renew_us : LKI_NEVER;
}

static int64_t waiter_due_us(const lk_lock *lock) {
    return may_refresh(lock) && !lock->renewing_waiter ? lock->waiter_us : LKI_NEVER;
}

int64_t lki_renewal_due_us(const lk_lock *lock) {
    if (!lki_lock_can_send(lock))
        return LKI_NEVER; /* all handles renew when they are connected again */
    return shorter(hold_due_us(lock), waiter_due_us(lock));
}

static size_t add_entries(lk_lock *lock, int64_t now_us, entry *out) {
    size_t count = 0;
    if (hold_due_us(lock) <= now_us)
        out[count++] = (entry){.lock = lock, .which = lock->hold_serial};
    if (waiter_due_us(lock) <= now_us)
        out[count++] = (entry){.lock = lock, .waiter = true, .which = lock->waiting->request};
    return count;
}

static lki_renew_entry to_renew_entry(const entry *e) {
    return (lki_renew_entry){.key = lki_lock_key(e->lock),
                             .handle = e->lock->handle,
                             .fence = e->waiter ? 0 : e->lock->fence,
                             .req = e->waiter ? e->which : 0,
                             .lease_ms = e->lock->lease_ms};
}

static bool send_batch(lki_server *server, const entry *entries, size_t count, int64_t now_us) {
    lki_link *link = &server->commands.link;
    lki_renew_entry encoded[LKI_RENEW_MOST];
    bool asking = entries[0].lock->asking;
    if (!lki_lock_can_send(entries[0].lock) || (asking && !lki_server_asking(server)))
        return false;
    batch *b = lki_new(sizeof *b + count * sizeof *entries);
    if (!b)
        return false;
    b->server = server;
    b->count = count;
    b->request.complete = batch_answered;
    for (size_t i = 0; i < count; i++) {
        b->entries[i] = entries[i];
        encoded[i] = to_renew_entry(&entries[i]);
        b->entries[i].is_wide = encoded[i].key.is_wide;
    }
    b->sent = lki_form_renew(&server->form, lki_link_begin(link), encoded, count);
    if (lki_link_commit(link, &b->request, now_us) != LK_OK) {
        lki_free(b);
        return false;
    }
    lki_server_hurry(server);
    for (size_t i = 0; i < count; i++) {
        set_renewing(&entries[i], true);
        lki_lock_retain(entries[i].lock);
    }
    return true;
}

static void send_or_retry(lki_server *server, const entry *entries, size_t count, int64_t now_us) {
    bool sent = send_batch(server, entries, count, now_us);
    for (size_t i = 0; i < count; i++) {
        if (!sent)
            retry_after(&entries[i], RETRY_MS);
        lki_lock_changed(entries[i].lock);
    }
}

static lk_lock *merge(lk_lock *a, lk_lock *b) {
    lk_lock *first = NULL, **end = &first;
    while (a && b) {
        lk_lock **lower = b->slot < a->slot ? &b : &a;
        *end = *lower;
        end = &(*lower)->next_due;
        *lower = *end;
    }
    *end = a ? a : b;
    return first;
}

/* A merge sort of the list. Handles of one slot stay in their order. */
static lk_lock *sort_by_slot(lk_lock *first) {
    lk_lock *runs[32] = {0}; /* runs[i]: a sorted list of 2^i handles, or NULL */
    while (first) {
        lk_lock *list = first;
        size_t i = 0;
        first = first->next_due;
        list->next_due = NULL;
        for (; runs[i]; i++) {
            list = merge(runs[i], list);
            runs[i] = NULL;
        }
        runs[i] = list;
    }
    lk_lock *sorted = NULL;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        sorted = merge(runs[i], sorted);
    return sorted;
}

/* Whether entries of both handles may be in one command: a cluster wants one slot a command. */
static bool go_together(const lk_lock *a, const lk_lock *b) {
    return a->slot == b->slot && a->asking == b->asking;
}

void lki_renewals_send(lki_server *server, lk_lock *first, int64_t now_us) {
    entry entries[LKI_RENEW_MOST + 1]; /* a handle may add two, when there is room for one */
    size_t count = 0;
    first = sort_by_slot(first);
    while (first) {
        lk_lock *lock = first;
        first = lock->next_due;
        lock->next_due = NULL;
        if (count && !go_together(entries[0].lock, lock)) {
            send_or_retry(server, entries, count, now_us);
            count = 0;
        }
        count += add_entries(lock, now_us, entries + count);
        if (count >= LKI_RENEW_MOST) {
            send_or_retry(server, entries, LKI_RENEW_MOST, now_us);
            entries[0] = entries[LKI_RENEW_MOST];
            count -= LKI_RENEW_MOST;
        }
    }
    if (count)
        send_or_retry(server, entries, count, now_us);
}

/* ------------------------------------------------------------------------------ lk_renew */

bool lki_renew_check(lki_operation *op) {
    if (lki_lock_holds(op->lock)) {
        if (op->lease_ms > op->lock->lease_most_ms)
            op->lock->lease_most_ms = op->lease_ms;
        return true;
    }
    lki_operation_report(op, op->lock->lost ? LK_LOST : LK_NOT_HELD, NULL);
    lki_operation_over(op);
    return false;
}

static void renewed(lki_operation *op, const lki_answer *answer, int64_t sent_us) {
    lk_lock *lock = op->lock;
    lk_status status = LK_OK;
    if (answer->word == LKI_ANSWER_LEASE && lki_lock_holds(lock))
        lki_hold_renewed(lock, sent_us, answer->ms);
    else if (answer->word == LKI_ANSWER_NOT_HELD)
        lki_hold_gone(lock);
    else if (answer->word != LKI_ANSWER_LEASE)
        status = LK_INTERNAL;
    if (!lki_lock_holds(lock)) /* also if another thread has unlocked it meanwhile */
        status = LK_LOST;
    lki_operation_report(op, status, NULL);
    lki_operation_over(op);
}

void lki_renew_answered(lki_operation *op, const lki_answer *answer) {
    bool is_renewed = answer->word == LKI_ANSWER_LEASE;
    if (!is_renewed || !lki_operation_confirm(op, answer, op->ask.sent_us))
        renewed(op, answer, op->ask.sent_us);
}

void lki_renew_confirmed(lki_operation *op, const lki_error *why) {
    lki_answer answer = op->unconfirmed;
    if (!why) {
        renewed(op, &answer, op->from_us);
        return;
    }
    lki_operation_report(op, why->status, "the renewal does not count, because %s", why->text);
    lki_operation_over(op);
}
