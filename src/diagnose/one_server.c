/*
 * See one_server.h. Three steps on one connection: questions to the server, its clock, the rights of
 * the user. Does not use lki_greet(), which stops at the first fault.
 */
#include "diagnose/one_server.h"

#include "base/clock.h"
#include "diagnose/clock.h"
#include "diagnose/facts.h"
#include "diagnose/replication.h"
#include "diagnose/rights.h"
#include "net/fault.h"
#include "net/greet.h"
#include "net/resp.h"

#include <stdlib.h>
#include <string.h>

enum { QUOTED_MOST = 240 };

typedef struct {
    lk_facts *facts;
    lki_pool *pool; /* for the texts of the facts */
    lki_rights *rights;
} examination;

/* ------------------------------------------------------------------------------ questions */

/* PING is last: its answer tells whether the server can serve now. */
enum {
    ASK_SERVER,
    ASK_ROLE,
    ASK_MEMORY,
    ASK_PERSISTENCE,
    ASK_SAVE,
    ASK_MIN_REPLICAS,
    ASK_USER,
    ASK_PING,
    QUESTIONS
};
static const char *const questions[QUESTIONS][4] = {
    [ASK_SERVER] = {"INFO", "server"},
    [ASK_ROLE] = {"INFO", "replication"},
    [ASK_MEMORY] = {"INFO", "memory"},
    [ASK_PERSISTENCE] = {"INFO", "persistence"},
    [ASK_SAVE] = {"CONFIG", "GET", "save"},
    [ASK_MIN_REPLICAS] = {"CONFIG", "GET", "min-replicas-*"},
    [ASK_USER] = {"ACL", "WHOAMI"},
    [ASK_PING] = {"PING"},
};

/* A line of the server's text. NULL: the server does not tell, and *out stays. */
static void take_text(examination *self, const char *found, const char **out) {
    if (found)
        *out = lki_pool_text(self->pool, found, strcspn(found, "\r\n"));
}

static int64_t take_number(const char *found, int64_t unknown) {
    return found ? strtoll(found, NULL, 10) : unknown;
}

static lk_answer answer(bool yes) {
    return yes ? LK_YES : LK_NO;
}

static void read_server(examination *self, const char *info) {
    lk_facts *facts = self->facts;
    const char *name = lki_info_field(info, "server_name:");
    const char *compatible = lki_info_field(info, "redis_version:");
    const char *own = lki_info_field(info, "valkey_version:");
    take_text(self, name ? name : compatible ? "redis" : NULL, &facts->kind);
    take_text(self, own ? own : compatible, &facts->version);
    take_text(self, lki_info_mode(info), &facts->mode);
    if (compatible) {
        facts->supported = answer(lki_info_is_supported(compatible));
        self->rights->all_channels = strtol(compatible, NULL, 10) < 7;
    }
    facts->uptime_s = take_number(lki_info_field(info, "uptime_in_seconds:"), -1);
}

static void read_memory(examination *self, const char *info) {
    self->facts->maxmemory = take_number(lki_info_field(info, "maxmemory:"), -1);
    take_text(self, lki_info_field(info, "maxmemory_policy:"), &self->facts->eviction);
}

static void read_text(examination *self, int question, const char *text) {
    if (question == ASK_SERVER)
        read_server(self, text);
    else if (question == ASK_ROLE)
        lki_replication_read(text, self->pool, self->facts);
    else if (question == ASK_MEMORY)
        read_memory(self, text);
    else if (question == ASK_PERSISTENCE && lki_info_field(text, "aof_enabled:"))
        self->facts->aof = answer(take_number(lki_info_field(text, "aof_enabled:"), 0) != 0);
    else if (question == ASK_USER)
        take_text(self, text, &self->facts->user);
}

/*
 * Whether an error reply ends the examination. NOPERM does not: other commands may be permitted.
 * MASTERDOWN does not: it comes from a replica, and INFO already tells that.
 */
static bool is_refusal(const char *reply) {
    return strncmp(reply, "NOPERM", strlen("NOPERM")) != 0 &&
           strncmp(reply, "MASTERDOWN", strlen("MASTERDOWN")) != 0 &&
           !strstr(reply, "unknown command");
}

static lk_status read_reply(examination *self, const lki_talk *talk, int question,
                            const redisReply *reply, lki_error *error) {
    bool is_text = reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;
    if (question == ASK_PING) {
        if (reply->type != REDIS_REPLY_ERROR || !is_refusal(reply->str))
            return LK_OK;
        lki_fault fault = lki_fault_read(reply->str);
        return lki_error_set(error, fault.status, "%s: the server cannot serve locks now: %.*s; %s",
                             talk->shown, QUOTED_MOST, reply->str, fault.advice);
    }
    if (question == ASK_SAVE && lki_reply_value(reply, "save"))
        self->facts->rdb = answer(*lki_reply_value(reply, "save"));
    else if (question == ASK_MIN_REPLICAS)
        lki_replication_read_settings(reply, self->facts);
    else if (is_text)
        read_text(self, question, reply->str);
    return LK_OK;
}

