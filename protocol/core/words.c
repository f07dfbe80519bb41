/* See words.h: runs operations, and puts answers into words. Arguments are read in arguments.c. */
#include "words.h"
#include "arguments.h"

#include <inttypes.h>
#include <stdio.h>

static lki_text text_of(const char *word) {
    return (lki_text){word, strlen(word)};
}

static void send_word(const lki_reply_sink *sink, const char *word) {
    sink->text(text_of(word), sink->context);
}

static void send_integer(const lki_reply_sink *sink, uint64_t value) {
    sink->integer(value, sink->context);
}

static void send_text(const lki_reply_sink *sink, lki_text text) {
    sink->text(text, sink->context);
}

static void send_handle(const lki_reply_sink *sink, const lki_handle *handle) {
    char text[LKI_HANDLE_LENGTH + 1];
    lki_handle_print(handle, text);
    send_text(sink, (lki_text){text, LKI_HANDLE_LENGTH});
}

/* Answers (SPEC 10). */

static const char *const answer_words[] = {
    [LKI_GRANTED] = "granted",   [LKI_QUEUED] = "queued",     [LKI_BUSY] = "busy",
    [LKI_DEADLOCK] = "deadlock", [LKI_NOT_HELD] = "not-held", [LKI_STALE] = "stale",
    [LKI_RELEASED] = "released", [LKI_LEASE] = "lease",       [LKI_CANCELLED] = "cancelled",
    [LKI_FORCED] = "forced",
};

enum { NUMBERS_MOST = 3 };

/* The numbers behind an answer's word and time; returns how many. */
static size_t numbers_of(const lki_reply *reply, uint64_t numbers[NUMBERS_MOST]) {
    switch (reply->answer) {
    case LKI_GRANTED:
        numbers[0] = reply->fence;
        numbers[1] = reply->ms;
        numbers[2] = reply->flags;
        return 3;
    case LKI_QUEUED:
        numbers[0] = reply->place;
        numbers[1] = reply->ms;
        return 2;
    case LKI_BUSY:
    case LKI_LEASE:
        numbers[0] = reply->ms;
        return 1;
    case LKI_RELEASED:
        numbers[0] = reply->reads;
        numbers[1] = reply->writes;
        return 2;
    case LKI_FORCED:
        numbers[0] = reply->count;
        return 1;
    case LKI_DEADLOCK:
    case LKI_NOT_HELD:
    case LKI_STALE:
    case LKI_CANCELLED:
        break;
    }
    return 0;
}

static void send_reply(const lki_reply_sink *sink, const lki_reply *reply,
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

/* Inspect. The rows come by themselves; the arrays around them are opened when they begin. */

enum { LOCK_WORDS = 9, HOLD_WORDS = 10, WAITER_WORDS = 8 };

typedef struct {
    const lki_reply_sink *sink;
    uint64_t now_us;
    size_t limit;
    lki_info info;
    unsigned opened; /* how many of: the lock, the hold rows, the waiter rows */
} inspection;

static size_t row_count(const inspection *look, size_t there) {
    return there < look->limit ? there : look->limit;
}

static void open_next(inspection *look) {
    const lki_reply_sink *sink = look->sink;
    const lki_info *info = &look->info;
    switch (look->opened++) {
    case 0:
        sink->array(LOCK_WORDS, sink->context);
        send_word(sink, "lock");
        send_integer(sink, look->now_us);
        send_word(sink, info->alive ? lki_policy_name(info->policy) : "");
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

static void send_hold(const lki_hold_row *row, void *context) {
    inspection *look = context;
    const lki_reply_sink *sink = look->sink;
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

static void send_waiter(const lki_waiter_row *row, void *context) {
    static const char *const modes[] = {
        [LKI_WAITS_READ] = "read", [LKI_WAITS_WRITE] = "write", [LKI_WAITS_UPGRADE] = "upgrade"};
    inspection *look = context;
    const lki_reply_sink *sink = look->sink;
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

static void inspect(const lki_lock *lock, uint64_t now_us, size_t limit,
                    const lki_reply_sink *sink) {
    inspection look = {.sink = sink, .now_us = now_us, .limit = limit};
    lki_lock_inspect(lock, now_us, limit, &look.info, send_hold, send_waiter, &look);
    while (look.opened < 3)
        open_next(&look);
}

/* Running. */

static lki_outcome run(lki_lock *lock, uint64_t now_us, lki_op op, const lki_values *v,
                       lki_reply *reply) {
    switch (op) {
    case LKI_OP_ACQUIRE: {
        lki_acquire_args args = {v->handle, v->req,   v->fence, v->mode,  v->wait, v->lease_ms,
                                 v->policy, v->floor, v->owner, v->group, v->who};
        return lki_lock_acquire(lock, now_us, &args, reply);
    }
    case LKI_OP_RELEASE: {
        lki_release_args args = {v->handle, v->req, v->fence, v->mode};
        return lki_lock_release(lock, now_us, &args, reply);
    }
    case LKI_OP_RENEW: {
        lki_renew_args args = {v->handle, v->fence, v->req, v->lease_ms};
        return lki_lock_renew(lock, now_us, &args, reply);
    }
    case LKI_OP_CONVERT: {
        lki_convert_args args = {v->handle, v->req, v->fence};
        return lki_lock_convert(lock, now_us, &args, reply);
    }
    case LKI_OP_CANCEL: {
        lki_cancel_args args = {v->handle, v->req, v->target};
        return lki_lock_cancel(lock, now_us, &args, reply);
    }
    case LKI_OP_FORCE:
        return lki_lock_force(lock, now_us, v->owner, reply);
    case LKI_OP_INSPECT:
        break; /* has no reply of this kind */
    }
    return LKI_DONE;
}

bool lki_words_run(lki_lock *lock, uint64_t now_us, lki_op op, const lki_text *arguments,
                   size_t count, const lki_reply_sink *sink) {
    lki_values values;
    lki_reply reply;
    char fault[LKI_FAULT_MOST];
    if (!lki_arguments_parse(op, arguments, count, now_us, &values, fault)) {
        sink->error(fault, sink->context);
        return true;
    }
    if (op == LKI_OP_INSPECT) {
        inspect(lock, now_us, values.limit, sink);
        return true;
    }
    switch (run(lock, now_us, op, &values, &reply)) {
    case LKI_NO_MEMORY:
        return false;
    case LKI_TOO_DEEP:
        sink->error("LKDEPTH mode: held 65535 times already", sink->context);
        return true;
    case LKI_DONE:
        break;
    }
    send_reply(sink, &reply, op == LKI_OP_RENEW ? NULL : &now_us);
    return true;
}

size_t lki_event_print(const lki_event *event, char out[LKI_EVENT_LINE_MOST]) {
    static const char *const kinds[] = {
        [LKI_EVENT_LOST] = "lost", [LKI_EVENT_GRANTED] = "granted", [LKI_EVENT_WATCH] = "watch"};
    char handle[LKI_HANDLE_LENGTH + 1];
    lki_handle_print(&event->handle, handle);
    int length =
        snprintf(out, LKI_EVENT_LINE_MOST,
                 "%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u", kinds[event->kind],
                 handle, event->req, event->fence, event->time_us, event->ms, event->flags);
    return (size_t)length;
}
