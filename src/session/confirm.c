/* See confirm.h. */
#include "session/confirm.h"

#include "base/clock.h"
#include "net/fault.h"
#include "net/resp.h"
#include "session/session.h"

void lki_confirmations_init(lki_confirmations *self) {
    self->last = &self->first;
}

void lki_confirm(lki_server *server, lki_confirmation *confirmation) {
    lki_confirmations *self = &server->confirmations;
    confirmation->next = NULL;
    *self->last = confirmation;
    self->last = &confirmation->next;
}

static void finish(lki_confirmation *first, const lki_error *why) {
    while (first) {
        lki_confirmation *one = first;
        first = one->next;
        one->done(one, why);
    }
}

static lk_status fail_as_lost(lki_error *error) {
    return lki_error_set(error, LK_UNAVAILABLE,
                         "the connection was lost before the replicas confirmed it");
}

/* An error that is not known here is not our bug: WAIT fails also if the master is replaced. */
static lk_status read_refusal(const char *text, lki_error *error) {
    lki_fault fault = lki_fault_read(text);
    if (fault.status == LK_INTERNAL)
        return lki_error_set(error, LK_UNAVAILABLE, "WAIT: %.200s", text);
    return lki_error_set(error, fault.status, "WAIT: %.200s; %s", text, fault.advice);
}

static lk_status read_answer(const lki_server *server, const redisReply *reply, lki_error *error) {
    const lki_settings *settings = &server->session->settings;
    if (!reply)
        return fail_as_lost(error);
    if (reply->type == REDIS_REPLY_ERROR)
        return read_refusal(reply->str, error);
    if (reply->type != REDIS_REPLY_INTEGER)
        return lki_error_set(error, LK_UNAVAILABLE, "WAIT: not an answer to WAIT");
    if (reply->integer >= settings->min_replicas)
        return LK_OK;
    return lki_error_set(error, LK_UNAVAILABLE, "%lld of %d replicas confirmed it within %lld ms",
                         reply->integer, settings->min_replicas,
                         (long long)settings->replica_timeout_ms);
}

static void answered(lki_request *request, const redisReply *reply) {
    lki_confirmations *self =
        (lki_confirmations *)(void *)((char *)request - offsetof(lki_confirmations, wait));
    const lki_server *server =
        (const lki_server *)(void *)((char *)self - offsetof(lki_server, confirmations));
    lki_confirmation *first = self->asked;
    lki_error error;
    self->asked = NULL;
    finish(first, read_answer(server, reply, &error) == LK_OK ? NULL : &error);
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
    lki_error error;
    fail_as_lost(&error);
    finish(first, &error);
}
