/* See greet.h. */
#include "net/greet.h"

#include "net/connection.h"
#include "net/fault.h"
#include "net/resp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Quotes are limited, so that the advice after the quote still fits into the error text. */
enum { QUOTED_MOST = 240 };

#define CANNOT_SERVE "the server cannot serve locks now"

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

/*
 * Quotes only the code of the reply: a server that does not know AUTH repeats the command, with the
 * password in it.
 */
static lk_status refused_with_secret(const lki_talk *talk, const char *what, const char *reply,
                                     lki_error *error) {
    size_t code = strcspn(reply, " ");
    return refused_in_words(talk, what, reply, code < QUOTED_MOST ? code : QUOTED_MOST, error);
}

/*
 * Sends a command and reads the reply, which the caller frees. A server that refuses the connection
 * (for example, too many clients) may send an error and close before we write. Then the write
 * fails, and that error is read as the reply.
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

/* Makes the error for an error reply: refused or refused_with_secret. */
typedef lk_status refuse_fn(const lki_talk *, const char *what, const char *reply, lki_error *);

/* An exchange that fails if the server replies with an error. */
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
        status = demand(talk, "AUTH failed", &command, refused_with_secret, error);
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
    lk_status status = demand(talk, "SELECT of the db failed", &command, refused, error);
    lki_bytes_free(&command);
    return status;
}

lk_status lki_greet_open(const lki_endpoint *endpoint, const lki_reach *reach, _Atomic int *fd_seen,
                         lki_talk *out, lki_error *error) {
    lki_talk talk = {.deadline_us = reach->deadline_us,
                     .stop_fd = reach->stop_fd,
                     .shown = endpoint->shown,
                     .may_want_tls = endpoint->host && !endpoint->tls,
                     .reader = lki_reader_new()};
    lk_status status = talk.reader ? LK_OK : lki_error_no_memory(error);
    if (status == LK_OK)
        status = lki_transport_open(endpoint, &reach->tls, reach->deadline_us, reach->stop_fd,
                                    fd_seen, &talk.transport, error);
    if (status == LK_OK)
        status = lki_greet_login(&talk, endpoint, error);
    if (status == LK_OK)
        *out = talk;
    else
        lki_talk_close(&talk);
    return status;
}

/* ------------------------------------------------------------------------------ introduction */

/* A node refuses the keys of other nodes, so a cluster needs its own kind of URL. */
static lk_status check_mode(const lki_talk *talk, const char *info, lki_error *error) {
    const char *mode = lki_info_mode(info);
    bool is_node = mode && strncmp(mode, "cluster", strlen("cluster")) == 0;
    if (is_node && !talk->is_node)
        return lki_error_set(error, LK_UNSUPPORTED,
                             "%s: the server is a node of a cluster; use redis+cluster://",
                             talk->shown);
    if (mode && !is_node && talk->is_node)
        return lki_error_set(error, LK_UNSUPPORTED,
                             "%s: the server is not a node of a cluster any more", talk->shown);
    if (mode && strncmp(mode, "sentinel", strlen("sentinel")) == 0)
        return lki_error_set(error, LK_UNSUPPORTED,
                             "%s: the server is a sentinel; use redis+sentinel://, or give the "
                             "address of the master",
                             talk->shown);
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
    return check_mode(talk, info, error);
}

static lk_status check_role(const lki_talk *talk, const char *info, lki_error *error) {
    const char *role = lki_info_field(info, "role:");
    if (role && strncmp(role, "slave", strlen("slave")) == 0)
        return lki_error_set(error, LK_UNAVAILABLE, "%s: READONLY: the server is a replica; %s",
                             talk->shown, talk->if_replica);
    return LK_OK;
}

/* The replies to add_introduction(), in their order. */
enum { REPLY_SETNAME, REPLY_ID, REPLY_SERVER, REPLY_ROLE, REPLY_PING, REPLIES };

