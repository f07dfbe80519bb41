/* See request.h. */
#include "request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char default_who[] = "1 host app";

static void add(lkc_text **list, size_t *count, const char *bytes, size_t length) {
    *list = test_grow(*list, *count, sizeof **list);
    (*list)[(*count)++] = (lkc_text){test_copy(bytes, length), length};
}

static void add_word(request *to, const char *text) {
    add(&to->words, &to->word_count, text, strlen(text));
}

static void add_number(request *to, int64_t number) {
    char *text = test_print("%" PRId64, number);
    add_word(to, text);
    free(text);
}

static void add_handle(request *to, actor_name actor) {
    char handle[HANDLE_LENGTH + 1];
    actor_handle(actor, handle);
    add_word(to, handle);
}

static const token *attribute(const party *who, const char *key) {
    for (size_t i = 0; i < who->attributes.count; i++)
        if (strcmp(who->attributes.items[i].key, key) == 0)
            return &who->attributes.items[i];
    return NULL;
}

/* A word as it stands: quoted, `@A` for the handle of A, an expression with variables, or bare. */
static void add_token(request *to, const cast *all, const token *word, int64_t unit_us) {
    int64_t value;
    actor_name actor;
    if (!word->quoted && word->text[0] == '@' && actor_parse(word->text + 1, &actor))
        add_handle(to, actor);
    else if (!word->quoted && cast_value(all, word->text, unit_us, &value) && value >= 0)
        add_number(to, value);
    else
        add(&to->words, &to->word_count, word->text, word->length);
}

/* The attribute, or else the default. */
static void add_text(request *to, const cast *all, const party *who, const char *key,
                     const char *otherwise) {
    const token *said = attribute(who, key);
    if (!said)
        add_word(to, otherwise);
    else if (said->text[0] == '@' && !said->quoted)
        add_token(to, all, said, UNIT_US);
    else
        add(&to->words, &to->word_count, said->text, said->length);
}

static void add_value(request *to, const cast *all, const party *who, const char *key,
                      int64_t otherwise) {
    const token *said = attribute(who, key);
    if (said)
        add_token(to, all, said, cast_unit(key));
    else
        add_number(to, otherwise);
}

/* req=same is the number of the last request; a number that is none goes out as it stands. */
static void add_request(request *to, cast *all, const party *who, size_t at) {
    const token *said = attribute(who, "req");
    int64_t number = 0;
    if (!said) {
        number = cast_next_request(all, who->actor);
        add_number(to, number);
    } else if (!said->quoted && strcmp(said->text, "same") == 0) {
        number = cast_counter(all, who->actor)->last;
        add_number(to, number);
    } else {
        if (!said->quoted && cast_value(all, said->text, UNIT_US, &number))
            cast_used_request(all, who->actor, number);
        add_token(to, all, said, UNIT_US);
    }
    to->requests[at] = number;
}

static void make_acquire(request *to, const step *from, cast *all, const belief *known) {
    const party *who = &from->parties[0];
    add_handle(to, who->actor);
    add_request(to, all, who, 0);
    add_value(to, all, who, "fence", known->fence);
    add_word(to, from->write ? "write" : "read");
    add_word(to, from->wait ? "1" : "0");
    add_value(to, all, who, "lease", 30000);
    add_text(to, all, who, "policy", "fair");
    add_value(to, all, who, "floor", 0);
    add_text(to, all, who, "owner", "");
    add_text(to, all, who, "group", "");
    add_text(to, all, who, "who", default_who);
}

static const char *make_cancel(request *to, const step *from, cast *all, const belief *known) {
    const party *who = &from->parties[0];
    add_handle(to, who->actor);
    add_request(to, all, who, 0);
    if (!attribute(who, "target") && known->waiting == 0)
        return "the actor has never waited; say target=";
    add_value(to, all, who, "target", known->waiting);
    return NULL;
}

