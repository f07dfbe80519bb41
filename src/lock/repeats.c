/* See repeats.h. */
#include "lock/repeats.h"

#include "base/clock.h"
#include "base/memory.h"

#include <string.h>

/* A retry sends all that are left, so the pause grows with their number. */
enum { REPEATS_MOST = 256, RETRY_MS = 250, RETRY_MS_EACH = 10 };

struct lki_repeat {
    lki_request request;
    lki_sent sent;
    lki_repeat *next;
    lki_repeats *repeats;
    uint64_t lock; /* the number of its handle */
    unsigned slot;
    lki_server *server; /* to which it was sent */
    bool asking;        /* see lki_elsewhere */
    unsigned life;      /* of the server that is known to have done it */
    int64_t until_us;   /* by then the hold has expired, wherever it is */
    bool is_wide;       /* pass both keys of the lock */
    bool converts;      /* it is a downgrade */
    lk_mode mode;
    bool told;              /* see lki_release_arguments */
    uint64_t number, fence; /* of the request and of the hold */
    char handle[LKI_HANDLE_LENGTH + 1];
    char name[];
};

static void remove_first(lki_repeats *repeats) {
    lki_repeat *gone = repeats->first;
    repeats->first = gone->next;
    if (!repeats->first)
        repeats->last = NULL;
    repeats->count--;
    lki_free(gone);
}

/* Those at the head whose hold has expired, or that are too many. One that is on its way stays. */
static void remove_old(lki_repeats *repeats, int64_t now_us) {
    while (repeats->first && !repeats->first->request.on_way &&
           (repeats->first->until_us <= now_us || repeats->count >= REPEATS_MOST))
        remove_first(repeats);
}

void lki_repeats_note(lki_repeats *repeats, const lki_operation *op) {
    const lk_lock *lock = op->lock;
    int64_t now_us = lki_now_us();
    remove_old(repeats, now_us);
    lki_repeat *repeat = lki_new(sizeof *repeat + strlen(lock->name) + 1);
    if (!repeat)
        return; /* at worst, the lock is free when the lease has expired */
    repeat->repeats = repeats;
    repeat->lock = lock->number;
    repeat->slot = lock->slot;
    repeat->life = lock->server->life;
    repeat->until_us = lki_after_ms(now_us, lock->lease_most_ms);
    repeat->is_wide = lki_lock_key(lock).is_wide;
    repeat->converts = op->kind == LKI_DO_CONVERT;
    repeat->mode = op->mode;
    repeat->told = !op->is_untold;
    repeat->number = op->request;
    repeat->fence = op->first_fence; /* the new master may lack an upgrade, and its fence */
    memcpy(repeat->handle, lock->handle, sizeof repeat->handle);
    memcpy(repeat->name, lock->name, strlen(lock->name));
    if (repeats->last)
        repeats->last->next = repeat;
    else
        repeats->first = repeat;
    repeats->last = repeat;
    repeats->count++;
}

static void send(lki_repeat *);

static void retry_later(const lki_repeat *repeat) {
    lki_repeats *repeats = repeat->repeats;
    if (repeats->retry_us != LKI_NEVER)
        return;
    repeats->retry_us = lki_after_ms(lki_now_us(), repeats->pause_ms);
    lki_keeper_due(repeat->server->session, repeats->retry_us);
}

/* Without an answer, it is sent again when there is a connection again. */
static void answered(lki_request *request, const redisReply *reply) {
    lki_repeat *repeat = (lki_repeat *)(void *)request;
    if (!reply)
        return;
    if (reply->type != REDIS_REPLY_ERROR) {
        repeat->life = repeat->server->life;
        return;
    }
    lki_elsewhere elsewhere;
    lki_refusal refusal = lki_server_refused(repeat->server, repeat->sent, reply->str, &elsewhere);
    repeat->is_wide = (repeat->is_wide || refusal.needs_both_keys) && !refusal.is_split;
    if (elsewhere.to) {
        repeat->server = elsewhere.to;
        repeat->asking = elsewhere.asking;
    }
    if (refusal.kind == LKI_REFUSED_RESEND && lki_link_is_up(&repeat->server->commands.link))
        send(repeat);
    else
        retry_later(repeat);
}

static void send(lki_repeat *repeat) {
    lki_server *server = repeat->server;
    lki_link *link = &server->commands.link;
    lki_key key = {server->session->settings.prefix, repeat->name, repeat->is_wide};
    lki_release_arguments release = {repeat->handle, repeat->number, repeat->fence, repeat->mode,
                                     repeat->told};
    if (repeat->asking && !lki_server_asking(server))
        return; /* as in lki_repeats_note */
    repeat->sent = repeat->converts
                       ? lki_form_convert(&server->form, lki_link_begin(link), key, repeat->handle,
                                          repeat->number, repeat->fence)
                       : lki_form_release(&server->form, lki_link_begin(link), key, &release);
    repeat->request.complete = answered;
    lki_link_commit(link, &repeat->request, lki_now_us()); /* LK_NOMEM: as in lki_repeats_note */
    lki_server_hurry(server);
}

/* Whether this server may still have the hold, and the repeat is not on its way. */
static bool is_left(const lki_repeat *repeat, const lki_server *server, int64_t now_us) {
    return !repeat->request.on_way && repeat->life != server->life && now_us < repeat->until_us;
}

static bool can_send(const lki_repeat *repeat, int64_t now_us) {
    const lki_server *server = repeat->server;
    return server && is_left(repeat, server, now_us) && lki_link_is_up(&server->commands.link);
}

/*
 * The repeats of one handle must be done in their order. One that the server refused with NOSCRIPT
 * would come after the next one. So the first one of each script carries the text.
 */
static void send_texts(lki_server *server) {
    bool *lacks = server->form.lacks;
    lacks[LKI_SCRIPT_RELEASE] = lacks[LKI_SCRIPT_CONVERT] = true;
}

void lki_repeats_send(lki_repeats *repeats, lki_session *session) {
    int64_t now_us = lki_now_us();
    remove_old(repeats, now_us);
    repeats->retry_us = LKI_NEVER;
    repeats->pause_ms = RETRY_MS;
    for (lki_repeat *repeat = repeats->first; repeat; repeat = repeat->next) {
        lki_error error;
        if (repeat->request.on_way)
            continue;
        repeat->server = lki_session_server(session, repeat->slot, &error);
        repeat->asking = false;
        if (can_send(repeat, now_us)) {
            send_texts(repeat->server);
            repeats->pause_ms += RETRY_MS_EACH;
        }
    }
    for (lki_repeat *repeat = repeats->first; repeat; repeat = repeat->next)
        if (can_send(repeat, now_us))
            send(repeat);
}

bool lki_repeats_come_first(const lki_repeats *repeats, const lk_lock *lock) {
    if (repeats->retry_us == LKI_NEVER)
        return false;
    int64_t now_us = lki_now_us();
    for (const lki_repeat *repeat = repeats->first; repeat; repeat = repeat->next)
        if (repeat->lock == lock->number && is_left(repeat, lock->server, now_us))
            return true;
    return false;
}

void lki_repeats_free(lki_repeats *repeats) {
    while (repeats->first)
        remove_first(repeats);
}
