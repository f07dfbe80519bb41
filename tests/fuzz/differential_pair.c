/* See differential_pair.h. */
#include "differential_pair.h"

#include "differential_cast.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VIEW_LIMIT = 1000 };

/* Sameness. */

static bool same_messages(const form_result *a, const form_result *b) {
    if (a->message_count != b->message_count)
        return false;
    for (size_t i = 0; i < a->message_count; i++) {
        const form_message *left = &a->messages[i], *right = &b->messages[i];
        if (strcmp(left->client, right->client) != 0 || left->length != right->length ||
            memcmp(left->text, right->text, left->length) != 0)
            return false;
    }
    return true;
}

static bool same_rests(const form_result *a, const form_result *b) {
    if (a->rest_count != b->rest_count)
        return false;
    for (size_t i = 0; i < a->rest_count; i++) {
        const form_rest *left = &a->rests[i], *right = &b->rests[i];
        if (left->length != right->length || left->expires_ms != right->expires_ms ||
            memcmp(left->name, right->name, left->length) != 0)
            return false;
    }
    return true;
}

static bool same_results(const form_result *a, const form_result *b) {
    return !a->fault && !b->fault && reply_equal(&a->answer, &b->answer) && same_messages(a, b) &&
           same_rests(a, b);
}

/* Telling. */

static void print_result(test_text *out, const char *form, const form_result *result) {
    test_text_print(out, "  %s\n    reply    ", form);
    reply_print(out, &result->answer);
    for (size_t i = 0; i < result->message_count; i++) {
        const form_message *message = &result->messages[i];
        test_text_print(out, "\n    message  to %s: ", message->client);
        test_text_quote(out, message->text, message->length);
    }
    for (size_t i = 0; i < result->rest_count; i++) {
        const form_rest *rest = &result->rests[i];
        test_text_print(out, "\n    left     ");
        test_text_quote(out, rest->name, rest->length);
        test_text_print(out, " until %" PRIu64 " ms", rest->expires_ms);
    }
    if (result->fault)
        test_text_print(out, "\n    broken   %s", result->fault);
    test_text_print(out, "\n");
}

static char *tell(const form_pair *pair, const char *what, const form_result *a,
                  const form_result *b) {
    test_text text = {0};
    test_text_print(&text, "%s: %s%s%s%s\n", what, a->fault || b->fault ? "broken " : "",
                    reply_equal(&a->answer, &b->answer) ? "" : "replies differ ",
                    same_messages(a, b) ? "" : "messages differ ",
                    same_rests(a, b) ? "" : "what is left differs");
    print_result(&text, form_name(pair->first), a);
    print_result(&text, form_name(pair->second), b);
    return text.bytes;
}

/* Running. */

typedef struct {
    lkc_text names[STEP_NAMES_MOST], arguments[STEP_ARGUMENTS_MOST], *keys;
    form_call call;
} prepared;

static lkc_text text_of(const step_text *text) {
    return (lkc_text){text->bytes, text->length};
}

static void prepare(prepared *ready, const step *one) {
    for (size_t i = 0; i < one->name_count; i++)
        ready->names[i] = text_of(&one->names[i]);
    for (size_t i = 0; i < one->argument_count; i++)
        ready->arguments[i] = text_of(&one->arguments[i]);
    ready->keys = test_alloc(one->key_count, sizeof *ready->keys);
    for (size_t i = 0; i < one->key_count; i++)
        ready->keys[i] = text_of(&one->keys[i]);
    ready->call = (form_call){
        .op = step_op_name(one->op),
        .names = ready->names,
        .name_count = one->name_count,
        .arguments = ready->arguments,
        .argument_count = one->argument_count,
        .keys = one->expected ? ready->keys : NULL,
        .key_count = one->key_count,
    };
}

static void forget_step(form_pair *pair) {
    form_result_clear(&pair->done);
    for (size_t i = 0; i < pair->view_count; i++)
        reply_clear(&pair->views[i].lock);
    pair->view_count = 0;
}

/* Keeps what the first form did. */
static char *run_call(form_pair *pair, uint64_t now_us, const form_call *call, const char *what,
                      form_result *kept) {
    char *text = NULL;
    form_result other;
    form_run(pair->first, now_us, call, kept);
    form_run(pair->second, now_us, call, &other);
    if (!same_results(kept, &other))
        text = tell(pair, what, kept, &other);
    form_result_clear(&other);
    return text;
}

