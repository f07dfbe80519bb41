/* See inspect.h. */
#include "engine/inspect.h"

#include "base/memory.h"
#include "engine/answer.h"
#include "engine/form.h"

#include <stdlib.h>
#include <string.h>

/* The elements of the reply after its first line, and the columns of its rows (SPEC 10.8). */
enum { POLICY = 1, FENCE, ABANDONED, HOLDERS, WAITERS, HOLD_ROWS, WAITER_ROWS, ELEMENTS };
enum { HANDLE, OWNER, GROUP };
enum { READS = 3, WRITES, HOLD_LEFT, HELD, HOLD_FENCE, PROVISIONAL, HOLD_WHO, HOLD_COLUMNS };
enum { MODE = 3, WAITER_LEFT, WAITED, REQUEST, WAITER_WHO, WAITER_COLUMNS };

/* Copies texts into the memory of the info. */
typedef struct {
    char *next; /* where to copy the next text */
    bool sound; /* all replies so far had the expected type */
} texts;

static const redisReply *cell(const redisReply *row, size_t column) {
    return row->element[column];
}

static bool is_table(const redisReply *rows, size_t columns) {
    if (rows->type != REDIS_REPLY_ARRAY)
        return false;
    for (size_t i = 0; i < rows->elements; i++)
        if (rows->element[i]->type != REDIS_REPLY_ARRAY || rows->element[i]->elements != columns)
            return false;
    return true;
}

static uint64_t number(texts *t, const redisReply *reply) {
    uint64_t value = 0;
    t->sound = t->sound && lki_reply_number(reply, &value);
    return value;
}

static const char *text(texts *t, const redisReply *reply) {
    if (reply->type != REDIS_REPLY_STRING) {
        t->sound = false;
        return "";
    }
    char *copy = t->next;
    memcpy(copy, reply->str, reply->len + 1);
    t->next += reply->len + 1;
    return copy;
}

static size_t texts_size(const redisReply *rows) {
    size_t size = 0;
    for (size_t i = 0; i < rows->elements; i++)
        for (size_t j = 0; j < rows->element[i]->elements; j++)
            if (rows->element[i]->element[j]->type == REDIS_REPLY_STRING)
                size += rows->element[i]->element[j]->len + 1;
    return size;
}

/* Normally "<pid> <host> <app>". Any other text becomes the app. */
static void split_who(char *who, int64_t *pid, const char **host, const char **app) {
    char *end;
    long value = strtol(who, &end, 10);
    char *space = *end == ' ' ? strchr(end + 1, ' ') : NULL;
    *pid = 0;
    *host = "";
    *app = who;
    if (end == who || value <= 0 || !space)
        return;
    *space = 0;
    *pid = value;
    *host = end + 1;
    *app = space + 1;
}

static void read_holder(texts *t, const redisReply *row, lk_holder_info *out) {
    out->handle = text(t, cell(row, HANDLE));
    out->owner = text(t, cell(row, OWNER));
    out->group = text(t, cell(row, GROUP));
    out->reads = (unsigned)number(t, cell(row, READS));
    out->writes = (unsigned)number(t, cell(row, WRITES));
    out->left_ms = (int64_t)number(t, cell(row, HOLD_LEFT));
    out->held_ms = (int64_t)number(t, cell(row, HELD));
    out->fence = number(t, cell(row, HOLD_FENCE));
    out->provisional = number(t, cell(row, PROVISIONAL));
    char *who = t->next;
    text(t, cell(row, HOLD_WHO));
    if (t->sound)
        split_who(who, &out->pid, &out->host, &out->app);
}

static void read_waiter(texts *t, const redisReply *row, lk_waiter_info *out) {
    out->handle = text(t, cell(row, HANDLE));
    out->owner = text(t, cell(row, OWNER));
    out->group = text(t, cell(row, GROUP));
    const char *mode = text(t, cell(row, MODE));
    out->upgrade = strcmp(mode, "upgrade") == 0;
    out->mode = strcmp(mode, "read") == 0 ? LK_READ : LK_WRITE;
    out->left_ms = (int64_t)number(t, cell(row, WAITER_LEFT));
    out->waited_ms = (int64_t)number(t, cell(row, WAITED));
    char *who = t->next;
    text(t, cell(row, WAITER_WHO));
    if (t->sound)
        split_who(who, &out->pid, &out->host, &out->app);
}

static lk_policy policy_of(const redisReply *reply) {
    lk_policy policy = LK_PREFER_READER;
    while (policy > LK_FAIR &&
           (reply->type != REDIS_REPLY_STRING || strcmp(reply->str, lki_policy_text(policy)) != 0))
        policy--;
    return policy;
}

static bool is_sound(const redisReply *reply) {
    return lki_answer_read(reply).word == LKI_ANSWER_LOCK && reply->elements == ELEMENTS &&
           is_table(reply->element[HOLD_ROWS], HOLD_COLUMNS) &&
           is_table(reply->element[WAITER_ROWS], WAITER_COLUMNS);
}

static const char *copy(texts *t, const char *bytes) {
    size_t size = strlen(bytes) + 1;
    char *made = memcpy(t->next, bytes, size);
    t->next += size;
    return made;
}

/* Allocates one block: the info, its two arrays, and then the texts. */
static lk_info *make(const redisReply *holds, const redisReply *waiters, const lki_inspected *lock,
                     texts *t) {
    size_t arrays =
        holds->elements * sizeof(lk_holder_info) + waiters->elements * sizeof(lk_waiter_info);
    lk_info *info = lki_new(sizeof *info + arrays + texts_size(holds) + texts_size(waiters) +
                            strlen(lock->name) + 1 + strlen(lock->server) + 1);
    if (!info)
        return NULL;
    info->holders = (lk_holder_info *)(void *)(info + 1);
    info->waiters =
        (lk_waiter_info *)(void *)((lk_holder_info *)(void *)(info + 1) + holds->elements);
    info->holder_count = holds->elements;
    info->waiter_count = waiters->elements;
    t->next = (char *)(info + 1) + arrays;
    info->name = copy(t, lock->name);
    info->server = copy(t, lock->server);
    return info;
}

lk_status lki_inspect_read(const redisReply *reply, const lki_inspected *lock, lk_info **out,
                           lki_error *error) {
    if (!is_sound(reply))
        return lki_error_set(error, LK_INTERNAL, "the server sent an invalid reply to inspect");
    const redisReply *holds = reply->element[HOLD_ROWS], *waiters = reply->element[WAITER_ROWS];
    texts t = {.sound = true};
    lk_info *info = make(holds, waiters, lock, &t);
    if (!info)
        return lki_error_no_memory(error);
    info->server_time_us = (int64_t)lki_answer_read(reply).server_us;
    info->policy = policy_of(reply->element[POLICY]);
    info->fence = number(&t, reply->element[FENCE]);
    info->abandoned = number(&t, reply->element[ABANDONED]);
    info->holder_total = number(&t, reply->element[HOLDERS]);
    info->waiter_total = number(&t, reply->element[WAITERS]);
    for (size_t i = 0; i < holds->elements; i++)
        read_holder(&t, holds->element[i], (lk_holder_info *)&info->holders[i]);
    for (size_t i = 0; i < waiters->elements; i++)
        read_waiter(&t, waiters->element[i], (lk_waiter_info *)&info->waiters[i]);
    if (!t.sound) {
        lki_free(info);
        return lki_error_set(error, LK_INTERNAL, "the server sent an invalid reply to inspect");
    }
    *out = info;
    return LK_OK;
}
