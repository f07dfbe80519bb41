/*
 * See examine.h. Three steps on one connection: questions to the server, its clock, the rights of
 * the user. Does not use lki_greet(), which stops at the first fault.
 */
#include "diagnose/examine.h"

#include "base/clock.h"
#include "base/memory.h"
#include "client/settings.h"
#include "diagnose/rights.h"
#include "net/connection.h"
#include "net/fault.h"
#include "net/greet.h"
#include "net/resp.h"
#include "topology/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { TEXT_SIZE = 64, USER_SIZE = 256, SERVER_SIZE = 512, ROUNDS = 8, QUOTED_MOST = 240 };

typedef struct {
    lk_facts facts; /* the first member: lk_facts_free() frees the block by its address */
    char server[SERVER_SIZE], user[USER_SIZE];
    char kind[TEXT_SIZE], version[TEXT_SIZE], mode[TEXT_SIZE], eviction[TEXT_SIZE];
    lki_rights rights;
    const char *missing[LKI_RIGHTS_MOST], *absent[LKI_RIGHTS_MOST];
} examination;

/* ------------------------------------------------------------------------------ questions */

/* PING is last: its answer tells whether the server can serve now. */
enum { ASK_SERVER, ASK_ROLE, ASK_MEMORY, ASK_PERSISTENCE, ASK_SAVE, ASK_USER, ASK_PING, QUESTIONS };
enum { QUESTION_WORDS = 3 };
static const char *const questions[QUESTIONS][QUESTION_WORDS] = {
    [ASK_SERVER] = {"INFO", "server"},
    [ASK_ROLE] = {"INFO", "replication"},
    [ASK_MEMORY] = {"INFO", "memory"},
    [ASK_PERSISTENCE] = {"INFO", "persistence"},
    [ASK_SAVE] = {"CONFIG", "GET", "save"},
    [ASK_USER] = {"ACL", "WHOAMI"},
    [ASK_PING] = {"PING"},
};

static void take_text(const char *found, char *out, size_t size) {
    if (!found)
        return;
    size_t length = strcspn(found, "\r\n");
    snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), found);
    lki_text_tame(out);
}

static int64_t take_number(const char *found, int64_t unknown) {
    return found ? strtoll(found, NULL, 10) : unknown;
}

static lk_answer answer(bool yes) {
    return yes ? LK_YES : LK_NO;
}

static void read_server(examination *self, const char *info) {
    const char *name = lki_info_field(info, "server_name:");
    const char *compatible = lki_info_field(info, "redis_version:");
    const char *own = lki_info_field(info, "valkey_version:");
    take_text(name ? name : compatible ? "redis" : NULL, self->kind, sizeof self->kind);
    take_text(own ? own : compatible, self->version, sizeof self->version);
    take_text(lki_info_mode(info), self->mode, sizeof self->mode);
    if (compatible) {
        self->facts.supported = answer(lki_info_is_supported(compatible));
        self->rights.all_channels = strtol(compatible, NULL, 10) < 7;
    }
    self->facts.uptime_s = take_number(lki_info_field(info, "uptime_in_seconds:"), -1);
}

static void read_role(lk_facts *facts, const char *info) {
    const char *role = lki_info_field(info, "role:");
    if (role)
        facts->replica = answer(strncmp(role, "slave", strlen("slave")) == 0);
    facts->replicas = take_number(lki_info_field(info, "connected_slaves:"), -1);
}

static void read_memory(examination *self, const char *info) {
    self->facts.maxmemory = take_number(lki_info_field(info, "maxmemory:"), -1);
    take_text(lki_info_field(info, "maxmemory_policy:"), self->eviction, sizeof self->eviction);
}

static void read_text(examination *self, int question, const char *text) {
    if (question == ASK_SERVER)
        read_server(self, text);
    else if (question == ASK_ROLE)
        read_role(&self->facts, text);
    else if (question == ASK_MEMORY)
        read_memory(self, text);
    else if (question == ASK_PERSISTENCE && lki_info_field(text, "aof_enabled:"))
        self->facts.aof = answer(take_number(lki_info_field(text, "aof_enabled:"), 0) != 0);
    else if (question == ASK_USER)
        take_text(text, self->user, sizeof self->user);
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
    if (question == ASK_SAVE && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[1]->type == REDIS_REPLY_STRING)
        self->facts.rdb = answer(reply->element[1]->len > 0);
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
    for (int i = 0; i < QUESTIONS; i++) {
        size_t count = 0;
        while (count < QUESTION_WORDS && questions[i][count])
            count++;
        lki_resp_command(&command, count);
        for (size_t j = 0; j < count; j++)
            lki_resp_text(&command, questions[i][j]);
    }
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

/* ------------------------------------------------------------------------------ the clock */

static int64_t wall_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static bool read_time(const redisReply *reply, int64_t *us) {
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[1]->type != REDIS_REPLY_STRING)
        return false;
    int64_t seconds = strtoll(reply->element[0]->str, NULL, 10);
    if (seconds < 0 || seconds > INT64_MAX / 1000000 - 1)
        return false;
    *us = seconds * 1000000 + strtol(reply->element[1]->str, NULL, 10) % 1000000;
    return true;
}

