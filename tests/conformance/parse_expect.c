/* Reads what a step is expected to answer and to send; see scenario.h. */
#include "scenario.h"
#include "test_memory.h"

#include <string.h>

static const char *add_attributes(const token_list *tokens, size_t *at, expected *into) {
    for (; *at < tokens->count && tokens->items[*at].key; (*at)++) {
        const token *attribute = &tokens->items[*at];
        if (shape_field(into->shape, attribute->key) < 0)
            return "there is no field of that name here";
        for (size_t i = 0; i < into->attributes.count; i++)
            if (strcmp(into->attributes.items[i].key, attribute->key) == 0)
                return "a field stands twice";
        token_list_add(&into->attributes, attribute);
    }
    return NULL;
}

static const char *parse_answer(const token_list *tokens, size_t *at, bool renew, expected *into) {
    if (*at < tokens->count && renew && token_is(&tokens->items[*at], "whole")) {
        into->whole = true;
        (*at)++;
    }
    if (*at >= tokens->count || !token_is_plain(&tokens->items[*at]))
        return "an answer is expected here";
    const char *word = tokens->items[(*at)++].text;
    into->shape = shape_of_answer(word);
    if (!into->shape)
        return "unknown answer";
    if (into->whole && strcmp(word, "error") != 0)
        return "whole: only an error is";
    if (strcmp(word, "error") != 0)
        return add_attributes(tokens, at, into);
    if (*at >= tokens->count || !token_is_plain(&tokens->items[*at]) || !tokens->items[*at].quoted)
        return "error wants its text, quoted";
    into->text = token_copy(&tokens->items[(*at)++]);
    return NULL;
}

/* arrivals: `now 1 2 | 3 | 4`; a phase's numbers become its attributes. */
static const char *parse_phases(const token_list *tokens, size_t at, step *into) {
    into->answers = test_grow(into->answers, into->answer_count, sizeof *into->answers);
    expected *phase = &into->answers[into->answer_count++];
    if (at < tokens->count && token_is(&tokens->items[at], "now"))
        at++;
    else /* nobody was granted at once: the first phase is empty */
        phase = NULL;
    for (; at < tokens->count; at++) {
        const token *one = &tokens->items[at];
        if (!phase || token_is_mark(one, "|")) {
            into->answers = test_grow(into->answers, into->answer_count, sizeof *into->answers);
            phase = &into->answers[into->answer_count++];
            if (token_is_mark(one, "|"))
                continue;
        }
        if (!token_is_plain(one) || one->length != 1 || one->text[0] < '1' || one->text[0] > '9')
            return "a phase is numbers of arrivals, 1 to 9";
        token_list_add(&phase->attributes, one);
    }
    return NULL;
}

const char *expect_parse_answers(const token_list *tokens, size_t at, step *into) {
    if (into->kind == STEP_ARRIVALS)
        return parse_phases(tokens, at, into);
    bool renew = into->op && strcmp(into->op, "renew") == 0;
    for (;;) {
        into->answers = test_grow(into->answers, into->answer_count, sizeof *into->answers);
        const char *problem =
            parse_answer(tokens, &at, renew, &into->answers[into->answer_count++]);
        if (problem)
            return problem;
        if (at == tokens->count)
            break;
        if (!renew || !token_is_mark(&tokens->items[at], "|"))
            return "something stands behind the answer that does not belong there";
        at++;
    }
    if (into->kind == STEP_RENEW && into->answer_count != into->party_count &&
        !into->answers[0].whole)
        return "renew wants one answer for each entry, with | between them";
    return NULL;
}

const char *expect_parse_line(const token_list *tokens, size_t at, step *into) {
    if (!into->op)
        return "this step sends nothing";
    bool rows = strcmp(into->op, "inspect") == 0;
    if (tokens->count < at + 2 || !token_is_plain(&tokens->items[at]) ||
        !token_is_plain(&tokens->items[at + 1]))
        return rows ? "expected: => hold|waiter ACTOR" : "expected: => ACTOR granted|watch|lost";
    into->lines = test_grow(into->lines, into->line_count, sizeof *into->lines);
    expected *line = &into->lines[into->line_count++];
    const char *first = tokens->items[at].text, *second = tokens->items[at + 1].text;
    line->shape = rows ? shape_of_row(first) : shape_of_message(second);
    if (!line->shape)
        return rows ? "a row is a hold or a waiter" : "a message is granted, watch or lost";
    if (!actor_parse(rows ? second : first, &line->actor))
        return "an actor is a capital letter, with a number behind it or not";
    at += 2;
    const char *problem = add_attributes(tokens, &at, line);
    if (!problem && at < tokens->count)
        problem = "something stands behind the fields that does not belong there";
    return problem;
}
