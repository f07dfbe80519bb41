/* See confirm.h. */
#include "session/confirm.h"

#include "base/clock.h"
#include "net/resp.h"
#include "session/session.h"

#include <stdio.h>

void lki_confirmations_init(lki_confirmations *self) {
    self->last = &self->first;
}

void lki_confirm(lki_server *server, lki_confirmation *confirmation) {
    lki_confirmations *self = &server->confirmations;
    confirmation->next = NULL;
    *self->last = confirmation;
    self->last = &confirmation->next;
}

static void finish(lki_confirmation *first, const char *why) {
    while (first) {
        lki_confirmation *one = first;
        first = one->next;
        one->done(one, why);
    }
}

static const char *read_answer(const lki_server *server, const redisReply *reply,
                               char text[LKI_ERROR_MOST]) {
    const lki_settings *settings = &server->session->settings;
    if (!reply)
        return "the connection was lost before the replicas confirmed it";
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer >= settings->min_replicas)
        return NULL;
    if (reply->type == REDIS_REPLY_INTEGER)
        snprintf(text, LKI_ERROR_MOST, "%lld of %d replicas confirmed it within %lld ms",
                 reply->integer, settings->min_replicas, (long long)settings->replica_timeout_ms);
    else
        snprintf(text, LKI_ERROR_MOST, "WAIT: %.200s",
                 reply->type == REDIS_REPLY_ERROR ? reply->str : "not an answer to WAIT");
    return text;
}

static void answered(lki_request *request, const redisReply *reply) {
    lki_confirmations *self =
        (lki_confirmations *)(void *)((char *)request - offsetof(lki_confirmations, wait));
    const lki_server *server =
        (const lki_server *)(void *)((char *)self - offsetof(lki_server, confirmations));
    lki_confirmation *first = self->asked;
    char text[LKI_ERROR_MOST];
    self->asked = NULL;
    finish(first, read_answer(server, reply, text));
}

void lki_confirmations_send(lki_server *server) {
    lki_confirmations *self = &server->confirmations;
    const lki_settings *settings = &server->session->settings;
    lki_link *link = &server->commands.link;
    if (!self->first || self->wait.on_way || !lki_link_is_up(link))
        return;
    lki_bytes *out = lki_link_begin(link);
    lki_resp_command(out, 3);
    lki_resp_text(out, "WAIT");
    lki_resp_number(out, (uint64_t)settings->min_replicas);
    lki_resp_number(out, (uint64_t)settings->replica_timeout_ms);
    self->wait.complete = answered;
    if (lki_link_commit(link, &self->wait, lki_now_us()) != LK_OK) {
        lki_confirmations_lose(server);
        return;
    }
    self->asked = self->first;
    self->first = NULL;
    self->last = &self->first;
    lki_server_hurry(server);
    lki_keeper_kick(server->session);
}

void lki_confirmations_lose(lki_server *server) {
    lki_confirmations *self = &server->confirmations;
    lki_confirmation *first = self->first;
    self->first = NULL;
    self->last = &self->first;
    finish(first, "the connection was lost before the replicas confirmed it");
}
