/* See words.h. Runs operations and puts their answers into words; arguments.c reads arguments. */
#include "words.h"
#include "arguments.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static lkc_text text_of(const char *word) {
    return (lkc_text){word, strlen(word)};
}

static void send_word(const lkc_reply_sink *sink, const char *word) {
    sink->text(text_of(word), sink->context);
}

static void send_integer(const lkc_reply_sink *sink, uint64_t value) {
    sink->integer(value, sink->context);
}

static void send_text(const lkc_reply_sink *sink, lkc_text text) {
    sink->text(text, sink->context);
}

static void send_handle(const lkc_reply_sink *sink, const lkc_handle *handle) {
    char text[LKC_HANDLE_LENGTH + 1];
    lkc_handle_print(handle, text);
    send_text(sink, (lkc_text){text, LKC_HANDLE_LENGTH});
}

/* Answers (SPEC 10). */

static const char *const answer_words[] = {
    [LKC_GRANTED] = "granted",   [LKC_QUEUED] = "queued",     [LKC_BUSY] = "busy",
    [LKC_DEADLOCK] = "deadlock", [LKC_NOT_HELD] = "not-held", [LKC_STALE] = "stale",
    [LKC_RELEASED] = "released", [LKC_LEASE] = "lease",       [LKC_CANCELLED] = "cancelled",
    [LKC_FORCED] = "forced",
};

enum { NUMBERS_MOST = 3 };

/* The numbers that follow the word and the time of an answer; returns how many. */
static size_t numbers_of(const lkc_reply *reply, uint64_t numbers[NUMBERS_MOST]) {
    switch (reply->answer) {
    case LKC_GRANTED:
        numbers[0] = reply->fence;
        numbers[1] = reply->ms;
        numbers[2] = reply->flags;
        return 3;
    case LKC_QUEUED:
        numbers[0] = reply->place;
        numbers[1] = reply->ms;
        return 2;
    case LKC_BUSY:
    case LKC_LEASE:
        numbers[0] = reply->ms;
        return 1;
    case LKC_RELEASED:
        numbers[0] = reply->reads;
        numbers[1] = reply->writes;
        return 2;
    case LKC_FORCED:
        numbers[0] = reply->count;
        return 1;
    case LKC_DEADLOCK:
    case LKC_NOT_HELD:
    case LKC_STALE:
    case LKC_CANCELLED:
        break;
    }
    return 0;
}

static void send_reply(const lkc_reply_sink *sink, const lkc_reply *reply,
                       const uint64_t *time_us) {
    uint64_t numbers[NUMBERS_MOST];
    size_t count = numbers_of(reply, numbers);
    sink->array(count + (time_us ? 2 : 1), sink->context);
    send_word(sink, answer_words[reply->answer]);
    if (time_us)
        send_integer(sink, *time_us);
    for (size_t i = 0; i < count; i++)
        send_integer(sink, numbers[i]);
}

/* Inspect. lkc_lock_inspect sends rows only; each array is opened before its first row. */

enum { LOCK_WORDS = 9, HOLD_WORDS = 10, WAITER_WORDS = 8 };

typedef struct {
    const lkc_reply_sink *sink;
    uint64_t now_us;
    size_t limit;
    lkc_info info;
    unsigned opened; /* how many of: the lock, the hold rows, the waiter rows */
} inspection;

static size_t row_count(const inspection *look, size_t there) {
    return there < look->limit ? there : look->limit;
}

static void open_next(inspection *look) {
    const lkc_reply_sink *sink = look->sink;
    const lkc_info *info = &look->info;
    switch (look->opened++) {
    case 0:
        sink->array(LOCK_WORDS, sink->context);
        send_word(sink, "lock");
        send_integer(sink, look->now_us);
        send_word(sink, info->alive ? lkc_policy_name(info->policy) : "");
        send_integer(sink, info->fence);
        send_integer(sink, info->abandoned);
        send_integer(sink, info->holders);
        send_integer(sink, info->waiters);
        break;
    case 1:
        sink->array(row_count(look, info->holders), sink->context);
        break;
    default:
        sink->array(row_count(look, info->waiters), sink->context);
        break;
    }
}

static void send_hold(const lkc_hold_row *row, void *context) {
    inspection *look = context;
    const lkc_reply_sink *sink = look->sink;
    while (look->opened < 2)
        open_next(look);
    sink->array(HOLD_WORDS, sink->context);
    send_handle(sink, &row->handle);
    send_text(sink, row->owner);
    send_text(sink, row->group);
    send_integer(sink, row->reads);
    send_integer(sink, row->writes);
    send_integer(sink, row->left_ms);
    send_integer(sink, row->held_ms);
    send_integer(sink, row->fence);
    send_integer(sink, row->provisional);
    send_text(sink, row->who);
}

