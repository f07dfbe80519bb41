/* See sentinel_ask.h. */
#include "topology/sentinel_ask.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "net/connection.h"
#include "net/fault.h"
#include "net/resp.h"

#include <stdlib.h>
#include <string.h>

/* A sentinel answers at once, or its machine is gone. The others need not wait for that. */
enum { ASK_MS = 1000 };

void lki_master_clear(lki_master *master) {
    lki_free(master->host);
    lki_free(master->port);
    *master = (lki_master){0};
}

/* ------------------------------------------------------------------------------ one sentinel */

lk_status lki_sentinel_connect(const lki_endpoint *sentinel, const lki_reach *reach,
                               _Atomic int *fd_seen, lki_talk *out, lki_error *error) {
    lki_talk talk = {.deadline_us = reach->deadline_us,
                     .stop_fd = reach->stop_fd,
                     .shown = sentinel->shown,
                     .may_want_tls = !sentinel->tls,
                     .reader = lki_reader_new()};
    lk_status status = talk.reader ? LK_OK : lki_error_no_memory(error);
    if (status == LK_OK)
        status = lki_transport_open(sentinel, &reach->tls, reach->deadline_us, reach->stop_fd,
                                    fd_seen, &talk.transport, error);
    if (status == LK_OK)
        status = lki_greet_login(&talk, sentinel, error);
    if (status == LK_OK) {
        *out = talk;
        return LK_OK;
    }
    lki_transport_close(talk.transport);
    if (talk.reader)
        redisReaderFree(talk.reader);
    return status;
}

static const char *value_of(const redisReply *reply, const char *field) {
    for (size_t i = 0; i + 1 < reply->elements; i += 2)
        if (reply->element[i]->type == REDIS_REPLY_STRING &&
            reply->element[i + 1]->type == REDIS_REPLY_STRING &&
            strcmp(reply->element[i]->str, field) == 0)
            return reply->element[i + 1]->str;
    return NULL;
}

static lk_status read_master(const lki_talk *talk, const redisReply *reply, lki_master *out,
                             lki_error *error) {
    const char *host = value_of(reply, "ip"), *port = value_of(reply, "port");
    const char *run_id = value_of(reply, "runid"), *epoch = value_of(reply, "config-epoch");
    if (!host || !*host || !port || !epoch)
        return lki_error_set(error, LK_UNSUPPORTED, "%s: not the answer of a sentinel",
                             talk->shown);
    if (run_id && strlen(run_id) == LKI_RUN_ID_LENGTH)
        memcpy(out->run_id, run_id, LKI_RUN_ID_LENGTH);
    out->epoch = strtoull(epoch, NULL, 10);
    if (lki_copy_to(&out->host, host) && lki_copy_to(&out->port, port))
        return LK_OK;
    return lki_error_no_memory(error);
}

static lk_status read_refusal(const lki_talk *talk, const char *master, const char *text,
                              lki_error *error) {
    if (strstr(text, "No such master"))
        return lki_error_set(error, LK_INVALID,
                             "%s: the sentinel does not know a master called \"%s\"; SENTINEL "
                             "MASTERS lists the names",
                             talk->shown, master);
    if (strstr(text, "unknown command"))
        return lki_error_set(error, LK_UNSUPPORTED,
                             "%s: the server is not a sentinel; give the addresses of sentinels",
                             talk->shown);
    if (strncmp(text, "NOAUTH", strlen("NOAUTH")) == 0)
        return lki_error_set(error, LK_DENIED,
                             "%s: the sentinel wants a password; give sentinel_password in the "
                             "URL, or set LATCHKEY_SENTINEL_PASSWORD",
                             talk->shown);
    lki_fault fault = lki_fault_read(text);
    return lki_error_set(error, fault.status, "%s: %s; %s", talk->shown, text, fault.advice);
}

/* Sends SENTINEL and two words, and reads the answer, which the caller frees. */
static lk_status ask_sentinel(lki_talk *talk, const char *what, const char *master,
                              redisReply **reply, lki_error *error) {
    lki_bytes command = {0};
    lki_resp_command(&command, 3);
    lki_resp_text(&command, "SENTINEL");
    lki_resp_text(&command, what);
    lki_resp_text(&command, master);
    lk_status status = lki_talk_write(talk, &command, error);
    if (status == LK_OK)
        status = lki_talk_read(talk, reply, error);
    lki_bytes_free(&command);
    return status;
}

/*
 * The sentinel that leads a failover raises the epoch when the replica is a master, and changes the
 * address in its answer to SENTINEL MASTER only when the other replicas follow. Meanwhile the
 * former master may have been started again, without its data, and say that it is the master. Only
 * the answer to GET-MASTER-ADDR-BY-NAME has the new address then.
 */