/* The first form has no keys that could be wrong: it stands still. SPEC 10.12. */
static char *run_wrong_keys(form_pair *pair, const step *one, const form_call *call) {
    char *text = NULL;
    form_result other;
    form_look(pair->first, one->now_us, &pair->done);
    reply_set_text(&pair->done.answer, REPLY_ERROR, one->expected, strlen(one->expected));
    form_run(pair->second, one->now_us, call, &other);
    if (!same_results(&pair->done, &other))
        text = tell(pair, "wrong keys", &pair->done, &other);
    form_result_clear(&other);
    return text;
}

/* Inspects a lock in both forms, which must write nothing and say the same. */
static char *view(form_pair *pair, uint64_t now_us, lkc_text name, reply *out) {
    lkc_text limit = cast_text("1000");
    static_assert(VIEW_LIMIT == 1000, "as above");
    form_call call = {.op = step_op_name(LKC_OP_INSPECT),
                      .names = &name,
                      .name_count = 1,
                      .arguments = &limit,
                      .argument_count = 1};
    form_result result;
    char *text = run_call(pair, now_us, &call, "inspect after the step", &result);
    if (!text && (result.message_count > 0 || !same_rests(&result, &pair->done)))
        text = tell(pair, "inspect changed something", &pair->done, &result);
    *out = result.answer;
    result.answer = (reply){0};
    form_result_clear(&result);
    return text;
}

static bool is_viewed(const form_pair *pair, lkc_text name) {
    for (size_t i = 0; i < pair->view_count; i++)
        if (pair->views[i].name.length == name.length &&
            memcmp(pair->views[i].name.bytes, name.bytes, name.length) == 0)
            return true;
    return false;
}

static void remember_name(form_pair *pair, lkc_text name) {
    for (size_t i = 0; i < pair->name_count; i++)
        if (pair->names[i].length == name.length &&
            memcmp(pair->names[i].bytes, name.bytes, name.length) == 0)
            return;
    pair->names = test_grow(pair->names, pair->name_count, sizeof *pair->names);
    pair->names[pair->name_count++] = (step_text){test_copy(name.bytes, name.length), name.length};
}

/*
 * Before the clock goes back. The scripts' test clock deletes the keys that are past their end, as
 * a server would, but only those of the lock that is being worked on.
 */
static char *expire_all(form_pair *pair) {
    char *text = NULL;
    form_result_clear(&pair->done);
    form_look(pair->first, pair->now_us, &pair->done);
    for (size_t i = 0; i < pair->name_count && !text; i++) {
        reply lock;
        text = view(pair, pair->now_us, text_of(&pair->names[i]), &lock);
        reply_clear(&lock);
    }
    return text;
}

char *form_pair_run(form_pair *pair, const step *one) {
    forget_step(pair);
    char *text = one->now_us < pair->now_us ? expire_all(pair) : NULL;
    pair->now_us = one->now_us;
    prepared ready;
    prepare(&ready, one);
    form_result_clear(&pair->done);
    if (!text && one->expected)
        text = run_wrong_keys(pair, one, &ready.call);
    else if (!text)
        text = run_call(pair, one->now_us, &ready.call, "the step", &pair->done);
    for (size_t i = 0; i < one->name_count && !text; i++) {
        lkc_text name = text_of(&one->names[i]);
        if (!lkc_name_valid(name) || is_viewed(pair, name))
            continue;
        remember_name(pair, name);
        pair_view *added = &pair->views[pair->view_count++];
        added->name = name;
        text = view(pair, one->now_us, name, &added->lock);
    }
    free(ready.keys);
    return text;
}

char *form_pair_empty(form_pair *pair, uint64_t now_us) {
    forget_step(pair);
    pair->now_us = now_us;
    char *text = expire_all(pair);
    if (text)
        return text;
    form_result first, second;
    form_look(pair->first, 0, &first); /* at 0 no key is too old to be seen */
    form_look(pair->second, 0, &second);
    if (first.rest_count > 0 || !same_results(&first, &second))
        text = tell(pair, "long after the last deadline", &first, &second);
    form_result_clear(&first);
    form_result_clear(&second);
    return text;
}

void form_pair_reset(form_pair *pair) {
    forget_step(pair);
    for (size_t i = 0; i < pair->name_count; i++)
        free(pair->names[i].bytes);
    free(pair->names);
    pair->names = NULL;
    pair->name_count = 0;
    pair->now_us = 0;
    form_reset(pair->first);
    form_reset(pair->second);
}
