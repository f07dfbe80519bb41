/* See greet.h. */
#include "net/greet.h"

#include "net/connection.h"
#include "net/fault.h"
#include "net/resp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Refusals quote so much of the reply that the advice behind it is not cut off. */
enum { QUOTED_MOST = 240 };

static lk_status refused_in_words(const lki_talk *talk, const char *what, const char *reply,
                                  size_t quoted, lki_error *error) {
    lki_fault fault = lki_fault_read(reply);
    return lki_error_set(error, fault.status, "%s: %s: %.*s; %s", talk->shown, what, (int)quoted,
                         reply, fault.advice);
}

static lk_status refused(const lki_talk *talk, const char *what, const char *reply,
                         lki_error *error) {
    return refused_in_words(talk, what, reply, QUOTED_MOST, error);
}

/* A server that does not know a command repeats it, and AUTH has the password in it. */
static lk_status refused_with_secret(const lki_talk *talk, const char *what, const char *reply,
                                     lki_error *error) {
    size_t code = strcspn(reply, " ");
    return refused_in_words(talk, what, reply, code < QUOTED_MOST ? code : QUOTED_MOST, error);
}

/*
 * One exchange; the reply is the caller's to free. A server that will have no more clients says so
 * unasked and hangs up: then writing fails, and what it said is read as the answer.
 */
static lk_status exchange(lki_talk *talk, const lki_bytes *command, redisReply **out,
                          lki_error *error) {
    lki_error unread;
    lk_status status = lki_talk_write(talk, command, error);
    if (status == LK_OK)
        return lki_talk_read(talk, out, error);
    if (status == LK_UNAVAILABLE && lki_talk_read(talk, out, &unread) == LK_OK)
        return LK_OK;
    return status;
}

/* How a refusal is told. */
typedef lk_status refuse_fn(const lki_talk *, const char *what, const char *reply, lki_error *);

/* An exchange whose refusal is the end. */
static lk_status demand(lki_talk *talk, const char *what, const lki_bytes *command,
                        refuse_fn *refuse, lki_error *error) {
    redisReply *reply = NULL;
    lk_status status = exchange(talk, command, &reply, error);
    if (status == LK_OK && reply->type == REDIS_REPLY_ERROR)
        status = refuse(talk, what, reply->str, error);
    freeReplyObject(reply);
    return status;
}

lk_status lki_greet_login(lki_talk *talk, const lki_endpoint *endpoint, lki_error *error) {
    lki_bytes command = {0};
    lk_status status = LK_OK;
    if (endpoint->password) {
        lki_resp_command(&command, endpoint->user ? 3 : 2);
        lki_resp_text(&command, "AUTH");
        if (endpoint->user)
            lki_resp_text(&command, endpoint->user);
        lki_resp_text(&command, endpoint->password);
        status = demand(talk, "user or password", &command, refused_with_secret, error);
        explicit_bzero(command.data, command.length);
    }
    lki_bytes_free(&command);
    return status;
}

lk_status lki_greet_select(lki_talk *talk, const lki_endpoint *endpoint, lki_error *error) {
    if (!endpoint->db)
        return LK_OK;
    lki_bytes command = {0};
    lki_resp_command(&command, 2);
    lki_resp_text(&command, "SELECT");
    lki_resp_number(&command, endpoint->db);
    lk_status status = demand(talk, "db", &command, refused, error);
    lki_bytes_free(&command);
    return status;
}

/* ------------------------------------------------------------------------------ who it is */

/* A script may use keys of one slot only there, and what belongs to other nodes is refused. */
static lk_status read_mode(const lki_talk *talk, const char *info, lki_error *error) {
    const char *mode = lki_info_mode(info);
    if (mode && strncmp(mode, "cluster", strlen("cluster")) == 0)
        return lki_error_set(error, LK_UNSUPPORTED,
                             "%s: it is a node of a cluster; this version needs a server that is "
                             "not in a cluster",
                             talk->shown);
    if (mode && strncmp(mode, "sentinel", strlen("sentinel")) == 0)
        return lki_error_set(error, LK_UNSUPPORTED,
                             "%s: it is a sentinel; give the address of the master", talk->shown);
    return LK_OK;
}