static bool is_failing_over(const redisReply *reply) {
    const char *flags = value_of(reply, "flags");
    return flags && strstr(flags, "failover_in_progress");
}

static lk_status read_address(const redisReply *reply, lki_master *out, lki_error *error) {
    bool is_address = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                      reply->element[0]->type == REDIS_REPLY_STRING &&
                      reply->element[1]->type == REDIS_REPLY_STRING;
    if (!is_address || (strcmp(reply->element[0]->str, out->host) == 0 &&
                        strcmp(reply->element[1]->str, out->port) == 0))
        return LK_OK;
    uint64_t epoch = out->epoch;
    lki_master_clear(out); /* also the run id, which is that of the former master */
    out->epoch = epoch;
    if (lki_copy_to(&out->host, reply->element[0]->str) &&
        lki_copy_to(&out->port, reply->element[1]->str))
        return LK_OK;
    return lki_error_no_memory(error);
}

static lk_status ask_address(lki_talk *talk, const char *master, lki_master *out,
                             lki_error *error) {
    redisReply *reply = NULL;
    lk_status status = ask_sentinel(talk, "GET-MASTER-ADDR-BY-NAME", master, &reply, error);
    if (status == LK_OK)
        status = read_address(reply, out, error);
    freeReplyObject(reply);
    return status;
}

static lk_status ask_master(lki_talk *talk, const char *master, lki_master *out, lki_error *error) {
    redisReply *reply = NULL;
    lk_status status = ask_sentinel(talk, "MASTER", master, &reply, error);
    if (status == LK_OK)
        status = reply->type == REDIS_REPLY_ERROR ? read_refusal(talk, master, reply->str, error)
                                                  : read_master(talk, reply, out, error);
    if (status == LK_OK && is_failing_over(reply))
        status = ask_address(talk, master, out, error);
    freeReplyObject(reply);
    return status;
}

/* ------------------------------------------------------------------------------ all of them */

typedef struct {
    const lki_endpoint *sentinel;
    const char *name; /* of the master */
    lki_reach reach;
    pthread_t thread;
    bool started;
    lk_status status;
    lki_error error;
    lki_master master;
} asker;

static void *ask_one(void *context) {
    asker *self = context;
    lki_talk talk;
    self->status = lki_sentinel_connect(self->sentinel, &self->reach, NULL, &talk, &self->error);
    if (self->status != LK_OK)
        return NULL;
    self->status = ask_master(&talk, self->name, &self->master, &self->error);
    lki_transport_close(talk.transport);
    redisReaderFree(talk.reader);
    return NULL;
}

/* The reasons that a user can do something about come first. */
static int weight_of(lk_status status) {
    switch (status) {
    case LK_CANCELED:
        return 5;
    case LK_DENIED:
        return 4;
    case LK_INVALID:
        return 3;
    case LK_UNSUPPORTED:
        return 2;
    default:
        return 1;
    }
}

static lk_status choose(asker *askers, size_t count, lki_master *out, bool *all_answered,
                        lki_error *error) {
    asker *best = NULL, *worst = NULL;
    *all_answered = true;
    for (size_t i = 0; i < count; i++) {
        asker *one = &askers[i];
        if (one->status != LK_OK) {
            *all_answered = false;
            if (!worst || weight_of(one->status) > weight_of(worst->status))
                worst = one;
        } else if (!best || one->master.epoch > best->master.epoch) {
            best = one;
        }
    }
    if (!best) {
        *error = worst->error;
        return worst->status;
    }
    *out = best->master;
    best->master = (lki_master){0};
    return LK_OK;
}

lk_status lki_sentinels_ask(const lki_seeds *seeds, const lki_reach *reach, lki_master *out,
                            bool *all_answered, lki_error *error) {
    asker *askers = lki_new(seeds->count * sizeof *askers);
    int64_t end_us = lki_after_ms(lki_now_us(), ASK_MS);
    if (!askers)
        return lki_error_no_memory(error);
    for (size_t i = 0; i < seeds->count; i++) {
        askers[i] = (asker){.sentinel = &seeds->seeds[i], .name = seeds->master, .reach = *reach};
        if (askers[i].reach.deadline_us > end_us)
            askers[i].reach.deadline_us = end_us;
        askers[i].started = lki_thread_start(&askers[i].thread, ask_one, &askers[i]);
        if (!askers[i].started)
            ask_one(&askers[i]);
    }
    for (size_t i = 0; i < seeds->count; i++)
        if (askers[i].started)
            pthread_join(askers[i].thread, NULL);
    lk_status status = choose(askers, seeds->count, out, all_answered, error);
    for (size_t i = 0; i < seeds->count; i++)
        lki_master_clear(&askers[i].master);
    lki_free(askers);
    return status;
}
