/* See sentinel_ask.h. */
#include "topology/sentinel_ask.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "net/fault.h"
#include "net/resp.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A sentinel answers at once, or its machine is gone. */
enum { ASK_MS = 1000 };

void lki_master_clear(lki_master *master) {
    lki_free(master->host);
    lki_free(master->port);
    *master = (lki_master){0};
}

bool lki_master_copy(lki_master *to, const lki_master *from) {
    *to = (lki_master){.epoch = from->epoch};
    memcpy(to->run_id, from->run_id, sizeof to->run_id);
    if (lki_copy_to(&to->host, from->host) && lki_copy_to(&to->port, from->port))
        return true;
    lki_master_clear(to);
    return false;
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
    lki_question *question;
    const lki_endpoint *sentinel;
    lki_reach reach;
    pthread_t thread;
    bool started;
    atomic_bool ended; /* `answer` does not change any more */
    lki_sentinel_answer answer;
} asker;

struct lki_question {
    const char *name; /* of the master */
    int64_t asked_us;
    int caller_stop_fd;    /* of the reach */
    int stop_fd, ended_fd; /* readable: the askers should give up; an asker has ended */
    size_t count;
    asker askers[];
};

static void *ask_one(void *context) {
    asker *self = context;
    lki_sentinel_answer *answer = &self->answer;
    lki_talk talk;
    answer->status = lki_greet_open(self->sentinel, &self->reach, NULL, &talk, &answer->error);
    if (answer->status == LK_OK) {
        answer->status = ask_master(&talk, self->question->name, answer, &answer->error);
        lki_talk_close(&talk);
    }
    atomic_store(&self->ended, true);
    eventfd_write(self->question->ended_fd, 1);
    return NULL;
}

static void begin_to_ask(lki_question *question, size_t which, const lki_seeds *seeds,
                         const lki_reach *reach) {
    asker *self = &question->askers[which];
    int64_t end_us = lki_after_ms(question->asked_us, ASK_MS);
    self->question = question;
    self->sentinel = &seeds->seeds[which];
    self->reach = *reach;
    if (self->reach.deadline_us > end_us)
        self->reach.deadline_us = end_us;
    self->reach.stop_fd = question->stop_fd;
    self->started = lki_thread_start(&self->thread, ask_one, self);
    if (!self->started) {
        self->reach.stop_fd = reach->stop_fd;
        ask_one(self);
    }
}

lk_status lki_question_begin(const lki_seeds *seeds, const lki_reach *reach, lki_question **out,
                             lki_error *error) {
    lki_question *question =
        lki_new(sizeof *question + seeds->count * sizeof question->askers[0]);
    if (!question)
        return lki_error_no_memory(error);
    question->name = seeds->master;
    question->asked_us = lki_now_us();
    question->caller_stop_fd = reach->stop_fd;
    question->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    question->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (question->stop_fd < 0 || question->ended_fd < 0) {
        lki_question_end(question);
        return lki_error_set(error, LK_NOMEM, "no file descriptor is left");
    }
    question->count = seeds->count;
    for (size_t i = 0; i < seeds->count; i++)
        begin_to_ask(question, i, seeds, reach);
    *out = question;
    return LK_OK;
}

void lki_question_end(lki_question *question) {
    if (!question)
        return;
    eventfd_write(question->stop_fd, 1);
    for (size_t i = 0; i < question->count; i++) {
        if (question->askers[i].started)
            pthread_join(question->askers[i].thread, NULL);
        lki_master_clear(&question->askers[i].answer.master);
    }
    if (question->stop_fd >= 0)
        close(question->stop_fd);
    if (question->ended_fd >= 0)
        close(question->ended_fd);
    lki_free(question);
}

int64_t lki_question_asked_us(const lki_question *question) {
    return question->asked_us;
}

int lki_question_fd(const lki_question *question) {
    return question->ended_fd;
}

/* The eventfd is read first, so that an asker that ends meanwhile makes it readable again. */
lki_question_counts lki_question_count(lki_question *question) {
    lki_question_counts counts = {.asked = question->count};
    eventfd_t ignored;
    eventfd_read(question->ended_fd, &ignored);
    for (size_t i = 0; i < question->count; i++) {
        const lki_sentinel_answer *one = lki_question_answer(question, i);
        counts.ended += one != NULL;
        counts.knowing += one && one->status == LK_OK;
    }
    return counts;
}

bool lki_question_await(const lki_question *question, int64_t until_us) {
    struct pollfd polled[] = {{question->ended_fd, POLLIN, 0},
                              {question->caller_stop_fd, POLLIN, 0}};
    int ready;
    do
        ready = poll(polled, 2, lki_poll_ms(until_us));
    while (ready < 0 && errno == EINTR);
    return ready > 0 && !polled[1].revents;
}

const lki_sentinel_answer *lki_question_answer(const lki_question *question, size_t sentinel) {
    const asker *self = &question->askers[sentinel];
    return atomic_load(&self->ended) ? &self->answer : NULL;
}

const lki_sentinel_answer *lki_question_best(const lki_question *question) {
    const lki_sentinel_answer *best = NULL, *worst = NULL;
    for (size_t i = 0; i < question->count; i++) {
        const lki_sentinel_answer *one = lki_question_answer(question, i);
        if (one && one->status == LK_OK) {
            if (!best || one->master.epoch > best->master.epoch)
                best = one;
        } else if (one && (!worst || lki_seed_error_weight(one->status) >
                                         lki_seed_error_weight(worst->status))) {
            worst = one;
        }
    }
    return best ? best : worst;
}