static lk_status read_server(const lki_talk *talk, const char *info, lki_identity *identity,
                             lki_error *error) {
    const char *run_id = lki_info_field(info, "run_id:");
    const char *version = lki_info_field(info, "redis_version:");
    if (run_id && strcspn(run_id, "\r\n") == LKI_RUN_ID_LENGTH)
        memcpy(identity->run_id, run_id, LKI_RUN_ID_LENGTH);
    if (version && !lki_info_is_supported(version))
        return lki_error_set(error, LK_UNSUPPORTED,
                             "%s: the server is version %.*s; latchkey needs 6.2 or newer",
                             talk->shown, (int)strcspn(version, "\r\n"), version);
    return read_mode(talk, info, error);
}

static lk_status read_role(const lki_talk *talk, const char *info, lki_error *error) {
    const char *role = lki_info_field(info, "role:");
    if (role && strncmp(role, "slave", strlen("slave")) == 0)
        return lki_error_set(error, LK_UNAVAILABLE,
                             "%s: READONLY: it is a replica; give the address of the master",
                             talk->shown);
    return LK_OK;
}

enum { SAY_NAME, SAY_ID, SAY_SERVER, SAY_ROLE, SAY_PING, SAYINGS };

static void add_sayings(lki_bytes *out, const char *name) {
    lki_resp_command(out, 3);
    lki_resp_text(out, "CLIENT");
    lki_resp_text(out, "SETNAME");
    lki_resp_text(out, name);
    lki_resp_command(out, 2);
    lki_resp_text(out, "CLIENT");
    lki_resp_text(out, "ID");
    lki_resp_command(out, 2);
    lki_resp_text(out, "INFO");
    lki_resp_text(out, "server");
    lki_resp_command(out, 2);
    lki_resp_text(out, "INFO");
    lki_resp_text(out, "replication");
    lki_resp_command(out, 1);
    lki_resp_text(out, "PING");
}

/* What it will not tell for want of rights we do without; PING tells whether it serves. */
static lk_status heard(const lki_talk *talk, int saying, const redisReply *reply,
                       lki_identity *identity, lki_error *error) {
    if (saying == SAY_ID && reply->type == REDIS_REPLY_INTEGER)
        identity->connection = (uint64_t)reply->integer;
    if (saying == SAY_SERVER && reply->type == REDIS_REPLY_STRING)
        return read_server(talk, reply->str, identity, error);
    if (saying == SAY_ROLE && reply->type == REDIS_REPLY_STRING)
        return read_role(talk, reply->str, error);
    if (saying == SAY_PING && reply->type == REDIS_REPLY_ERROR &&
        strncmp(reply->str, "NOPERM", strlen("NOPERM")) != 0)
        return refused(talk, "it cannot serve", reply->str, error);
    return LK_OK;
}

/* The answers behind the first one; `refusal` is that, if it was one, and may be all that comes. */
static lk_status hear_others(lki_talk *talk, const lki_error *refusal, lki_identity *identity,
                             lki_error *error) {
    lk_status status = LK_OK;
    for (int saying = SAY_NAME + 1; saying < SAYINGS && status == LK_OK; saying++) {
        redisReply *reply = NULL;
        status = lki_talk_read(talk, &reply, error);
        if (status == LK_OK) {
            status = heard(talk, saying, reply, identity, error);
        } else if (status == LK_UNAVAILABLE && refusal->status != LK_OK) {
            *error = *refusal;
            status = refusal->status;
        }
        freeReplyObject(reply);
    }
    return status;
}

static lk_status introduce(lki_talk *talk, const char *name, lki_identity *identity,
                           lki_error *error) {
    lki_bytes command = {0};
    lki_error refusal = {.status = LK_OK};
    redisReply *reply = NULL;
    add_sayings(&command, name);
    lk_status status = exchange(talk, &command, &reply, error);
    if (status == LK_OK && reply->type == REDIS_REPLY_ERROR)
        refused(talk, "it cannot serve", reply->str, &refusal);
    if (status == LK_OK)
        status = hear_others(talk, &refusal, identity, error);
    freeReplyObject(reply);
    lki_bytes_free(&command);
    return status;
}

