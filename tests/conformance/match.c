/* Answers, rows and whole results; see match.h. */
#include "match.h"

#include "match_fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static char *differs(const char *what, const reply *got) {
    test_text text = {0};
    test_text_print(&text, "expected: %s\n     got: ", what);
    reply_print(&text, got);
    return match_name_actors(text.bytes);
}

static bool error_fits(const token *wanted, const reply *got) {
    if (wanted->begins ? got->length < wanted->length : got->length != wanted->length)
        return false;
    return memcmp(got->text, wanted->text, wanted->length) == 0;
}

static char *match_error(const token *wanted, const reply *whole, const reply *got,
                         reply_type type) {
    if (got->type == type && error_fits(wanted, got))
        return NULL;
    test_text text = {0};
    test_text_print(&text, "the error %s", wanted->begins ? "that begins with " : "");
    test_text_quote(&text, wanted->text, wanted->length);
    char *problem = differs(text.bytes, whole);
    free(text.bytes);
    return problem;
}

/* `got` is an array of the answer's word, `skip` elements that are checked elsewhere, its fields.
 */
static char *match_one(const expected *wanted, cast *all, const reply *whole, const reply *got,
                       size_t skip) {
    const shape *wants = wanted->shape;
    size_t fields = shape_count(wants), extra = strcmp(wants->word, "lock") == 0 ? 2 : 0;
    if (got->type != REPLY_ARRAY || got->count == 0 || !reply_is(&got->elements[0], wants->word))
        return differs(wants->word, whole);
    if (got->count != 1 + skip + fields + extra) {
        char *what = test_print("%zu elements", 1 + skip + fields + extra);
        char *problem = differs(what, whole);
        free(what);
        return problem;
    }
    char *field = match_fields(wanted, all, got->elements + 1 + skip);
    char *problem = field ? differs(field, whole) : NULL;
    free(field);
    return problem;
}

static char *match_renew(const step *from, cast *all, const reply *got) {
    if (from->answers[0].whole)
        return match_error(&from->answers[0].text, got, got, REPLY_ERROR);
    if (got->type != REPLY_ARRAY || got->count != 2 + from->answer_count ||
        !reply_is(&got->elements[0], "renewed"))
        return differs("renewed, the time and an entry for each", got);
    for (size_t i = 0; i < from->answer_count; i++) {
        const expected *wanted = &from->answers[i];
        const reply *entry = &got->elements[2 + i];
        bool error = strcmp(wanted->shape->word, "error") == 0;
        char *problem;
        if (error && (entry->count != 2 || !reply_is(&entry->elements[0], "error")))
            problem = differs("an entry with an error", got);
        else if (error)
            problem = match_error(&wanted->text, got, &entry->elements[1], REPLY_TEXT);
        else
            problem = match_one(wanted, all, got, entry, 0);
        if (problem)
            return problem;
    }
    return NULL;
}

/* The rows of inspect: none listed, none looked at. */
static char *match_rows(const step *from, cast *all, const reply *got) {
    const reply *tables = got->elements + got->count - 2; /* holds, waiters */
    size_t at[2] = {0, 0};
    for (size_t i = 0; i < from->line_count; i++) {
        const expected *wanted = &from->lines[i];
        size_t table = strcmp(wanted->shape->word, "waiter") == 0;
        if (at[table] >= tables[table].count)
            return differs("more rows", got);
        const reply *row = &tables[table].elements[at[table]++];
        char handle[HANDLE_LENGTH + 1];
        actor_handle(wanted->actor, handle);
        if (row->count != 1 + shape_count(wanted->shape) || !reply_is(&row->elements[0], handle)) {
            char *what = test_print("a row of %s here", handle);
            char *problem = differs(what, row);
            free(what);
            return problem;
        }
        char *field = match_fields(wanted, all, row->elements + 1);
        if (field) {
            char *problem = differs(field, row);
            free(field);
            return problem;
        }
    }
    bool rest = at[0] < tables[0].count || at[1] < tables[1].count;
    return from->line_count > 0 && rest ? differs("these rows and no others", got) : NULL;
}

char *match_answer(const step *from, cast *all, const form_result *result) {
    const reply *got = &result->answer;
    if (got->type == REPLY_ARRAY && (got->count < 2 || got->elements[1].type != REPLY_INTEGER ||
                                     got->elements[1].integer != all->now_us)) {
        char *what = test_print("the time %" PRId64 " as second element", all->now_us);
        char *problem = differs(what, got);
        free(what);
        return problem;
    }
    if (strcmp(from->op, "renew") == 0)
        return match_renew(from, all, got);
    const expected *wanted = &from->answers[0];
    if (strcmp(wanted->shape->word, "error") == 0)
        return match_error(&wanted->text, got, got, REPLY_ERROR);
    char *problem = match_one(wanted, all, got, got, 1);
    if (!problem && strcmp(wanted->shape->word, "lock") == 0)
        problem = match_rows(from, all, got);
    return problem;
}

/* Whole results. */

char *match_print(const form_result *result) {
    test_text text = {0};
    reply_print(&text, &result->answer);
    for (size_t i = 0; i < result->message_count; i++) {
        test_text_print(&text, "\n          message to %s: ", result->messages[i].client);
        test_text_quote(&text, result->messages[i].text, result->messages[i].length);
    }
    for (size_t i = 0; i < result->rest_count; i++) {
        test_text_print(&text, "\n          left of ");
        test_text_quote(&text, result->rests[i].name, result->rests[i].length);
        test_text_print(&text, " until %" PRIu64 " ms", result->rests[i].expires_ms);
    }
    return match_name_actors(text.bytes);
}

static bool same_messages(const form_result *left, const form_result *right) {
    if (left->message_count != right->message_count)
        return false;
    for (size_t i = 0; i < left->message_count; i++) {
        const form_message *a = &left->messages[i], *b = &right->messages[i];
        if (strcmp(a->client, b->client) != 0 || a->length != b->length ||
            memcmp(a->text, b->text, a->length) != 0)
            return false;
    }
    return true;
}

static bool same_rests(const form_result *left, const form_result *right) {
    if (left->rest_count != right->rest_count)
        return false;
    for (size_t i = 0; i < left->rest_count; i++) {
        const form_rest *a = &left->rests[i], *b = &right->rests[i];
        if (a->length != b->length || memcmp(a->name, b->name, a->length) != 0 ||
            a->expires_ms != b->expires_ms)
            return false;
    }
    return true;
}

char *match_results(const char *left_name, const form_result *left, const char *right_name,
                    const form_result *right) {
    if (reply_equal(&left->answer, &right->answer) && same_messages(left, right) &&
        same_rests(left, right))
        return NULL;
    char *one = match_print(left), *other = match_print(right);
    char *problem =
        test_print("the forms differ\n%s: %s\n%s: %s", left_name, one, right_name, other);
    free(one);
    free(other);
    return problem;
}
