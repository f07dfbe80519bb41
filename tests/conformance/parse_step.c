/* Reads the part of a step before `->`; see scenario.h and protocol/conformance/README.md. */
#include "scenario.h"
#include "test_memory.h"

#include <stdlib.h>
#include <string.h>

enum { TIMES_MOST = 1000000 };

static const char *const op_names[] = {
    [STEP_ACQUIRE] = "acquire", [STEP_RELEASE] = "release", [STEP_RENEW] = "renew",
    [STEP_CONVERT] = "convert", [STEP_CANCEL] = "cancel",   [STEP_INSPECT] = "inspect",
    [STEP_FORCE] = "force",
};

/* What a step of each kind may say about itself. */
static const char *const attribute_names[] = {
    [STEP_ACQUIRE] = " lease policy group owner who req fence floor ",
    [STEP_RELEASE] = " req fence told ",
    [STEP_RENEW] = " lease req fence on ",
    [STEP_CONVERT] = " req fence ",
    [STEP_CANCEL] = " req target ",
    [STEP_INSPECT] = " limit ",
    [STEP_FORCE] = " owner ",
};

/* The tokens before `->`, read from left to right. */
typedef struct {
    const token *at, *end;
} cursor;

static bool take(cursor *from, const char *word) {
    if (from->at == from->end || !token_is(from->at, word))
        return false;
    from->at++;
    return true;
}

static const token *take_plain(cursor *from) {
    return from->at < from->end && token_is_plain(from->at) ? from->at++ : NULL;
}

static bool take_actor(cursor *from, actor_name *actor) {
    if (from->at == from->end || !token_is_plain(from->at) || from->at->quoted ||
        !actor_parse(from->at->text, actor))
        return false;
    from->at++;
    return true;
}

static party *add_party(step *into) {
    into->parties = test_grow(into->parties, into->party_count, sizeof *into->parties);
    return &into->parties[into->party_count++];
}

static const char *take_attributes(cursor *from, step_kind kind, party *into) {
    for (; from->at < from->end && from->at->key; from->at++) {
        char *wanted = test_print(" %s ", from->at->key);
        bool known = strstr(attribute_names[kind], wanted) != NULL;
        free(wanted);
        if (!known)
            return "this step has no attribute of that name";
        token_list_add(&into->attributes, from->at);
    }
    return NULL;
}

static const char *take_words(cursor *from, step *into, size_t count, const char *usage) {
    for (size_t i = 0; i < count; i++) {
        const token *word = take_plain(from);
        if (!word)
            return usage;
        token_list_add(&into->words, word);
    }
    return NULL;
}

/* A read wait lease=2s … */
static const char *parse_actor_step(cursor *from, actor_name actor, step *into) {
    party *who = add_party(into);
    who->actor = actor;
    if (take(from, "read")) {
        into->kind = STEP_ACQUIRE;
    } else if (take(from, "write")) {
        into->kind = STEP_ACQUIRE;
        into->write = true;
    } else if (take(from, "release")) {
        into->kind = STEP_RELEASE;
        into->write = take(from, "write");
        if (!into->write && !take(from, "read"))
            return "expected: ACTOR release read|write";
    } else if (take(from, "renew")) {
        into->kind = STEP_RENEW;
        who->waiter = take(from, "waiter");
    } else if (take(from, "convert")) {
        into->kind = STEP_CONVERT;
    } else if (take(from, "cancel")) {
        into->kind = STEP_CANCEL;
    } else if (take(from, "forgets")) {
        into->kind = STEP_FORGET;
        return NULL;
    } else {
        return "an actor can read, write, release, renew, convert, cancel, or it forgets";
    }
    into->op = op_names[into->kind];
    const char *problem = take_attributes(from, into->kind, who);
    if (!problem && into->kind == STEP_ACQUIRE && take(from, "wait")) {
        into->wait = true;
        problem = take_attributes(from, into->kind, who);
    }
    return problem;
}

/* renew A, B waiter, A on="other" lease=2s */
static const char *parse_batch(cursor *from, step *into) {
    into->kind = STEP_RENEW;
    into->op = op_names[STEP_RENEW];
    do {
        party *entry = add_party(into);
        if (!take_actor(from, &entry->actor))
            return "expected: renew ACTOR [waiter], …";
        entry->waiter = take(from, "waiter");
        const char *problem = take_attributes(from, STEP_RENEW, entry);
        if (problem)
            return problem;
    } while (from->at < from->end && token_is_mark(from->at, ",") && from->at++);
    return NULL;
}

