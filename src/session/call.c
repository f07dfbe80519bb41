/* See call.h. */
#include "session/call.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum { RETRY_MS = 50 };

void *lki_call_new(size_t size) {
    return lki_new(size);
}

void lki_call_free(lki_call *call) {
    if (call && call->request.on_way)
        call->orphaned = true;
    else
        lki_free(call);
}

static void finish(lki_call *call, lk_status status, const char *text) {
    if (status != LK_OK)
        lki_error_set(&call->error, status, "%s on %s: %s", call->what,
                      call->server->session->topology->shown, text);
    call->error.status = status;
    call->is_over = true;
}

static void refused(lki_call *call, const char *text) {
    lki_elsewhere elsewhere;
    lki_refusal refusal = lki_server_refused(call->server, call->sent, text, &elsewhere);
    char sentence[LKI_ERROR_MOST];
    call->is_wide = (call->is_wide || refusal.needs_both_keys) && !refusal.is_split;
    if (elsewhere.to) {
        call->server = elsewhere.to;
        call->asking = elsewhere.asking;
    }
    snprintf(sentence, sizeof sentence, "%s; %s", text, refusal.advice);
    if (refusal.kind == LKI_REFUSED_LATER) {
        lki_error_set(&call->error, refusal.status, "%s", sentence);
        call->retry_us = lki_after_ms(lki_now_us(), RETRY_MS);
    } else if (refusal.kind != LKI_REFUSED_RESEND) {
        finish(call, refusal.status, sentence);
    }
}

static void completed(lki_request *request, const redisReply *reply) {
    lki_call *call = (lki_call *)(void *)request;
    if (call->orphaned) {
        lki_free(call);
        return;
    }
    if (!reply) {
        if (call->once)
            finish(call, LK_UNAVAILABLE,
                   "the connection was lost before the reply; the operation may have taken effect");
    } else if (reply->type == REDIS_REPLY_ERROR) {
        refused(call, reply->str);
    } else {
        lki_error error = {.text = ""};
        lk_status status = call->answered(call, reply, &error);
        finish(call, status, error.text);
    }
    call->caller.done = true;
    lki_caller_notify(&call->caller);
}

static void ask(lki_call *call, int64_t now_us) {
    lki_link *link = &call->server->commands.link;
    bool may_send = !call->asking || lki_server_asking(call->server);
    if (may_send)
        call->sent = call->encode(call, &call->server->form, lki_link_begin(link));
    call->request.complete = completed;
    if (!may_send || lki_link_commit(link, &call->request, now_us) != LK_OK)
        finish(call, LK_NOMEM, lk_status_text(LK_NOMEM));
}

static int64_t earlier(int64_t a_us, int64_t b_us) {
    return a_us < b_us ? a_us : b_us;
}

static const char *reason_to_give_up(const lki_call *call) {
    const lki_wire *wire = &call->server->commands;
    if (call->request.on_way && call->once)
        return "the server did not answer in time; the operation may still take effect";
    if (*call->error.text)
        return call->error.text;
    return lki_link_is_up(&wire->link) || !*wire->why.text ? "the server did not answer in time"
                                                           : wire->why.text;
}

/* Where there are several servers, the error names the one that did not answer. */
static void give_up(lki_call *call) {
    lki_topology *topology = call->server->session->topology;
    char address[LKI_ADDRESS_SIZE];
    lki_error error;
    if (topology->methods->address) {
        topology->methods->address(topology, call->server->index, address);
        lki_error_set(&error, LK_UNAVAILABLE, "%s: %s", address, reason_to_give_up(call));
    } else {
        lki_error_set(&error, LK_UNAVAILABLE, "%s", reason_to_give_up(call));
    }
    finish(call, LK_UNAVAILABLE, error.text);
}

static void await(lki_call *call, int64_t give_up_us) {
    lki_link *link = &call->server->commands.link;
    lki_session *session = call->server->session;
    call->caller.done = false;
    if (call->request.on_way) {
        lki_keeper_wake_by(session, give_up_us); /* to break a silent connection */
        lki_link_wait(link, &call->caller, give_up_us);
    } else {
        lki_caller_sleep(&call->caller, &session->monitor,
                         earlier(give_up_us, lki_after_ms(lki_now_us(), RETRY_MS)));
    }
}

/*
 * While no server has answered, another one may have got the lock. If the node that ASK named
 * cannot be reached, the owner of the slot knows whether the slot still moves there.
 */
static void find_server(lki_call *call, int64_t now_us) {
    lki_error error;
    const lki_wire *wire = &call->server->commands;
    bool is_dialed = wire->wanted && !wire->unreachable;
    if (!call->has_slot || lki_link_is_up(&wire->link) || (call->asking && is_dialed))
        return;
    lki_server *owner = lki_session_server(call->server->session, call->slot, &error);
    if (!owner)
        return;
    if (call->asking)
        call->retry_us = lki_after_ms(now_us, RETRY_MS); /* it may name that node again */
    call->server = owner;
    call->asking = false;
}

lk_status lki_call_run(lki_call *call, lki_server *server, lki_error *error) {
    lki_session *session = server->session;
    int64_t give_up_us = lki_after_ms(lki_now_us(), session->settings.command_timeout_ms);
    bool extended = false;
    call->server = server;
    lki_caller_init(&call->caller);
    session->calls++;
    while (!call->is_over) {
        int64_t now_us = lki_now_us();
        if (!call->request.on_way)
            find_server(call, now_us);
        /* After SIGSTOP the reply may already be in the socket. */
        if (call->request.on_way && !extended && now_us > give_up_us + LKI_LATE_US) {
            extended = true;
            give_up_us = now_us + LKI_GRACE_US;
        }
        if (session->closing && !call->request.on_way)
            finish(call, LK_CANCELED, lk_status_text(LK_CANCELED));
        else if (now_us >= give_up_us)
            give_up(call);
        else if (!call->request.on_way && lki_link_is_up(&call->server->commands.link) &&
                 now_us >= call->retry_us)
            ask(call, now_us);
        if (!call->is_over)
            await(call, give_up_us);
    }
    session->calls--;
    pthread_cond_broadcast(&session->ended);
    lki_caller_clear(&call->caller);
    if (call->error.status != LK_OK)
        *error = call->error;
    return call->error.status;
}