/* ------------------------------------------------------------------------------ what we want */

/*
 * SPEC 9.6: the server may still have requests of a connection that we gave up. After this has been
 * answered it cannot run them any more. Another run of the server has forgotten them anyway, and
 * there the number may be somebody else's.
 */
static lk_status end_earlier(lki_talk *talk, const lki_identity *earlier,
                             const lki_identity *identity, lki_error *error) {
    if (!earlier || !earlier->connection || !*earlier->run_id ||
        strcmp(earlier->run_id, identity->run_id) != 0)
        return LK_OK;
    lki_bytes command = {0};
    redisReply *reply = NULL;
    lki_resp_command(&command, 4);
    lki_resp_text(&command, "CLIENT");
    lki_resp_text(&command, "KILL");
    lki_resp_text(&command, "ID");
    lki_resp_number(&command, earlier->connection);
    lk_status status = exchange(talk, &command, &reply, error);
    freeReplyObject(reply);
    lki_bytes_free(&command);
    return status;
}

static lk_status subscribe(lki_talk *talk, const char *channel, lki_error *error) {
    if (!channel)
        return LK_OK;
    lki_bytes command = {0};
    lki_resp_command(&command, 2);
    lki_resp_text(&command, "SUBSCRIBE");
    lki_resp_text(&command, channel);
    lk_status status =
        demand(talk, "subscribing to the client's channel", &command, refused, error);
    lki_bytes_free(&command);
    return status;
}

/* What came behind the last answer: a message may be cut in two there, and begins in the reader. */
static lk_status put_back_unread(lki_talk *talk, lki_error *error) {
    const redisReader *reader = talk->reader;
    return lki_transport_put_back(talk->transport, reader->buf + reader->pos,
                                  reader->len - reader->pos, error);
}

lk_status lki_greet(lki_transport *transport, const lki_greeting *greeting, lki_identity *out,
                    lki_error *error) {
    const lki_endpoint *endpoint = greeting->endpoint;
    bool is_first = !greeting->earlier || !greeting->earlier->connection;
    lki_talk talk = {.transport = transport,
                     .reader = lki_reader_new(),
                     .deadline_us = greeting->deadline_us,
                     .stop_fd = greeting->stop_fd,
                     .shown = endpoint->shown,
                     .may_want_tls = is_first && endpoint->host && !endpoint->tls};
    lki_identity identity = {0};
    if (!talk.reader)
        return lki_error_no_memory(error);
    lk_status status = lki_greet_login(&talk, endpoint, error);
    if (status == LK_OK)
        status = lki_greet_select(&talk, endpoint, error);
    if (status == LK_OK)
        status = introduce(&talk, greeting->name, &identity, error);
    if (status == LK_OK)
        status = end_earlier(&talk, greeting->earlier, &identity, error);
    if (status == LK_OK)
        status = subscribe(&talk, greeting->channel, error);
    if (status == LK_OK)
        status = put_back_unread(&talk, error);
    redisReaderFree(talk.reader);
    if (status == LK_OK)
        *out = identity;
    return status;
}

/* ------------------------------------------------------------------------------ INFO */

enum { OLDEST_MAJOR = 6, OLDEST_MINOR = 2 };

const char *lki_info_field(const char *info, const char *field) {
    size_t length = strlen(field);
    for (const char *line = info; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, field, length) == 0)
            return line + length;
    }
    return NULL;
}

/* Valkey may call it server_mode. */
const char *lki_info_mode(const char *info) {
    const char *mode = lki_info_field(info, "redis_mode:");
    return mode ? mode : lki_info_field(info, "server_mode:");
}

bool lki_info_is_supported(const char *version) {
    char *end;
    unsigned long major = strtoul(version, &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > OLDEST_MAJOR || (major == OLDEST_MAJOR && minor >= OLDEST_MINOR);
}
