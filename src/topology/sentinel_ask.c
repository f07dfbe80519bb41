/* See sentinel_ask.h. */
#include "topology/sentinel_ask.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "net/fault.h"
#include "net/resp.h"

#include <stdio.h>
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

static int64_t number_of(const redisReply *reply, const char *field) {
    const char *value = lki_reply_value(reply, field);
    return value ? strtoll(value, NULL, 10) : -1;
}

static lk_status read_master(const lki_talk *talk, const redisReply *reply,
                             lki_sentinel_answer *out, lki_error *error) {
    lki_master *master = &out->master;
    const char *host = lki_reply_value(reply, "ip"), *port = lki_reply_value(reply, "port");
    const char *run_id = lki_reply_value(reply, "runid"),
               *epoch = lki_reply_value(reply, "config-epoch");
    const char *flags = lki_reply_value(reply, "flags");
    if (!host || !*host || !port || !epoch)
        return lki_error_set(error, LK_UNSUPPORTED, "%s: not the answer of a sentinel",
                             talk->shown);
    if (run_id && strlen(run_id) == LKI_RUN_ID_LENGTH)
        memcpy(master->run_id, run_id, LKI_RUN_ID_LENGTH);
    master->epoch = strtoull(epoch, NULL, 10);
    snprintf(out->flags, sizeof out->flags, "%s", flags ? flags : "");
    out->others = number_of(reply, "num-other-sentinels");
    out->quorum = number_of(reply, "quorum");
    out->replicas = number_of(reply, "num-slaves");
    out->down_after_ms = number_of(reply, "down-after-milliseconds");
    out->failover_timeout_ms = number_of(reply, "failover-timeout");
    if (lki_copy_to(&master->host, host) && lki_copy_to(&master->port, port))
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

/*
 * The sentinel that leads a failover raises the epoch when the replica is a master, and changes the
 * address in its answer to SENTINEL MASTER only when the other replicas follow. Meanwhile the
 * former master may have been started again, without its data, and say that it is the master. Only
 * the answer to GET-MASTER-ADDR-BY-NAME has the new address then.
 */
static bool is_failing_over(const redisReply *reply) {
    const char *flags = lki_reply_value(reply, "flags");
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
    const char *const words[] = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master, NULL};
    redisReply *reply = NULL;
    lk_status status = lki_talk_ask(talk, words, &reply, error);
    if (status == LK_OK)
        status = read_address(reply, out, error);
    freeReplyObject(reply);
    return status;
}

static lk_status ask_master(lki_talk *talk, const char *master, lki_sentinel_answer *out,
                            lki_error *error) {
    const char *const words[] = {"SENTINEL", "MASTER", master, NULL};
    redisReply *reply = NULL;
    lk_status status = lki_talk_ask(talk, words, &reply, error);
    if (status == LK_OK)
        status = reply->type == REDIS_REPLY_ERROR ? read_refusal(talk, master, reply->str, error)
                                                  : read_master(talk, reply, out, error);
    if (status == LK_OK && is_failing_over(reply))
        status = ask_address(talk, master, &out->master, error);
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
    lki_sentinel_answer *answer;
} asker;

static void *ask_one(void *context) {
    asker *self = context;
    lki_sentinel_answer *answer = self->answer;
    lki_talk talk;
    answer->status = lki_greet_open(self->sentinel, &self->reach, NULL, &talk, &answer->error);
    if (answer->status != LK_OK)
        return NULL;
    answer->status = ask_master(&talk, self->name, answer, &answer->error);
    lki_talk_close(&talk);
    return NULL;
}

lk_status lki_sentinels_ask_each(const lki_seeds *seeds, const lki_reach *reach,
                                 lki_sentinel_answer *answers, lki_error *error) {
    asker *askers = lki_new(seeds->count * sizeof *askers);
    int64_t end_us = lki_after_ms(lki_now_us(), ASK_MS);
    if (!askers)
        return lki_error_no_memory(error);
    for (size_t i = 0; i < seeds->count; i++) {
        askers[i] = (asker){.sentinel = &seeds->seeds[i],
                            .name = seeds->master,
                            .reach = *reach,
                            .answer = &answers[i]};
        if (askers[i].reach.deadline_us > end_us)
            askers[i].reach.deadline_us = end_us;
        askers[i].started = lki_thread_start(&askers[i].thread, ask_one, &askers[i]);
        if (!askers[i].started)
            ask_one(&askers[i]);
    }
    for (size_t i = 0; i < seeds->count; i++)
        if (askers[i].started)
            pthread_join(askers[i].thread, NULL);
    lki_free(askers);
    return LK_OK;
}

lki_sentinel_answer *lki_sentinels_choose(lki_sentinel_answer *answers, size_t count) {
    lki_sentinel_answer *best = NULL, *worst = NULL;
    for (size_t i = 0; i < count; i++) {
        lki_sentinel_answer *one = &answers[i];
        if (one->status != LK_OK) {
            if (!worst || lki_seed_error_weight(one->status) > lki_seed_error_weight(worst->status))
                worst = one;
        } else if (!best || one->master.epoch > best->master.epoch) {
            best = one;
        }
    }
    return best ? best : worst;
}

lk_status lki_sentinels_ask(const lki_seeds *seeds, const lki_reach *reach, lki_master *out,
                            bool *all_answered, lki_error *error) {
    lki_sentinel_answer *answers = lki_new(seeds->count * sizeof *answers);
    lk_status status =
        answers ? lki_sentinels_ask_each(seeds, reach, answers, error) : lki_error_no_memory(error);
    if (status == LK_OK) {
        lki_sentinel_answer *chosen = lki_sentinels_choose(answers, seeds->count);
        *all_answered = true;
        for (size_t i = 0; i < seeds->count; i++)
            *all_answered = *all_answered && answers[i].status == LK_OK;
        if ((status = chosen->status) == LK_OK) {
            *out = chosen->master;
            chosen->master = (lki_master){0};
        } else {
            *error = chosen->error;
        }
    }
    for (size_t i = 0; answers && i < seeds->count; i++)
        lki_master_clear(&answers[i].master);
    lki_free(answers);
    return status;
}