/* Uses the shortest round trip: the error is at most half of it. */
static void read_clock(lk_facts *facts, const redisReply *reply, int64_t sent_wall_us,
                       int64_t trip_us) {
    int64_t time_us;
    if (facts->round_trip_us >= 0 && trip_us >= facts->round_trip_us)
        return;
    facts->round_trip_us = trip_us;
    if (!read_time(reply, &time_us))
        return;
    facts->clock_known = LK_YES;
    facts->clock_offset_us = time_us - (sent_wall_us + trip_us / 2);
    facts->clock_error_us = (trip_us + 1) / 2;
}

static lk_status ask_time(lk_facts *facts, lki_talk *talk, lki_error *error) {
    lki_bytes command = {0};
    lk_status status = LK_OK;
    lki_resp_command(&command, 1);
    lki_resp_text(&command, "TIME");
    for (int i = 0; i < ROUNDS && status == LK_OK; i++) {
        redisReply *reply = NULL;
        int64_t sent_wall_us = wall_us(), sent_us = lki_now_us();
        status = lki_talk_write(talk, &command, error);
        if (status == LK_OK)
            status = lki_talk_read(talk, &reply, error);
        if (status == LK_OK)
            read_clock(facts, reply, sent_wall_us, lki_now_us() - sent_us);
        freeReplyObject(reply);
    }
    lki_bytes_free(&command);
    return status;
}

/* ------------------------------------------------------------------------------ the examination */

static void point_to_texts(examination *self) {
    lk_facts *facts = &self->facts;
    facts->server = self->server;
    facts->kind = self->kind;
    facts->version = self->version;
    facts->mode = self->mode;
    facts->eviction = self->eviction;
    facts->user = self->user;
    for (size_t i = 0; i < self->rights.missing_count; i++)
        self->missing[i] = self->rights.missing[i];
    for (size_t i = 0; i < self->rights.absent_count; i++)
        self->absent[i] = self->rights.absent[i];
    facts->missing = self->missing;
    facts->missing_count = self->rights.missing_count;
    facts->absent = self->absent;
    facts->absent_count = self->rights.absent_count;
}

static examination *examination_new(void) {
    examination *self = lki_new(sizeof *self);
    if (!self)
        return NULL;
    self->facts.module = LK_NO;
    self->facts.clock_known = LK_NO;
    self->facts.uptime_s = self->facts.replicas = self->facts.maxmemory = -1;
    self->facts.round_trip_us = -1;
    return self;
}

static lk_status examine_at(examination *self, const lki_endpoint *endpoint,
                            lki_transport *transport, const lki_settings *settings,
                            lki_error *error) {
    lki_talk talk = {.transport = transport,
                     .reader = lki_reader_new(),
                     .deadline_us = lki_after_ms(lki_now_us(), settings->command_timeout_ms),
                     .stop_fd = -1,
                     .shown = endpoint->shown,
                     .may_want_tls = endpoint->host && !endpoint->tls};
    if (!talk.reader)
        return lki_error_no_memory(error);
    take_text(endpoint->shown, self->server, sizeof self->server);
    take_text(endpoint->user, self->user, sizeof self->user);
    lk_status status = lki_greet_login(&talk, endpoint, error);
    if (status == LK_OK && (status = lki_greet_select(&talk, endpoint, error)) == LK_DENIED) {
        /* Go on: if the user may do nothing at all, the next reply tells. */
        lki_rights_lack(&self->rights, "+select");
        status = LK_OK;
    }
    if (status == LK_OK)
        status = ask_all(self, &talk, error);
    if (status == LK_OK)
        status = ask_time(&self->facts, &talk, error);
    if (status == LK_OK)
        status = lki_rights_try(&talk, settings->prefix, &self->rights, error);
    redisReaderFree(talk.reader);
    return status;
}

static lk_status examine(examination *self, lki_topology *topology, const lki_settings *settings,
                         lki_error *error) {
    lki_endpoint endpoint = {0};
    lki_transport *transport = NULL;
    lki_reach reach = {lki_settings_tls(settings),
                       lki_after_ms(lki_now_us(), settings->connect_timeout_ms), -1};
    lk_status status = topology->methods->locate(topology, 0, &reach, &endpoint, error);
    if (status != LK_OK)
        return status;
    status = lki_transport_open(&endpoint, &reach.tls, reach.deadline_us, -1, NULL, &transport,
                                error);
    if (status == LK_OK)
        status = examine_at(self, &endpoint, transport, settings, error);
    lki_transport_close(transport);
    lki_endpoint_clear(&endpoint);
    return status;
}

lk_status lki_examine(const lki_choice *choice, lk_facts **out, lki_error *error) {
    lki_settings settings = {0};
    lki_topology *topology = NULL;
    examination *self = examination_new();
    lk_status status =
        self ? lki_settings_read(&choice->options, &settings, error) : lki_error_no_memory(error);
    if (status == LK_OK)
        status = lki_topology_open(choice->url, choice->password, choice->sentinel_password,
                                   &topology, error);
    if (status == LK_OK)
        status = lki_settings_suit(&settings, choice->url, error);
    if (status == LK_OK)
        status = examine(self, topology, &settings, error);
    if (topology)
        topology->methods->close(topology);
    lki_settings_clear(&settings);
    if (status == LK_OK) {
        self->facts.local = answer(strncasecmp(choice->url, "local:", strlen("local:")) == 0);
        point_to_texts(self);
        *out = &self->facts;
    } else {
        lki_free(self);
    }
    return status;
}
