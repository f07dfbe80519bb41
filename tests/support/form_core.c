/* The form of the lock that is protocol/core, in this process; see form.h. */
#include "form_private.h"
#include "plain_allocator.h"
#include "words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY_ARGUMENTS = 4 };

typedef struct {
    char *name;
    size_t length;
    lkc_lock *lock;
} named_lock;

typedef struct {
    lock_form base;
    named_lock *locks; /* every one with something left */
    size_t count;
} core_form;

static const char *const op_names[] = {
    [LKC_OP_ACQUIRE] = "acquire", [LKC_OP_RELEASE] = "release", [LKC_OP_RENEW] = "renew",
    [LKC_OP_CONVERT] = "convert", [LKC_OP_CANCEL] = "cancel",   [LKC_OP_INSPECT] = "inspect",
    [LKC_OP_FORCE] = "force",
};

/* Locks. */

static void drop(core_form *core, size_t at) {
    lkc_lock_free(core->locks[at].lock);
    free(core->locks[at].name);
    core->locks[at] = core->locks[--core->count];
}

static void drop_expired(core_form *core, uint64_t now_us) {
    for (size_t i = core->count; i-- > 0;)
        if (lkc_lock_expires_ms(core->locks[i].lock) * 1000 <= now_us)
            drop(core, i);
}

static lkc_lock *find_or_add(core_form *core, lkc_text name) {
    for (size_t i = 0; i < core->count; i++)
        if (core->locks[i].length == name.length &&
            memcmp(core->locks[i].name, name.bytes, name.length) == 0)
            return core->locks[i].lock;
    core->locks = test_grow(core->locks, core->count, sizeof *core->locks);
    core->locks[core->count] = (named_lock){
        .name = test_copy(name.bytes, name.length),
        .length = name.length,
        .lock = lkc_lock_new(&plain_allocator),
    };
    if (!core->locks[core->count].lock)
        abort();
    return core->locks[core->count++].lock;
}

/* Replies: a stack of the arrays that still want elements, as counts along the rightmost path. */

enum { DEPTH_MOST = 4 };

typedef struct {
    reply *root;
    size_t wanted[DEPTH_MOST]; /* of each open array, outermost first */
    size_t depth;
    bool started;
} builder;

static reply *open_array(const builder *build, size_t depth) {
    reply *array = build->root;
    for (size_t i = 1; i < depth; i++)
        array = &array->elements[array->count - 1];
    return array;
}

static reply *next_place(builder *build) {
    while (build->depth > 0 && build->wanted[build->depth - 1] == 0)
        build->depth--;
    if (build->depth == 0) {
        assert(!build->started); /* more was sent than the arrays announced */
        build->started = true;
        return build->root;
    }
    build->wanted[build->depth - 1]--;
    return reply_add(open_array(build, build->depth));
}

static void put_array(size_t count, void *context) {
    builder *build = context;
    next_place(build)->type = REPLY_ARRAY;
    assert(build->depth < DEPTH_MOST);
    build->wanted[build->depth++] = count;
}

static void put_integer(uint64_t value, void *context) {
    reply_set_integer(next_place(context), (int64_t)value);
}

static void put_text(lkc_text text, void *context) {
    reply_set_text(next_place(context), REPLY_TEXT, text.bytes, text.length);
}

static void put_error(const char *text, void *context) {
    reply_set_text(next_place(context), REPLY_ERROR, text, strlen(text));
}

static bool is_complete(const builder *build) {
    for (size_t i = 0; i < build->depth; i++)
        if (build->wanted[i] > 0)
            return false;
    return build->started;
}

/* Messages: one for each client that has events (SPEC 10.10). */

typedef struct {
    form_result *result;
    size_t first; /* of this operation's messages */
} grouping;

static void group_event(const lkc_event *event, void *context) {
    grouping *group = context;
    form_result *result = group->result;
    char handle[LKC_HANDLE_LENGTH + 1], line[LKC_EVENT_LINE_MOST];
    lkc_handle_print(&event->handle, handle);
    size_t length = lkc_event_print(event, line);
    for (size_t i = group->first; i < result->message_count; i++) {
        form_message *message = &result->messages[i];
        if (strncmp(message->client, handle, LKC_CLIENT_LENGTH) == 0) {
            test_text text = {0};
            test_text_add(&text, message->text, message->length);
            test_text_add(&text, "\n", 1);
            test_text_add(&text, line, length);
            free(message->text);
            message->text = text.bytes;
            message->length = text.length;
            return;
        }
    }
    form_message_add(result, handle, LKC_CLIENT_LENGTH, line, length);
}

/* Operations. */

