/* See play.h. */
#include "play.h"

#include "match.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char default_lock[] = "order:42";

/* Past every lease (24 h) with the hour of a mark, and past every fence (24 h ahead, SPEC 10.2). */
#define LONG_AFTER_US INT64_C(93600000000)

typedef struct {
    form_result results[PLAY_FORMS_MOST];
    bool ran[PLAY_FORMS_MOST];
} outcome;

static bool plays(const play *on, size_t form, const step *from) {
    const lock_form *asked = on->forms[form];
    unsigned bit = !form_has_server(asked)  ? FORM_CORE
                   : form_is_indexed(asked) ? FORM_INDEXED
                                            : FORM_PACKED;
    return (from->forms & bit) != 0;
}

static void clear_outcome(outcome *of) {
    for (size_t i = 0; i < PLAY_FORMS_MOST; i++)
        form_result_clear(&of->results[i]);
}

/* Takes the problem. */
static char *in_form(const lock_form *form, char *problem) {
    if (!problem)
        return NULL;
    char *text = test_print("in form: %s\n%s", form_name(form), problem);
    free(problem);
    return text;
}

static char *in_form_with(const lock_form *form, const char *fault, const form_result *result) {
    char *got = match_print(result);
    char *text = test_print("in form: %s\n  broken: %s\n     got: %s", form_name(form), fault, got);
    free(got);
    return text;
}

static lkc_text lock_of(const play *on) {
    return (lkc_text){on->lock, on->lock_length};
}

/* Faults, and forms that differ from the first that ran. */
static char *check_outcome(const play *on, const outcome *of) {
    size_t first = on->form_count;
    for (size_t i = 0; i < on->form_count; i++)
        if (of->ran[i] && of->results[i].fault)
            return in_form_with(on->forms[i], of->results[i].fault, &of->results[i]);
    for (size_t i = 0; i < on->form_count; i++) {
        if (!of->ran[i])
            continue;
        if (first == on->form_count) {
            first = i;
            continue;
        }
        char *problem = match_results(form_name(on->forms[first]), &of->results[first],
                                      form_name(on->forms[i]), &of->results[i]);
        if (problem)
            return problem;
    }
    return NULL;
}

/* Operations. */

static void run_all(const play *on, const step *from, const form_call *call, outcome *out) {
    for (size_t i = 0; i < on->form_count; i++) {
        if (plays(on, i, from)) {
            form_run(on->forms[i], (uint64_t)on->all.now_us, call, &out->results[i]);
            out->ran[i] = true;
        }
    }
}

static void learn_messages(play *on, const form_call *call, const message_lines *lines) {
    for (size_t i = 0; i < lines->count; i++) {
        const message_line *line = &lines->items[i];
        if (strcmp(line->shape->word, "granted") == 0)
            match_believer(&on->all, call, line)->fence = line->fields[1].integer;
    }
}

static char *match_form(play *on, const step *from, const request *asked, const form_result *result,
                        bool learn) {
    message_lines lines = {0};
    bool one_each = strcmp(from->op, "renew") != 0;
    char *problem = match_read_messages(result, one_each, on->all.now_us, &lines);
    if (!problem)
        problem = match_answer(from, &on->all, result);
    if (!problem)
        problem = match_messages(from, &on->all, &asked->call, &lines);
    if (!problem && learn) {
        learn_messages(on, &asked->call, &lines);
        request_learn(asked, from, &on->all, &result->answer);
    }
    match_clear_messages(&lines);
    return problem;
}

/* Whether the others did the same says if the form or the scenario is wrong. Takes the problem. */
static char *add_others(const play *on, const outcome *of, size_t failed, char *problem) {
    for (size_t i = 0; i < on->form_count && problem; i++) {
        if (i == failed || !of->ran[i])
            continue;
        const char *name = form_name(on->forms[i]);
        char *apart = match_results("", &of->results[failed], name, &of->results[i]);
        char *did = apart ? match_print(&of->results[i]) : test_print("the same");
        char *text = test_print("%s\n%s: %s", problem, name, did);
        free(apart);
        free(did);
        free(problem);
        problem = text;
    }
    return problem;
}

/* Expectations come first: what a form should have done says more than that two differ. Learning
 * comes last, when all have been held against what was believed before. */
