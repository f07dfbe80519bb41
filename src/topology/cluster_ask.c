/* See cluster_ask.h. */
#include "topology/cluster_ask.h"

#include "base/memory.h"
#include "net/fault.h"
#include "net/resp.h"
#include "topology/slot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_SIZE = 8 };

void lki_cluster_view_clear(lki_cluster_view *view) {
    for (size_t i = 0; i < view->count; i++) {
        lki_free(view->ranges[i].host);
        lki_free(view->ranges[i].port);
    }
    lki_free(view->ranges);
    *view = (lki_cluster_view){0};
}

/* ------------------------------------------------------------------------------ reading */

static bool is_number(const redisReply *reply, long long most) {
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0 && reply->integer <= most;
}

/* first, last, [host, port, id, …] of the master, and the same of each replica. */
static bool is_range(const redisReply *reply) {
    return reply->type == REDIS_REPLY_ARRAY && reply->elements >= 3 &&
           is_number(reply->element[0], LKI_SLOTS - 1) &&
           is_number(reply->element[1], LKI_SLOTS - 1) &&
           reply->element[2]->type == REDIS_REPLY_ARRAY && reply->element[2]->elements >= 2 &&
           is_number(reply->element[2]->element[1], 65535);
}

/* A node that does not know its own address leaves it out: it is the address that was asked. */
static bool read_range(const redisReply *reply, const char *asked_host, lki_slot_range *out) {
    const redisReply *host = reply->element[2]->element[0];
    bool is_known = host->type == REDIS_REPLY_STRING && *host->str && strcmp(host->str, "?") != 0;
    char port[PORT_SIZE];
    snprintf(port, sizeof port, "%lld", reply->element[2]->element[1]->integer);
    out->first = (unsigned)reply->element[0]->integer;
    out->last = (unsigned)reply->element[1]->integer;
    return lki_copy_to(&out->host, is_known ? host->str : asked_host) &&
           lki_copy_to(&out->port, port);
}

static lk_status read_slots(const lki_talk *talk, const redisReply *reply, const char *asked_host,
                            lki_cluster_view *out, lki_error *error) {
    bool is_valid = reply->type == REDIS_REPLY_ARRAY;
    for (size_t i = 0; is_valid && i < reply->elements; i++)
        is_valid = is_range(reply->element[i]);
    if (!is_valid)
        return lki_error_set(error, LK_INTERNAL, "%s: not an answer to CLUSTER SLOTS", talk->shown);
    if (reply->elements == 0)
        return lki_error_set(error, LK_UNAVAILABLE, "%s: the cluster has no slots yet",
                             talk->shown);
    out->ranges = lki_new(reply->elements * sizeof *out->ranges);
    if (!out->ranges)
        return lki_error_no_memory(error);
    out->count = reply->elements;
    for (size_t i = 0; i < out->count; i++)
        if (!read_range(reply->element[i], asked_host, &out->ranges[i]))
            return lki_error_no_memory(error);
    return LK_OK;
}

/* Without the right to ask, a user learns of failures from the servers themselves. */
static void read_info(const redisReply *reply, lki_cluster_view *out) {
    const char *info = reply->type == REDIS_REPLY_STRING ? reply->str : "";
    const char *state = lki_info_field(info, "cluster_state:");
    const char *epoch = lki_info_field(info, "cluster_current_epoch:");
    out->is_ok = !state || strncmp(state, "ok", strlen("ok")) == 0;
    out->epoch = epoch ? strtoull(epoch, NULL, 10) : 0;
}

static lk_status read_refusal(const lki_talk *talk, const char *text, lki_error *error) {
    if (strstr(text, "cluster support disabled"))
        return lki_error_set(error, LK_UNSUPPORTED,
                             "%s: the server is not a node of a cluster; for one server, use "
                             "redis://",
                             talk->shown);
    if (strstr(text, "unknown command"))
        return lki_error_set(error, LK_UNSUPPORTED,
                             "%s: the server is not a node of a cluster; for sentinels, use "
                             "redis+sentinel://",
                             talk->shown);
    lki_fault fault = lki_fault_read(text);
    return lki_error_set(error, fault.status, "%s: CLUSTER SLOTS: %s; %s", talk->shown, text,
                         fault.advice);
}

/* ------------------------------------------------------------------------------ asking */

static void add_question(lki_bytes *out, const char *what) {
    lki_resp_command(out, 2);
    lki_resp_text(out, "CLUSTER");
    lki_resp_text(out, what);
}

static lk_status converse(lki_talk *talk, const char *asked_host, lki_cluster_view *out,
                          lki_error *error) {
    lki_bytes questions = {0};
    redisReply *info = NULL, *slots = NULL;
    add_question(&questions, "INFO");
    add_question(&questions, "SLOTS");
    lk_status status = lki_talk_write(talk, &questions, error);
    if (status == LK_OK)
        status = lki_talk_read(talk, &info, error);
    if (status == LK_OK)
        status = lki_talk_read(talk, &slots, error);
    if (status == LK_OK && slots->type == REDIS_REPLY_ERROR)
        status = read_refusal(talk, slots->str, error);
    else if (status == LK_OK)
        status = read_slots(talk, slots, asked_host, out, error);
    if (status == LK_OK)
        read_info(info, out);
    freeReplyObject(info);
    freeReplyObject(slots);
    lki_bytes_free(&questions);
    return status;
}

lk_status lki_cluster_ask(const lki_endpoint *node, const lki_reach *reach, _Atomic int *fd_seen,
                          lki_cluster_view *out, lki_error *error) {
    lki_talk talk;
    lki_cluster_view view = {0};
    lk_status status = lki_greet_open(node, reach, fd_seen, &talk, error);
    if (status != LK_OK)
        return status;
    status = converse(&talk, node->host, &view, error);
    lki_talk_close(&talk);
    if (status == LK_OK)
        *out = view;
    else
        lki_cluster_view_clear(&view);
    return status;
}