static void add_introduction(lki_bytes *out, const char *name) {
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

/*
 * Error replies are ignored, since the user may lack the right to the command. The exception is an
 * error reply to PING: it tells that the server cannot serve now.
 */
static lk_status check_reply(const lki_talk *talk, int which, const redisReply *reply,
                             lki_identity *identity, lki_error *error) {
    if (which == REPLY_ID && reply->type == REDIS_REPLY_INTEGER)
        identity->connection = (uint64_t)reply->integer;
    if (which == REPLY_SERVER && reply->type == REDIS_REPLY_STRING)
        return read_server(talk, reply->str, identity, error);
    if (which == REPLY_ROLE && reply->type == REDIS_REPLY_STRING)
        return check_role(talk, reply->str, error);
    if (which == REPLY_PING && reply->type == REDIS_REPLY_ERROR &&
        strncmp(reply->str, "NOPERM", strlen("NOPERM")) != 0)
        return refused(talk, CANNOT_SERVE, reply->str, error);
    return LK_OK;
}

/*
 * Reads the replies after the first one. `refusal` is the first reply if it was an error, else
 * LK_OK. A server that refuses the connection sends that error alone; then it is the reason.
 */
static lk_status read_others(lki_talk *talk, const lki_error *refusal, lki_identity *identity,
                             lki_error *error) {
    lk_status status = LK_OK;
    for (int which = REPLY_SETNAME + 1; which < REPLIES && status == LK_OK; which++) {
        redisReply *reply = NULL;
        status = lki_talk_read(talk, &reply, error);
        if (status == LK_OK) {
            status = check_reply(talk, which, reply, identity, error);
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
    add_introduction(&command, name);
    lk_status status = exchange(talk, &command, &reply, error);
    if (status == LK_OK && reply->type == REDIS_REPLY_ERROR)
        refused(talk, CANNOT_SERVE, reply->str, &refusal);
    if (status == LK_OK)
        status = read_others(talk, &refusal, identity, error);
    freeReplyObject(reply);
    lki_bytes_free(&command);
    return status;
}

/* ------------------------------------------------------------------------------ the greeting */

/*
 * SPEC 9.6: the server may still have requests of our earlier connection in its buffers. After the
 * reply to CLIENT KILL it can no longer run them. A restarted server does not have them, and there
 * the id may belong to another client.
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

static void add_subscription(lki_bytes *out, const char *word, const char *channel) {
    lki_resp_command(out, 2);
    lki_resp_text(out, word);
    lki_resp_text(out, channel);
}

static bool answers_sharded(const redisReply *reply) {
    return reply->type == REDIS_REPLY_ERROR ||
           (reply->type == REDIS_REPLY_ARRAY && reply->elements &&
            reply->element[0]->type == REDIS_REPLY_STRING &&
            strcmp(reply->element[0]->str, "ssubscribe") == 0);
}

/*
 * SSUBSCRIBE may be refused: the server is older than 7.0, the user lacks the right, or the slot of
 * the channel has moved. Then the messages come to the plain subscription. Some may come before
 * this answer, and are skipped: whoever subscribes looks at the locks again afterwards.
 */
static lk_status read_sharded(lki_talk *talk, lki_error *error) {
    lk_status status;
    bool is_answered = false;
    do {
        redisReply *reply = NULL;
        status = lki_talk_read(talk, &reply, error);
        is_answered = status == LK_OK && answers_sharded(reply);
        freeReplyObject(reply);
    } while (status == LK_OK && !is_answered);
    return status;
}

static lk_status subscribe(lki_talk *talk, const lki_greeting *greeting, lki_error *error) {
    if (!greeting->channel)
        return LK_OK;
    lki_bytes command = {0};
    add_subscription(&command, "SUBSCRIBE", greeting->channel);
    if (greeting->is_sharded)
        add_subscription(&command, "SSUBSCRIBE", greeting->channel);
    lk_status status =
        demand(talk, "SUBSCRIBE to the client's channel failed", &command, refused, error);
    if (status == LK_OK && greeting->is_sharded)
        status = read_sharded(talk, error);
    lki_bytes_free(&command);
    return status;
}

/* The bytes after the last reply may be the first half of a message: the next reader needs them. */
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
                     .if_replica = greeting->is_found ? "it is not the master any more, or not yet"
                                                      : "give the address of its master",
                     .is_node = greeting->is_node,
                     .may_want_tls = is_first && endpoint->host && !endpoint->tls};
    lki_identity identity = {0};
    lki_endpoint_address(endpoint, identity.address);
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
        status = subscribe(&talk, greeting, error);
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

/* Valkey may name the field server_mode. */
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
