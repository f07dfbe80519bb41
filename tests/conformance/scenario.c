/* Reads scenario files line by line: which scenario, which step, which lines belong to it. */
#include "scenario.h"

#include "test_memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

token token_copy(const token *from) {
    token copy = *from;
    copy.key = from->key ? test_copy(from->key, strlen(from->key)) : NULL;
    copy.text = test_copy(from->text, from->length);
    return copy;
}

void token_list_add(token_list *list, const token *one) {
    list->items = test_grow(list->items, list->count, sizeof *list->items);
    list->items[list->count++] = token_copy(one);
}

bool actor_parse(const char *text, actor_name *out) {
    if (!isupper((unsigned char)text[0]) || text[1] == '0')
        return false;
    unsigned long number = 1;
    if (strcmp(text + 1, "*") == 0) {
        number = ACTOR_OF_TURN;
    } else if (text[1]) {
        char *end;
        if (!isdigit((unsigned char)text[1]))
            return false;
        number = strtoul(text + 1, &end, 10);
        if (*end || number > 1000000)
            return false;
    }
    *out = (actor_name){.client = text[0], .number = (unsigned)number};
    return true;
}

unsigned forms_parse(const token *word) {
    static const struct {
        const char *word;
        unsigned forms;
    } prefixes[] = {
        {"[core]", FORM_CORE},
        {"[scripts]", FORM_SCRIPTS},
        {"[packed]", FORM_PACKED},
        {"[indexed]", FORM_INDEXED},
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (token_is(word, prefixes[i].word))
            return prefixes[i].forms;
    return 0;
}

static void clear_expected(expected *items, size_t count) {
    for (size_t i = 0; i < count; i++) {
        lex_clear(&items[i].attributes);
        free(items[i].text.text);
        free(items[i].text.key);
    }
    free(items);
}

static void clear_step(step *one) {
    for (size_t i = 0; i < one->party_count; i++)
        lex_clear(&one->parties[i].attributes);
    free(one->parties);
    free(one->source);
    lex_clear(&one->keys);
    lex_clear(&one->words);
    clear_expected(one->answers, one->answer_count);
    clear_expected(one->lines, one->line_count);
}

void scenario_list_clear(scenario_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        scenario *one = &list->items[i];
        for (size_t j = 0; j < one->step_count; j++)
            clear_step(&one->steps[j]);
        free(one->steps);
        free(one->id);
        free(one->file);
    }
    free(list->items);
    *list = (scenario_list){0};
}

const scenario *scenario_find(const scenario_list *list, const char *id, size_t length) {
    for (size_t i = 0; i < list->count; i++)
        if (strlen(list->items[i].id) == length && memcmp(list->items[i].id, id, length) == 0)
            return &list->items[i];
    return NULL;
}

/* The topic of an id is the file's name: what a rule of SPEC.md names is easily found. */
static bool id_fits_file(const char *id, const char *path) {
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t topic = strcspn(name, ".");
    const char *slug = id + topic + 1;
    return strncmp(id, name, topic) == 0 && id[topic] == '/' && *slug &&
           strspn(slug, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(slug);
}

static const char *start_scenario(const char *path, int line, const token_list *tokens,
                                  scenario_list *list) {
    if (tokens->count < 2 || tokens->count > 3 || !token_is_plain(&tokens->items[1]))
        return "expected: scenario topic/slug";
    const token *id = &tokens->items[1];
    unsigned forms = tokens->count == 3 ? forms_parse(&tokens->items[2]) : FORM_ALL;
    if (forms == 0)
        return "behind a scenario's id there may be [scripts], or another form";
    if (!id_fits_file(id->text, path))
        return "an id is the file's name, a slash, and a slug of a-z 0-9 -";
    if (scenario_find(list, id->text, id->length))
        return "there is a scenario of this id already";
    list->items = test_grow(list->items, list->count, sizeof *list->items);
    list->items[list->count++] = (scenario){
        .id = test_copy(id->text, id->length),
        .file = test_copy(path, strlen(path)),
        .line = line,
        .forms = forms,
    };
    return NULL;
}

static char *trimmed(const char *text) {
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    return test_copy(text, length);
}

static bool needs_server(const step *read) {
    return read->kind == STEP_CONFIG || read->kind == STEP_PLANT || read->has_keys;
}

static const char *add_step(int line, const char *text, const token_list *tokens, scenario *into) {
    into->steps = test_grow(into->steps, into->step_count, sizeof *into->steps);
    step *added = &into->steps[into->step_count++];
    added->line = line;
    added->source = trimmed(text);
    const char *problem = step_parse(tokens, added);
    added->forms &= into->forms;
    if (!problem && (added->forms & FORM_CORE) && needs_server(added))
        problem = "this step needs a server: put [scripts] before it";
    return problem;
}

static const char *read_line(const char *path, int line, const char *text, const token_list *tokens,
                             scenario_list *list, size_t first) {
    scenario *current = list->count > first ? &list->items[list->count - 1] : NULL;
    if (tokens->count == 0)
        return NULL;
    if (token_is(&tokens->items[0], "scenario"))
        return start_scenario(path, line, tokens, list);
    if (!current)
        return "expected: scenario topic/slug";
    if (token_is_mark(&tokens->items[0], "=>")) {
        if (current->step_count == 0)
            return "=> belongs to the step before it; there is none";
        return expect_parse_line(tokens, 1, &current->steps[current->step_count - 1]);
    }
    return add_step(line, text, tokens, current);
}

bool scenario_read(const char *path, scenario_list *list) {
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return false;
    }
    char *text = NULL;
    size_t room = 0, first = list->count;
    bool good = true;
    for (int line = 1; good && getline(&text, &room, file) >= 0; line++) {
        token_list tokens = {0};
        const char *problem = lex_line(text, &tokens);
        if (!problem)
            problem = read_line(path, line, text, &tokens, list, first);
        if (problem) {
            fprintf(stderr, "%s:%d: %s\n", path, line, problem);
            good = false;
        }
        lex_clear(&tokens);
    }
    free(text);
    fclose(file);
    return good;
}