static const char *make_entry(request *to, const step *from, size_t at, cast *all, lkc_text lock) {
    const party *who = &from->parties[at];
    const token *on = attribute(who, "on");
    if (on)
        lock = (lkc_text){on->text, on->length};
    const belief *known = cast_belief(all, who->actor, lock);
    if (who->waiter && !attribute(who, "req") && known->waiting == 0)
        return "the actor has never waited; say req=";
    add(&to->names, &to->name_count, lock.bytes, lock.length);
    add_handle(to, who->actor);
    add_value(to, all, who, "fence", who->waiter ? 0 : known->fence);
    add_value(to, all, who, "req", who->waiter ? known->waiting : 0);
    add_value(to, all, who, "lease", 30000);
    to->requests[at] = known->waiting;
    return NULL;
}

static const char *make_words(request *to, const step *from, cast *all, lkc_text lock) {
    const party *who = from->parties;
    const belief *known = who && who->actor.client ? cast_belief(all, who->actor, lock) : NULL;
    const char *problem = NULL;
    switch (from->kind) {
    case STEP_ACQUIRE:
        make_acquire(to, from, all, known);
        break;
    case STEP_RELEASE:
    case STEP_CONVERT:
        add_handle(to, who->actor);
        add_request(to, all, who, 0);
        add_value(to, all, who, "fence", known->fence);
        if (from->kind == STEP_RELEASE) {
            add_word(to, from->write ? "write" : "read");
            add_value(to, all, who, "told", 1);
        }
        break;
    case STEP_CANCEL:
        problem = make_cancel(to, from, all, known);
        break;
    case STEP_RENEW:
        for (size_t i = 0; i < from->party_count && !problem; i++)
            problem = make_entry(to, from, i, all, lock);
        break;
    case STEP_INSPECT:
        add_value(to, all, who, "limit", 1000);
        break;
    case STEP_FORCE:
        add_text(to, all, who, "owner", "");
        break;
    default: /* STEP_CALL */
        for (size_t i = 0; i < from->words.count; i++)
            add_token(to, all, &from->words.items[i], UNIT_US);
        for (size_t i = 0; i < from->keys.count; i++)
            add(&to->keys, &to->key_count, from->keys.items[i].text, from->keys.items[i].length);
        break;
    }
    return problem;
}

const char *request_make(request *to, const step *from, cast *all, lkc_text lock) {
    static const lkc_text no_keys = {"", 0};
    *to = (request){.requests = test_alloc(from->party_count, sizeof *to->requests)};
    const char *problem = make_words(to, from, all, lock);
    if (to->name_count == 0)
        add(&to->names, &to->name_count, lock.bytes, lock.length);
    to->call = (form_call){
        .op = from->op,
        .names = to->names,
        .name_count = to->name_count,
        .arguments = to->words,
        .argument_count = to->word_count,
        .keys = !from->has_keys ? NULL
                : to->keys      ? to->keys
                                : &no_keys,
        .key_count = to->key_count,
    };
    return problem;
}

static void clear_texts(lkc_text *texts, size_t count) {
    for (size_t i = 0; i < count; i++)
        free((char *)texts[i].bytes);
    free(texts);
}

void request_clear(request *of) {
    clear_texts(of->names, of->name_count);
    clear_texts(of->words, of->word_count);
    clear_texts(of->keys, of->key_count);
    free(of->requests);
    *of = (request){0};
}

/* `fields` are what stands behind the answer's word (and time). */
static void learn_one(belief *known, int64_t number, const char *word, const reply *fields) {
    if (strcmp(word, "granted") == 0)
        known->fence = fields[0].integer;
    else if (strcmp(word, "queued") == 0)
        known->waiting = number;
    else if (strcmp(word, "released") == 0 && fields[0].integer == 0 && fields[1].integer == 0)
        known->fence = 0;
}

void request_learn(const request *of, const step *from, cast *all, const reply *answer) {
    if (answer->type != REPLY_ARRAY || from->kind == STEP_CALL || !from->parties ||
        !from->parties[0].actor.client)
        return;
    if (from->kind != STEP_RENEW) {
        learn_one(cast_belief(all, from->parties[0].actor, of->names[0]), of->requests[0],
                  answer->elements[0].text, answer->elements + 2);
        return;
    }
    for (size_t i = 0; i < from->party_count; i++) {
        const reply *entry = &answer->elements[2 + i];
        if (strcmp(entry->elements[0].text, "error") != 0)
            learn_one(cast_belief(all, from->parties[i].actor, of->names[i]), of->requests[i],
                      entry->elements[0].text, entry->elements + 1);
    }
}