static void send_waiter(const lkc_waiter_row *row, void *context) {
    static const char *const modes[] = {
        [LKC_WAITS_READ] = "read", [LKC_WAITS_WRITE] = "write", [LKC_WAITS_UPGRADE] = "upgrade"};
    inspection *look = context;
    const lkc_reply_sink *sink = look->sink;
    while (look->opened < 3)
        open_next(look);
    sink->array(WAITER_WORDS, sink->context);
    send_handle(sink, &row->handle);
    send_text(sink, row->owner);
    send_text(sink, row->group);
    send_word(sink, modes[row->mode]);
    send_integer(sink, row->left_ms);
    send_integer(sink, row->waited_ms);
    send_integer(sink, row->req);
    send_text(sink, row->who);
}

static void inspect(const lkc_lock *lock, uint64_t now_us, size_t limit,
                    const lkc_reply_sink *sink) {
    inspection look = {.sink = sink, .now_us = now_us, .limit = limit};
    lkc_lock_inspect(lock, now_us, limit, &look.info, send_hold, send_waiter, &look);
    while (look.opened < 3)
        open_next(&look);
}

/* Running. */

static lkc_outcome run(lkc_lock *lock, uint64_t now_us, lkc_op op, const lkc_values *v,
                       lkc_reply *reply) {
    switch (op) {
    case LKC_OP_ACQUIRE: {
        lkc_acquire_args args = {v->handle, v->req,   v->fence, v->mode,  v->wait, v->lease_ms,
                                 v->policy, v->floor, v->owner, v->group, v->who};
        return lkc_lock_acquire(lock, now_us, &args, reply);
    }
    case LKC_OP_RELEASE: {
        lkc_release_args args = {v->handle, v->req, v->fence, v->mode, v->told};
        return lkc_lock_release(lock, now_us, &args, reply);
    }
    case LKC_OP_RENEW: {
        lkc_renew_args args = {v->handle, v->fence, v->req, v->lease_ms};
        return lkc_lock_renew(lock, now_us, &args, reply);
    }
    case LKC_OP_CONVERT: {
        lkc_convert_args args = {v->handle, v->req, v->fence};
        return lkc_lock_convert(lock, now_us, &args, reply);
    }
    case LKC_OP_CANCEL: {
        lkc_cancel_args args = {v->handle, v->req, v->target};
        return lkc_lock_cancel(lock, now_us, &args, reply);
    }
    case LKC_OP_FORCE:
        return lkc_lock_force(lock, now_us, v->owner, reply);
    case LKC_OP_INSPECT:
        break; /* has a reply of its own kind */
    }
    return LKC_DONE;
}

bool lkc_words_run(lkc_lock *lock, uint64_t now_us, lkc_op op, const lkc_text *arguments,
                   size_t count, const lkc_reply_sink *sink) {
    lkc_values values;
    lkc_reply reply;
    char fault[LKC_FAULT_MOST];
    if (!lkc_arguments_parse(op, arguments, count, now_us, &values, fault)) {
        sink->error(fault, sink->context);
        return true;
    }
    if (op == LKC_OP_INSPECT) {
        inspect(lock, now_us, values.limit, sink);
        return true;
    }
    switch (run(lock, now_us, op, &values, &reply)) {
    case LKC_NO_MEMORY:
        return false;
    case LKC_TOO_DEEP:
        sink->error("LKDEPTH mode: held 65535 times already", sink->context);
        return true;
    case LKC_DONE:
        break;
    }
    send_reply(sink, &reply, op == LKC_OP_RENEW ? NULL : &now_us);
    return true;
}

size_t lkc_event_print(const lkc_event *event, char out[LKC_EVENT_LINE_MOST]) {
    static const char *const kinds[] = {
        [LKC_EVENT_LOST] = "lost", [LKC_EVENT_GRANTED] = "granted", [LKC_EVENT_WATCH] = "watch"};
    char handle[LKC_HANDLE_LENGTH + 1];
    lkc_handle_print(&event->handle, handle);
    int length =
        snprintf(out, LKC_EVENT_LINE_MOST,
                 "%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u", kinds[event->kind],
                 handle, event->req, event->fence, event->time_us, event->ms, event->flags);
    return (size_t)length;
}
