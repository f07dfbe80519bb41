/* Messages: cut into lines, and held against what a step expects; see match.h. */
#include "match_fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static char *bad_message(const form_message *message, const char *why) {
    test_text text = {0};
    test_text_print(&text, "expected: messages as SPEC 10.10\n     got: %s: ", why);
    test_text_quote(&text, message->text, message->length);
    return match_name_actors(text.bytes);
}

/* `<kind> <handle> <req> <fence> <time> <ms> <flags>`, single spaces between them. */
static bool read_line(const char *text, size_t length, message_line *out) {
    char *copy = test_copy(text, length), *rest = copy;
    const char *kind = strsep(&rest, " "), *handle = strsep(&rest, " ");
    out->shape = shape_of_message(kind);
    bool good = out->shape && handle && actor_of_handle(handle, strlen(handle), &out->actor);
    for (size_t i = 0; good && i < shape_count(out->shape); i++) {
        const char *field = strsep(&rest, " ");
        good = field && *field && strspn(field, "0123456789") == strlen(field);
        if (good)
            reply_set_integer(&out->fields[i], strtoll(field, NULL, 10));
    }
    good = good && !rest;
    free(copy);
    return good;
}

static bool is_kind(const message_line *line, const char *kind) {
    return strcmp(line->shape->word, kind) == 0;
}

/* SPEC 10.10: `watch` comes last; what each kind leaves at 0. */
static const char *check_line(const message_line *line, const message_line *before,
                              int64_t now_us) {
    if (before && is_kind(before, "watch"))
        return "a line behind watch";
    const reply *fields = line->fields;
    if (fields[2].integer != now_us)
        return "another time than the operation's";
    if (is_kind(line, "lost") && (fields[0].integer || fields[3].integer || fields[4].integer))
        return "a lost line with more than a fence";
    if (is_kind(line, "watch") && (fields[1].integer || fields[4].integer))
        return "a watch line with a fence or flags";
    return NULL;
}

static char *read_message(const form_message *message, int64_t now_us, message_lines *lines) {
    const char *at = message->text, *end = message->text + message->length;
    for (bool first = true; at <= end; first = false) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((feed ? feed : end) - at);
        lines->items = test_grow(lines->items, lines->count, sizeof *lines->items);
        message_line *line = &lines->items[lines->count++];
        if (!read_line(at, length, line))
            return bad_message(message, "a line of another shape");
        char handle[HANDLE_LENGTH + 1];
        actor_handle(line->actor, handle);
        if (strlen(message->client) != CLIENT_LENGTH ||
            memcmp(handle, message->client, CLIENT_LENGTH) != 0)
            return bad_message(message, "a line on another client's channel");
        const char *why = check_line(line, first ? NULL : line - 1, now_us);
        if (why)
            return bad_message(message, why);
        at += length + 1;
    }
    return NULL;
}

char *match_read_messages(const form_result *result, bool one_each, int64_t now_us,
                          message_lines *lines) {
    for (size_t i = 0; i < result->message_count; i++) {
        const form_message *message = &result->messages[i];
        if (one_each && i > 0 && strcmp(message->client, message[-1].client) == 0)
            return bad_message(message, "a second message to one client");
        char *problem = read_message(message, now_us, lines);
        if (problem)
            return problem;
    }
    return NULL;
}

void match_clear_messages(message_lines *lines) {
    free(lines->items); /* its fields are integers */
    *lines = (message_lines){0};
}

static char *differs(const char *what, const message_lines *lines) {
    test_text text = {0};
    test_text_print(&text, "expected: %s\n     got: messages", what);
    for (size_t i = 0; i < lines->count; i++) {
        const message_line *line = &lines->items[i];
        test_text_print(&text, "\n          => %c%u %s", line->actor.client, line->actor.number,
                        line->shape->word);
        for (size_t j = 0; j < shape_count(line->shape); j++)
            test_text_print(&text, " %s=%" PRId64, line->shape->fields[j], line->fields[j].integer);
    }
    if (lines->count == 0)
        test_text_print(&text, ": none");
    return text.bytes;
}

belief *match_believer(cast *all, const form_call *names, const message_line *line) {
    for (size_t i = names->name_count; i-- > 0;) {
        belief *known = cast_belief(all, line->actor, names->names[i]);
        if (i == 0 || known->waiting == line->fields[0].integer)
            return known;
    }
    return NULL;
}

/* Where nothing is said of a number, it is that of the actor's last waiting request. */
static char *match_line(const expected *wanted, cast *all, const form_call *names,
                        const message_line *line) {
    bool said = strcmp(wanted->shape->word, "lost") == 0;
    for (size_t i = 0; i < wanted->attributes.count; i++)
        said = said || strcmp(wanted->attributes.items[i].key, "req") == 0;
    if (wanted->shape != line->shape || !actor_equal(wanted->actor, line->actor))
        return test_print("%c%u %s", wanted->actor.client, wanted->actor.number,
                          wanted->shape->word);
    int64_t waiting = match_believer(all, names, line)->waiting;
    if (!said && line->fields[0].integer != waiting)
        return test_print("req=%" PRId64 ", its last that waited", waiting);
    return match_fields(wanted, all, line->fields);
}

/* The order of lines matters within one client only: messages to several arrive in any order. */
char *match_messages(const step *from, cast *all, const form_call *names,
                     const message_lines *lines) {
    size_t wanted_count = strcmp(from->op, "inspect") == 0 ? 0 : from->line_count;
    bool *used = test_alloc(lines->count, sizeof *used);
    char *what = NULL;
    for (size_t i = 0; i < wanted_count && !what; i++) {
        const expected *wanted = &from->lines[i];
        size_t at = 0;
        while (at < lines->count &&
               (used[at] || lines->items[at].actor.client != wanted->actor.client))
            at++;
        if (at == lines->count) {
            what = test_print("%c%u %s", wanted->actor.client, wanted->actor.number,
                              wanted->shape->word);
        } else {
            used[at] = true;
            what = match_line(wanted, all, names, &lines->items[at]);
        }
    }
    if (!what && lines->count > wanted_count)
        what = test_print("%zu lines of messages", wanted_count);
    free(used);
    char *problem = what ? differs(what, lines) : NULL;
    free(what);
    return problem;
}
