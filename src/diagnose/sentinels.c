/* See sentinels.h. */
#include "diagnose/sentinels.h"

#include "base/clock.h"
#include "base/memory.h"
#include "diagnose/facts.h"
#include "diagnose/one_server.h"
#include "topology/sentinel_ask.h"

#include <stdlib.h>
#include <string.h>

/* Whether enough sentinels can be reached, in the words of SENTINEL CKQUORUM. */
static void read_quorum(const redisReply *reply, lk_seed_facts *out) {
    if (reply->type == REDIS_REPLY_STATUS || reply->type == REDIS_REPLY_STRING)
        out->can_fail_over = LK_YES;
    else if (reply->type == REDIS_REPLY_ERROR && strstr(reply->str, "NOQUORUM"))
        out->can_fail_over = LK_NO;
}

/* The reply to SENTINEL REPLICAS: a list of fields for each. */
static void read_replicas(const redisReply *reply, lk_seed_facts *out) {
    if (reply->type != REDIS_REPLY_ARRAY)
        return;
    out->promotable = 0;
    for (size_t i = 0; i < reply->elements; i++) {
        const char *priority = lki_reply_value(reply->element[i], "slave-priority");
        out->promotable += !priority || strtoll(priority, NULL, 10) != 0;
    }
}

/* A user of the sentinel may lack the rights to these questions: then the facts stay unknown. */
static lk_status ask_more(const lki_endpoint *sentinel, const char *master, const lki_reach *reach,
                          lk_seed_facts *out, lki_error *error) {
    const char *const quorum[] = {"SENTINEL", "CKQUORUM", master, NULL};
    const char *const replicas[] = {"SENTINEL", "REPLICAS", master, NULL};
    redisReply *reply = NULL;
    lki_talk talk;
    lk_status status = lki_greet_open(sentinel, reach, NULL, &talk, error);
    if (status != LK_OK)
        return status;
    status = lki_talk_ask(&talk, quorum, &reply, error);
    if (status == LK_OK) {
        read_quorum(reply, out);
        freeReplyObject(reply);
        reply = NULL;
        status = lki_talk_ask(&talk, replicas, &reply, error);
    }
    if (status == LK_OK)
        read_replicas(reply, out);
    freeReplyObject(reply);
    lki_talk_close(&talk);
    return status;
}

static void take_answer(const lki_sentinel_answer *answer, lki_pool *pool, lk_seed_facts *out) {
    const lki_master *master = &answer->master;
    out->status = answer->status;
    if (answer->status != LK_OK) {
        out->error = lki_pool_text(pool, answer->error.text, strlen(answer->error.text));
        return;
    }
    out->master = lki_address_text(pool, master->host, strlen(master->host), master->port,
                                   strlen(master->port));
    out->epoch = master->epoch;
    out->flags = lki_pool_text(pool, answer->flags, strlen(answer->flags));
    out->others = answer->others;
    out->quorum = answer->quorum;
    out->down_after_ms = answer->down_after_ms;
    out->failover_timeout_ms = answer->failover_timeout_ms;
    out->replicas = answer->replicas;
}

/* The list of seeds. LK_NOMEM also if a sentinel could not be asked for lack of memory. */
static lk_status take_answers(const lki_seeds *seeds, const lki_question *question,
                              const lki_reach *reach, lki_pool *pool, lk_facts *facts,
                              lki_error *error) {
    lk_seed_facts *list = lki_pool_new(pool, seeds->count * sizeof *list);
    if (!list)
        return lki_error_no_memory(error);
    facts->seeds = list;
    facts->seed_count = seeds->count;
    for (size_t i = 0; i < seeds->count; i++) {
        lki_error ignored;
        const lki_sentinel_answer *answer = lki_question_answer(question, i);
        lk_status status = answer->status;
        list[i] = lki_seed_facts_blank(&seeds->seeds[i], pool);
        take_answer(answer, pool, &list[i]);
        if (status == LK_OK)
            status = ask_more(&seeds->seeds[i], seeds->master, reach, &list[i], &ignored);
        if (status == LK_NOMEM || pool->failed)
            return lki_error_no_memory(error);
    }
    return LK_OK;
}

static lk_status examine_master(const lki_seeds *seeds, const lki_master *master,
                                const lki_settings *settings, lki_pool *pool, lk_facts *facts,
                                lki_error *error) {
    lki_endpoint endpoint = {0};
    if (!lki_seeds_endpoint(seeds, master->host, master->port, &endpoint))
        return lki_error_no_memory(error);
    lk_status status = lki_examine_named_server(&endpoint, settings, pool, facts, error);
    lki_endpoint_clear(&endpoint);
    return status;
}

lk_status lki_examine_sentinels(const lki_seeds *seeds, const lki_settings *settings,
                                lki_pool *pool, lk_facts *facts, lki_error *error) {
    lki_reach reach = {lki_settings_tls(settings),
                       lki_after_ms(lki_now_us(), settings->connect_timeout_ms), -1};
    lki_question *question = NULL;
    lk_status status = lki_question_begin(seeds, &reach, &question, error);
    if (status != LK_OK)
        return status;
    while (lki_question_count(question).ended < seeds->count)
        lki_question_await(question, LKI_NEVER);
    const lki_sentinel_answer *chosen = lki_question_best(question);
    if ((status = chosen->status) == LK_OK)
        status = examine_master(seeds, &chosen->master, settings, pool, facts, error);
    else
        *error = chosen->error;
    reach.deadline_us = lki_after_ms(lki_now_us(), settings->connect_timeout_ms);
    if (status == LK_OK)
        status = take_answers(seeds, question, &reach, pool, facts, error);
    lki_question_end(question);
    return status;
}