/* call release keys "k1" "k2" args "word" … */
static const char *parse_call(cursor *from, step *into) {
    const char *usage = "expected: call OP [keys WORD…] args WORD…";
    const token *op = take_plain(from);
    into->kind = STEP_CALL;
    for (size_t i = 0; op && i < sizeof op_names / sizeof *op_names; i++)
        if (token_is(op, op_names[i]))
            into->op = op_names[i];
    if (!into->op)
        return usage;
    into->has_keys = take(from, "keys");
    while (into->has_keys && from->at < from->end && !token_is(from->at, "args")) {
        const token *key = take_plain(from);
        if (!key)
            return usage;
        token_list_add(&into->keys, key);
    }
    if (!take(from, "args"))
        return usage;
    while (from->at < from->end) {
        const token *word = take_plain(from);
        if (!word)
            return usage;
        token_list_add(&into->words, word);
    }
    return NULL;
}

static const char *parse_other(cursor *from, step *into) {
    if (take(from, "inspect") || take(from, "force")) {
        into->kind = token_is(from->at - 1, "force") ? STEP_FORCE : STEP_INSPECT;
        into->op = op_names[into->kind];
        return take_attributes(from, into->kind, add_party(into));
    }
    if (take(from, "renew"))
        return parse_batch(from, into);
    if (take(from, "call"))
        return parse_call(from, into);
    if (take(from, "time")) {
        into->kind = STEP_TIME;
        return take_words(from, into, 1, "expected: time +500ms, or -5s");
    }
    if (take(from, "check")) {
        into->kind = STEP_CHECK;
        return take_words(from, into, 3, "expected: check VALUE < VALUE, or > <= >= = !=");
    }
    if (take(from, "name")) {
        into->kind = STEP_NAME;
        return take_words(from, into, 1, "expected: name \"text\"");
    }
    if (take(from, "keys")) {
        into->kind = STEP_KEYS;
        const char *usage = "expected: keys none, or some, or one";
        const char *problem = take_words(from, into, 1, usage);
        const token *how = into->words.items;
        bool known =
            !problem && (token_is(how, "none") || token_is(how, "some") || token_is(how, "one"));
        return known ? NULL : usage;
    }
    if (take(from, "server")) {
        const char *usage = "expected: server config set OPTION VALUE";
        into->kind = STEP_CONFIG;
        return take(from, "config") && take(from, "set") ? take_words(from, into, 2, usage) : usage;
    }
    if (take(from, "foreign")) {
        into->kind = STEP_PLANT;
        return take_words(from, into, 2, "expected: foreign TYPE main|i");
    }
    if (take(from, "arrivals")) {
        into->kind = STEP_ARRIVALS;
        return take_words(from, into, 3, "expected: arrivals POLICY write-held|read-held MODES");
    }
    return "unknown step";
}

static const char *parse_prefixes(cursor *from, step *into) {
    unsigned forms = from->at < from->end ? forms_parse(from->at) : 0;
    into->forms = forms ? forms : FORM_ALL;
    into->times = 1;
    if (forms)
        from->at++;
    if (take(from, "times")) {
        const token *count = take_plain(from);
        char *end = NULL;
        unsigned long times = count ? strtoul(count->text, &end, 10) : 0;
        if (times < 1 || times > TIMES_MOST || *end)
            return "expected: times N STEP";
        into->times = (unsigned)times;
    }
    return NULL;
}

const char *step_parse(const token_list *tokens, step *into) {
    size_t arrow = 0;
    while (arrow < tokens->count && !token_is_mark(&tokens->items[arrow], "->"))
        arrow++;
    cursor from = {tokens->items, tokens->items + arrow};
    actor_name actor;
    const char *problem = parse_prefixes(&from, into);
    if (!problem)
        problem = take_actor(&from, &actor) ? parse_actor_step(&from, actor, into)
                                            : parse_other(&from, into);
    if (!problem && from.at < from.end)
        problem = "something stands before -> or the end that does not belong there";
    if (problem)
        return problem;
    bool answered = into->op || into->kind == STEP_ARRIVALS;
    if (answered != (arrow < tokens->count))
        return answered ? "what is the answer? -> …" : "this step has no answer";
    return answered ? expect_parse_answers(tokens, arrow + 1, into) : NULL;
}