/*
 * After the connection was lost. A server that refuses the connection (for example, too many
 * clients) sends an error and closes. Then that error is the first reply, and the better reason.
 */
static lk_status explain_loss(const lki_talk *talk, const redisReply *first, lki_error *error) {
    if (!first || first->type != REDIS_REPLY_ERROR || !is_refusal(first->str))
        return error->status;
    lki_fault fault = lki_fault_read(first->str);
    return lki_error_set(error, fault.status, "%s: %.*s; %s", talk->shown, QUOTED_MOST, first->str,
                         fault.advice);
}

static lk_status ask_all(examination *self, lki_talk *talk, lki_error *error) {
    lki_bytes command = {0};
    redisReply *replies[QUESTIONS] = {0};
    for (int i = 0; i < QUESTIONS; i++)
        lki_resp_words(&command, questions[i]);
    lk_status status = lki_talk_write(talk, &command, error);
    if (status == LK_OK || status == LK_UNAVAILABLE) {
        lk_status read = LK_OK;
        for (int i = 0; i < QUESTIONS && read == LK_OK; i++)
            if ((read = lki_talk_read(talk, &replies[i], error)) == LK_OK)
                read = read_reply(self, talk, i, replies[i], error);
            else if (read == LK_UNAVAILABLE)
                read = explain_loss(talk, replies[0], error);
        status = read;
    }
    for (int i = 0; i < QUESTIONS; i++)
        freeReplyObject(replies[i]);
    lki_bytes_free(&command);
    return status;
}

/* ------------------------------------------------------------------------------ the examination */

static const char *const *list_of(lki_pool *pool, char texts[][LKI_RIGHT_SIZE], size_t count) {
    const char **list = lki_pool_new(pool, (count + 1) * sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        list[i] = texts[i];
    return list;
}

static void take_rights(examination *self) {
    lki_rights *rights = self->rights;
    self->facts->missing = list_of(self->pool, rights->missing, rights->missing_count);
    self->facts->missing_count = rights->missing_count;
    self->facts->absent = list_of(self->pool, rights->absent, rights->absent_count);
    self->facts->absent_count = rights->absent_count;
}

static lk_status ask_everything(examination *self, const lki_endpoint *endpoint, lki_talk *talk,
                                const char *prefix, lki_error *error) {
    lk_status status = lki_greet_select(talk, endpoint, error);
    if (status == LK_DENIED) {
        /* Go on: if the user may do nothing at all, the next reply tells. */
        lki_rights_lack(self->rights, "+select");
        status = LK_OK;
    }
    if (status == LK_OK)
        status = ask_all(self, talk, error);
    if (status == LK_OK)
        status = lki_clock_compare(talk, self->facts, error);
    self->rights->is_node = strcmp(self->facts->mode, "cluster") == 0;
    if (status == LK_OK)
        status = lki_rights_try(talk, prefix, self->rights, error);
    take_rights(self);
    return status;
}

lk_status lki_examine_server(const lki_endpoint *endpoint, const lki_settings *settings,
                             lki_pool *pool, lk_facts *facts, lki_error *error) {
    lki_reach reach = {lki_settings_tls(settings),
                       lki_after_ms(lki_now_us(), settings->connect_timeout_ms), -1};
    examination self = {facts, pool, lki_pool_new(pool, sizeof *self.rights)};
    lki_talk talk;
    take_text(&self, endpoint->shown, &facts->server);
    take_text(&self, endpoint->user, &facts->user);
    if (pool->failed)
        return lki_error_no_memory(error);
    self.rights->needs_wait = settings->min_replicas > 0;
    lk_status status = lki_greet_open(endpoint, &reach, NULL, &talk, error);
    if (status != LK_OK)
        return status;
    talk.deadline_us = lki_after_ms(lki_now_us(), settings->command_timeout_ms);
    status = ask_everything(&self, endpoint, &talk, settings->prefix, error);
    lki_talk_close(&talk);
    facts->answered = LK_YES;
    return status == LK_OK && pool->failed ? lki_error_no_memory(error) : status;
}

lk_status lki_examine_named_server(const lki_endpoint *endpoint, const lki_settings *settings,
                                   lki_pool *pool, lk_facts *facts, lki_error *error) {
    lk_facts found = lki_facts_blank();
    lk_status status = lki_examine_server(endpoint, settings, pool, &found, error);
    if (status == LK_NOMEM)
        return status;
    if (status != LK_OK) {
        const char *server = found.server;
        found = lki_facts_blank();
        found.server = server;
        found.answered = LK_NO;
        found.error = lki_pool_text(pool, error->text, strlen(error->text));
    }
    *facts = found;
    return pool->failed ? lki_error_no_memory(error) : LK_OK;
}
