/* See match_fields.h. */
#include "match_fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool text_fits(const token *wanted, const reply *got) {
    char handle[HANDLE_LENGTH + 1];
    actor_name actor;
    if (!wanted->quoted && wanted->text[0] == '@' && actor_parse(wanted->text + 1, &actor)) {
        actor_handle(actor, handle);
        return reply_is(got, handle);
    }
    return got->length == wanted->length && memcmp(got->text, wanted->text, got->length) == 0;
}

static bool number_fits(const token *wanted, cast *all, const reply *got, char **shown) {
    int64_t value;
    if (cast_bind(all, wanted->text, got->integer))
        return true;
    if (wanted->quoted || !cast_value(all, wanted->text, cast_unit(wanted->key), &value)) {
        *shown = test_print("%s=%s, which has no value", wanted->key, wanted->text);
        return false;
    }
    if (value == got->integer)
        return true;
    *shown = test_print("%s=%" PRId64, wanted->key, value);
    return false;
}

char *match_fields(const expected *wanted, cast *all, const reply *fields) {
    for (size_t i = 0; i < wanted->attributes.count; i++) {
        const token *one = &wanted->attributes.items[i];
        const reply *got = &fields[shape_field(wanted->shape, one->key)];
        char *shown = NULL;
        if (got->type == REPLY_INTEGER && number_fits(one, all, got, &shown))
            continue;
        if (got->type == REPLY_TEXT && text_fits(one, got))
            continue;
        if (!shown) {
            test_text text = {0};
            test_text_print(&text, "%s=", one->key);
            test_text_quote(&text, one->text, one->length);
            shown = text.bytes;
        }
        return shown;
    }
    return NULL;
}

char *match_name_actors(char *text) {
    test_text named = {0};
    for (const char *at = text; *at;) {
        actor_name actor;
        if (strlen(at) >= HANDLE_LENGTH && actor_of_handle(at, HANDLE_LENGTH, &actor)) {
            test_text_print(&named, "@%c%u", actor.client, actor.number);
            at += HANDLE_LENGTH;
        } else {
            test_text_add(&named, at++, 1);
        }
    }
    free(text);
    return named.bytes;
}