/* Bad input did nothing, so the events are still those of an earlier operation (SPEC 10.12). */
static bool was_refused(const reply *answer) {
    static const char did_something[] = "LKDEPTH ";
    return answer->type == REPLY_ERROR &&
           strncmp(answer->text, did_something, sizeof did_something - 1) != 0;
}

static void run_on_one(core_form *core, uint64_t now_us, lkc_op op, lkc_text name,
                       const lkc_text *arguments, size_t count, form_result *result, reply *out) {
    if (!lkc_name_valid(name)) {
        const char *text = "LKARG name: must be 1 to 512 bytes without NUL"; /* SPEC 10.12 */
        reply_set_text(out, REPLY_ERROR, text, strlen(text));
        return;
    }
    drop_expired(core, now_us);
    lkc_lock *lock = find_or_add(core, name);
    builder build = {.root = out};
    lkc_reply_sink sink = {put_array, put_integer, put_text, put_error, &build};
    if (!lkc_words_run(lock, now_us, op, arguments, count, &sink))
        form_fault(result, test_print("memory ran out"));
    else if (!is_complete(&build))
        form_fault(result, test_print("the reply ends before its arrays are full"));
    if (op != LKC_OP_INSPECT && !was_refused(out)) {
        grouping group = {.result = result, .first = result->message_count};
        lkc_lock_events(lock, group_event, &group);
        const char *broken = lkc_lock_check(lock, now_us);
        if (broken)
            form_fault(result, test_print("invariant: %s", broken));
    }
    for (size_t i = core->count; i-- > 0;)
        if (lkc_lock_expires_ms(core->locks[i].lock) == 0)
            drop(core, i);
}

static void run_renew(core_form *core, uint64_t now_us, const form_call *call,
                      form_result *result) {
    if (call->argument_count != call->name_count * ENTRY_ARGUMENTS) {
        char *text = test_print("LKARG arguments: expected %zu, got %zu",
                                call->name_count * ENTRY_ARGUMENTS, call->argument_count);
        reply_set_text(&result->answer, REPLY_ERROR, text, strlen(text));
        free(text);
        return;
    }
    reply_set_text(reply_add(&result->answer), REPLY_TEXT, "renewed", strlen("renewed"));
    reply_set_integer(reply_add(&result->answer), (int64_t)now_us);
    for (size_t i = 0; i < call->name_count; i++) {
        reply entry = {0};
        run_on_one(core, now_us, LKC_OP_RENEW, call->names[i],
                   call->arguments + i * ENTRY_ARGUMENTS, ENTRY_ARGUMENTS, result, &entry);
        reply *place = reply_add(&result->answer);
        if (entry.type == REPLY_ERROR) { /* SPEC 10.5: a fault of one entry is that entry's */
            reply_set_text(reply_add(place), REPLY_TEXT, "error", strlen("error"));
            reply_set_text(reply_add(place), REPLY_TEXT, entry.text, entry.length);
            reply_clear(&entry);
        } else {
            *place = entry;
        }
    }
}

static void core_look(lock_form *form, uint64_t now_us, form_result *result) {
    core_form *core = (core_form *)form;
    drop_expired(core, now_us);
    for (size_t i = 0; i < core->count; i++)
        form_rest_add(result, (lkc_text){core->locks[i].name, core->locks[i].length},
                      lkc_lock_expires_ms(core->locks[i].lock));
}

static void core_run(lock_form *form, uint64_t now_us, const form_call *call, form_result *result) {
    core_form *core = (core_form *)form;
    size_t op = 0, ops = sizeof op_names / sizeof *op_names;
    while (op < ops && strcmp(op_names[op], call->op) != 0)
        op++;
    if (op == ops)
        form_fault(result, test_print("there is no operation %s", call->op));
    else if (op == LKC_OP_RENEW)
        run_renew(core, now_us, call, result);
    else
        run_on_one(core, now_us, (lkc_op)op, call->names[0], call->arguments, call->argument_count,
                   result, &result->answer);
    core_look(form, now_us, result);
}

static void core_reset(lock_form *form) {
    core_form *core = (core_form *)form;
    while (core->count > 0)
        drop(core, core->count - 1);
}

static void core_free(lock_form *form) {
    core_reset(form);
    free(((core_form *)form)->locks);
    free(form);
}

lock_form *form_core_new(void) {
    static const form_methods methods = {
        .run = core_run, .look = core_look, .reset = core_reset, .free = core_free};
    core_form *core = test_alloc(1, sizeof *core);
    core->base.methods = &methods;
    core->base.name = test_copy("core", strlen("core"));
    return &core->base;
}