static char *match_all(play *on, const step *from, const request *asked, const outcome *out) {
    size_t last = 0;
    char *problem = NULL;
    for (size_t i = 0; i < on->form_count; i++)
        last = out->ran[i] ? i : last;
    for (size_t i = 0; i < on->form_count && !problem; i++) {
        if (out->ran[i] && !out->results[i].fault) {
            problem = match_form(on, from, asked, &out->results[i], i == last);
            problem = add_others(on, out, i, in_form(on->forms[i], problem));
        }
    }
    return problem ? problem : check_outcome(on, out);
}

static char *play_operation(play *on, const step *from) {
    request asked;
    outcome out = {0};
    const char *missing = request_make(&asked, from, &on->all, lock_of(on));
    char *problem = NULL;
    if (missing) {
        problem = test_print("%s", missing);
    } else {
        run_all(on, from, &asked.call, &out);
        problem = match_all(on, from, &asked, &out);
    }
    clear_outcome(&out);
    request_clear(&asked);
    return problem;
}

char *play_call(play *on, const step *from, const form_call *call, form_result *first) {
    outcome out = {0};
    run_all(on, from, call, &out);
    char *problem = check_outcome(on, &out);
    *first = (form_result){0};
    for (size_t i = 0; i < on->form_count && !problem; i++) {
        if (out.ran[i]) {
            *first = out.results[i];
            out.results[i] = (form_result){0};
            break;
        }
    }
    clear_outcome(&out);
    return problem;
}

/* Steps that are no operation. */

static char *play_time(play *on, const step *from) {
    int64_t by;
    if (!cast_value(&on->all, from->words.items[0].text, UNIT_US, &by))
        return test_print("that is no time");
    on->all.now_us += by;
    return NULL;
}

static char *play_check(play *on, const step *from) {
    const token *words = from->words.items;
    const char *how = words[1].text;
    int64_t left, right;
    if (!cast_value(&on->all, words[0].text, UNIT_US, &left) ||
        !cast_value(&on->all, words[2].text, UNIT_US, &right))
        return test_print("a side has no value");
    bool true_now = strcmp(how, "<") == 0    ? left < right
                    : strcmp(how, ">") == 0  ? left > right
                    : strcmp(how, "<=") == 0 ? left <= right
                    : strcmp(how, ">=") == 0 ? left >= right
                    : strcmp(how, "=") == 0  ? left == right
                    : strcmp(how, "!=") == 0 ? left != right
                                             : false;
    return true_now ? NULL : test_print("not so: %" PRId64 " %s %" PRId64, left, how, right);
}

static char *play_keys(play *on, const step *from) {
    const char *how = from->words.items[0].text;
    for (size_t i = 0; i < on->form_count; i++) {
        if (!plays(on, i, from))
            continue;
        form_result result;
        size_t found = 0;
        form_look(on->forms[i], (uint64_t)on->all.now_us, &result);
        for (size_t j = 0; j < result.rest_count; j++)
            if (result.rests[j].length == on->lock_length &&
                memcmp(result.rests[j].name, on->lock, on->lock_length) == 0)
                found = result.rests[j].key_count;
        bool right = strcmp(how, "none") == 0  ? found == 0
                     : strcmp(how, "one") == 0 ? found == 1
                                               : found > 0;
        char *problem = result.fault ? test_copy(result.fault, strlen(result.fault))
                        : right      ? NULL
                                     : test_print("expected: %s\n     got: %zu", how, found);
        form_result_clear(&result);
        if (problem)
            return in_form(on->forms[i], problem);
    }
    return NULL;
}

static char *play_server(play *on, const step *from) {
    const char *first = from->words.items[0].text, *second = from->words.items[1].text;
    for (size_t i = 0; i < on->form_count; i++) {
        if (!plays(on, i, from))
            continue;
        const char *suffix = strcmp(second, "main") == 0 ? "" : second;
        char *problem = from->kind == STEP_CONFIG
                            ? form_configure(on->forms[i], first, second)
                            : form_plant(on->forms[i], lock_of(on), suffix, first);
        if (problem)
            return in_form(on->forms[i], problem);
    }
    return NULL;
}

static char *play_name(play *on, const step *from) {
    free(on->lock);
    on->lock = test_copy(from->words.items[0].text, from->words.items[0].length);
    on->lock_length = from->words.items[0].length;
    return NULL;
}

