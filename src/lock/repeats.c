/* See repeats.h. */
#include "lock/repeats.h"

#include "base/clock.h"
#include "base/memory.h"

#include <string.h>

enum { REPEATS_MOST = 256 };

struct lki_repeat {
    lki_request request;
    lki_sent sent;
    lki_repeat *next;
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
    repeat->slot = lock->slot;
    repeat->life = lock->server->life;
    repeat->until_us = lki_after_ms(now_us, lock->lease_most_ms);
    repeat->converts = op->kind == LKI_DO_CONVERT;
    repeat->mode = op->mode;
    repeat->told = !op->is_untold;
    repeat->number = op->request;
    repeat->fence = op->fence;
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
}

void lki_repeats_send(lki_repeats *repeats, lki_session *session) {
    remove_old(repeats, lki_now_us());
    for (lki_repeat *repeat = repeats->first; repeat; repeat = repeat->next) {
        lki_error error;
        if (repeat->request.on_way)
            continue;
        repeat->server = lki_session_server(session, repeat->slot, &error);
        repeat->asking = false;
        if (repeat->server && repeat->life != repeat->server->life &&
            lki_link_is_up(&repeat->server->commands.link))
            send(repeat);
    }
}

void lki_repeats_free(lki_repeats *repeats) {
    while (repeats->first)
        remove_first(repeats);
}