static char *play_step(play *on, const step *from) {
    switch (from->kind) {
    case STEP_TIME:
        return play_time(on, from);
    case STEP_CHECK:
        return play_check(on, from);
    case STEP_NAME:
        return play_name(on, from);
    case STEP_KEYS:
        return play_keys(on, from);
    case STEP_CONFIG:
    case STEP_PLANT:
        return play_server(on, from);
    case STEP_FORGET:
        cast_belief(&on->all, from->parties[0].actor, lock_of(on))->fence = 0;
        return NULL;
    case STEP_ARRIVALS:
        return play_arrivals(on, from);
    default:
        return play_operation(on, from);
    }
}

static void *copy_items(const void *items, size_t count, size_t size) {
    void *copy = test_alloc(count, size);
    if (count)
        memcpy(copy, items, count * size);
    return copy;
}

static void number_actor(actor_name *actor, unsigned turn) {
    if (actor->client && actor->number == ACTOR_OF_TURN)
        actor->number = turn;
}

/* Plays a step of which `A*` is the actor with the number of the turn. Turns count from 1. */
static char *play_turn(play *on, const step *from, unsigned turn) {
    step copy = *from;
    copy.parties = copy_items(from->parties, from->party_count, sizeof *from->parties);
    copy.lines = copy_items(from->lines, from->line_count, sizeof *from->lines);
    for (size_t i = 0; i < copy.party_count; i++)
        number_actor(&copy.parties[i].actor, turn);
    for (size_t i = 0; i < copy.line_count; i++)
        number_actor(&copy.lines[i].actor, turn);
    char *problem = play_step(on, &copy);
    free(copy.parties);
    free(copy.lines);
    return problem;
}

/* Scenarios. */

/* SPEC 7: after the last lease and the hour of a mark nothing may be left, whatever happened. */
static char *check_end(const play *on) {
    const step everyone = {.forms = on->scene->forms};
    outcome now = {0}, later = {0};
    char *problem = NULL;
    for (size_t i = 0; i < on->form_count; i++) {
        if (plays(on, i, &everyone)) {
            form_look(on->forms[i], (uint64_t)on->all.now_us, &now.results[i]);
            form_look(on->forms[i], (uint64_t)(on->all.now_us + LONG_AFTER_US), &later.results[i]);
            now.ran[i] = later.ran[i] = true;
        }
    }
    problem = check_outcome(on, &now);
    for (size_t i = 0; i < on->form_count && !problem; i++)
        if (later.ran[i] && (later.results[i].rest_count > 0 || later.results[i].fault))
            problem = in_form_with(on->forms[i], "something is left long after the end",
                                   &later.results[i]);
    clear_outcome(&now);
    clear_outcome(&later);
    return problem;
}

static void report(const play *on, int line, const char *what, const char *problem) {
    printf("%s:%d: %s failed\n    step: %s\n", on->scene->file, line, on->scene->id, what);
    for (const char *at = problem; *at;) {
        size_t length = strcspn(at, "\n");
        printf("    %.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
}

static bool somebody_plays(const play *on, const step *from) {
    for (size_t i = 0; i < on->form_count; i++)
        if (plays(on, i, from))
            return true;
    return false;
}

bool play_scenario(lock_form *const *forms, size_t form_count, const scenario *scene) {
    play on = {
        .forms = forms,
        .form_count = form_count,
        .scene = scene,
        .all = {.now_us = (int64_t)FORM_CLOCK_START_US},
        .lock = test_copy(default_lock, strlen(default_lock)),
        .lock_length = strlen(default_lock),
    };
    char *problem = NULL;
    for (size_t i = 0; i < form_count; i++)
        form_reset(forms[i]);
    for (size_t i = 0; i < scene->step_count && !problem; i++) {
        const step *next = &scene->steps[i];
        if (!somebody_plays(&on, next))
            continue;
        for (unsigned turn = 0; turn < next->times && !problem; turn++)
            problem = play_turn(&on, next, turn + 1);
        if (problem)
            report(&on, next->line, next->source, problem);
    }
    if (!problem) {
        problem = check_end(&on);
        if (problem)
            report(&on, scene->line, "the end of the scenario", problem);
    }
    bool passed = !problem;
    free(problem);
    free(on.lock);
    cast_clear(&on.all);
    return passed;
}
