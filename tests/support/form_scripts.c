/*
 * The form of the lock that is protocol/lua in a server, in the test flavour: its scripts read the
 * time from a key that is set before each operation. See form.h.
 */
#include "form_private.h"
#include "lk_scripts_test.h"
#include "script_link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "lk";
static const char clock_key[] = "lk-test-clock";
static const char *const suffixes[] = {"", ":d", ":r", ":w"}; /* SPEC 11.1 */
enum { KEYS_OF_LOCK = sizeof suffixes / sizeof *suffixes };

/* Every key with the instant, in ms, at which it expires. Redis 6.2 has no PEXPIRETIME. */
static const char look_script[] =
    "local out = {}\n"
    "for _, key in ipairs(redis.call('KEYS', '*')) do\n"
    "  local at = redis.pcall('PEXPIRETIME', key)\n"
    "  while type(at) ~= 'number' do\n"
    "    local before = redis.call('TIME')\n"
    "    local left = redis.call('PTTL', key)\n"
    "    local after = redis.call('TIME')\n"
    "    local ms = math.floor(after[2] / 1000)\n"
    "    if left < 0 then at = left\n"
    "    elseif math.floor(before[2] / 1000) == ms then at = after[1] * 1000 + ms + left end\n"
    "  end\n"
    "  out[#out + 1] = key\n"
    "  out[#out + 1] = at\n"
    "end\n"
    "return out\n";

typedef struct {
    char *option, *before;
} changed_option;

typedef struct {
    lock_form base;
    script_link *link;
    char *look_sha1;
    changed_option *options;
    size_t option_count;
    char *maxmemory; /* as configured, or NULL */
    char **planted;
    size_t planted_count;
} scripts_form;

/* Keys. */

static char *make_key(lkc_text name, const char *suffix, size_t *length) {
    test_text key = {0};
    bool escaped = name.length > 0 && (name.bytes[0] == '}' || name.bytes[0] == '%');
    test_text_print(&key, "%s:{%s", prefix, escaped ? "%" : "");
    test_text_add(&key, name.bytes, name.length);
    test_text_print(&key, "}%s", suffix);
    *length = key.length;
    return key.bytes;
}

/*
 * Finds the lock's name in one of its keys; the name points into the key. Under another prefix than
 * ours it is the whole main key, so that equal names under two prefixes stay apart.
 */
static bool name_of_key(const char *key, size_t length, lkc_text *name) {
    size_t own = strlen(prefix), brace = 0;
    while (brace < length && key[brace] != '{' && key[brace] != '}')
        brace++;
    if (brace < 2 || brace == length || key[brace] != '{' || key[brace - 1] != ':')
        return false;
    for (size_t i = KEYS_OF_LOCK; i-- > 0;) {
        size_t tail = strlen(suffixes[i]) + 1;
        if (length < brace + 1 + tail || key[length - tail] != '}' ||
            memcmp(key + length - tail + 1, suffixes[i], tail - 1) != 0)
            continue;
        bool ours = brace == own + 1 && memcmp(key, prefix, own) == 0;
        *name = ours ? (lkc_text){key + brace + 1, length - brace - 1 - tail}
                     : (lkc_text){key, length - tail + 1};
        if (ours && name->length > 0 && name->bytes[0] == '%')
            *name = (lkc_text){name->bytes + 1, name->length - 1};
        return true;
    }
    return false;
}

static bool is_planted(const scripts_form *scripts, const reply *key) {
    for (size_t i = 0; i < scripts->planted_count; i++)
        if (reply_is(key, scripts->planted[i]))
            return true;
    return false;
}

/* What is left. */

static void note_key(form_result *result, uint64_t now_us, const reply *key, int64_t expires_ms) {
    lkc_text name;
    if (!name_of_key(key->text, key->length, &name)) {
        form_fault(result, test_print("a key that is no lock's: %s", key->text));
        return;
    }
    if (expires_ms < 0) {
        form_fault(result, test_print("the key %s never expires", key->text));
        return;
    }
    if ((uint64_t)expires_ms * 1000 <= now_us)
        return;
    for (size_t i = 0; i < result->rest_count; i++) {
        form_rest *rest = &result->rests[i];
        if (rest->length == name.length && memcmp(rest->name, name.bytes, name.length) == 0) {
            if (rest->expires_ms != (uint64_t)expires_ms) /* SPEC 11.2 */
                form_fault(result,
                           test_print("the keys of %s expire apart: %" PRIu64 " and %" PRId64,
                                      rest->name, rest->expires_ms, expires_ms));
            return;
        }
    }
    form_rest_add(result, name, (uint64_t)expires_ms);
}

static void note_keys(const scripts_form *scripts, form_result *result, uint64_t now_us,
                      const reply *look) {
    if (look->type != REPLY_ARRAY) {
        test_text text = {0};
        test_text_print(&text, "cannot look at the keys: ");
        reply_print(&text, look);
        form_fault(result, text.bytes);
        return;
    }
    for (size_t i = 0; i + 1 < look->count; i += 2) {
        const reply *key = &look->elements[i];
        if (!reply_is(key, clock_key) && !is_planted(scripts, key))
            note_key(result, now_us, key, look->elements[i + 1].integer);
    }
}

static void append_look(scripts_form *scripts) {
    script_link_append(scripts->link, "EVALSHA %s 0", scripts->look_sha1);
}

static void scripts_look(lock_form *form, uint64_t now_us, form_result *result) {
    scripts_form *scripts = (scripts_form *)form;
    reply look = {0};
    append_look(scripts);
    script_link_read(scripts->link, &look);
    note_keys(scripts, result, now_us, &look);
    reply_clear(&look);
}

/* Operations. */

/* A full server refuses SET, so the limit is lifted around it. */
static void set_clock(scripts_form *scripts, uint64_t now_us) {
    script_link *link = scripts->link;
    if (scripts->maxmemory)
        script_link_append(link, "CONFIG SET maxmemory 0");
    script_link_append(link, "SET %s %" PRIu64, clock_key, now_us);
    if (scripts->maxmemory)
        script_link_append(link, "CONFIG SET maxmemory %s", scripts->maxmemory);
}

static void clock_was_set(scripts_form *scripts, form_result *result) {
    for (size_t i = scripts->maxmemory ? 3 : 1; i > 0; i--) {
        reply done = {0};
        script_link_read(scripts->link, &done);
        if (!reply_is(&done, "OK"))
            form_fault(result, test_print("cannot set the clock: %s", done.text));
        reply_clear(&done);
    }
}

/* SPEC 11.5: whether its arguments can be passed as one, and that one, to be freed. */
static char *join_arguments(const form_call *call, size_t *length) {
    test_text joined = {0};
    if (strcmp(call->op, "acquire") != 0 || call->argument_count == 0)
        return NULL;
    for (size_t i = 0; i < call->argument_count; i++) {
        lkc_text argument = call->arguments[i];
        if (argument.length && memchr(argument.bytes, 0, argument.length)) {
            free(joined.bytes);
            return NULL;
        }
        test_text_add(&joined, "", i > 0);
        test_text_add(&joined, argument.length ? argument.bytes : "", argument.length);
    }
    *length = joined.length;
    return joined.bytes ? joined.bytes : test_copy("", 0);
}

static void append_call(scripts_form *scripts, const form_call *call, const char *command,
                        const char *script) {
    size_t keys = call->keys ? call->key_count : call->name_count * KEYS_OF_LOCK;
    size_t joined_length = 0;
    char *joined = join_arguments(call, &joined_length);
    size_t count = 3 + keys + (joined ? 1 : call->argument_count);
    lkc_text *words = test_alloc(count, sizeof *words);
    char **made = test_alloc(keys, sizeof *made);
    char *number = test_print("%zu", keys);
    words[0] = (lkc_text){command, strlen(command)};
    words[1] = (lkc_text){script, strlen(script)};
    words[2] = (lkc_text){number, strlen(number)};
    for (size_t i = 0; i < keys; i++) {
        if (call->keys) {
            words[3 + i] = call->keys[i];
        } else {
            size_t length;
            made[i] = make_key(call->names[i / KEYS_OF_LOCK], suffixes[i % KEYS_OF_LOCK], &length);
            words[3 + i] = (lkc_text){made[i], length};
        }
    }
    for (size_t i = 0; i < call->argument_count && !joined; i++)
        words[3 + keys + i] = call->arguments[i];
    if (joined)
        words[3 + keys] = (lkc_text){joined, joined_length};
    script_link_append_words(scripts->link, words, count);
    free(joined);
    for (size_t i = 0; i < keys; i++)
        free(made[i]);
    free(made);
    free(number);
    free(words);
}

static const lki_script *find_script(const char *op) {
    for (size_t i = 0; i < sizeof lki_test_scripts / sizeof *lki_test_scripts; i++)
        if (strcmp(lki_test_scripts[i].name, op) == 0)
            return &lki_test_scripts[i];
    return NULL;
}

static bool is_unknown_script(const reply *answer) {
    return answer->type == REPLY_ERROR && strncmp(answer->text, "NOSCRIPT", 8) == 0;
}

static void scripts_run(lock_form *form, uint64_t now_us, const form_call *call,
                        form_result *result) {
    scripts_form *scripts = (scripts_form *)form;
    const lki_script *script = find_script(call->op);
    if (!script) {
        form_fault(result, test_print("there is no operation %s", call->op));
        return;
    }
    set_clock(scripts, now_us);
    append_call(scripts, call, "EVALSHA", script->sha1);
    append_look(scripts);
    script_link_append_sync(scripts->link);

    reply look = {0};
    clock_was_set(scripts, result);
    script_link_read_answer(scripts->link, &result->answer);
    script_link_read(scripts->link, &look);
    script_link_read_sync(scripts->link, result);
    if (is_unknown_script(&result->answer)) {
        append_call(scripts, call, "EVAL", script->text);
        append_look(scripts);
        script_link_append_sync(scripts->link);
        reply_clear(&result->answer);
        reply_clear(&look);
        script_link_read_answer(scripts->link, &result->answer);
        script_link_read(scripts->link, &look);
        script_link_read_sync(scripts->link, result);
    }
    note_keys(scripts, result, now_us, &look);
    reply_clear(&look);
}

/* Around the operations. */

static char *text_of(reply *answer) {
    test_text text = {0};
    reply_print(&text, answer);
    reply_clear(answer);
    return text.bytes;
}

static char *scripts_configure(lock_form *form, const char *option, const char *value) {
    scripts_form *scripts = (scripts_form *)form;
    reply before = {0}, done = {0};
    script_link_append(scripts->link, "CONFIG GET %s", option);
    script_link_append(scripts->link, "CONFIG SET %s %s", option, value);
    script_link_read(scripts->link, &before);
    script_link_read(scripts->link, &done);
    if (before.count != 2 || !reply_is(&done, "OK")) {
        reply_clear(&before);
        return text_of(&done);
    }
    scripts->options = test_grow(scripts->options, scripts->option_count, sizeof *scripts->options);
    scripts->options[scripts->option_count++] = (changed_option){
        .option = test_copy(option, strlen(option)),
        .before = test_copy(before.elements[1].text, before.elements[1].length),
    };
    if (strcmp(option, "maxmemory") == 0) {
        free(scripts->maxmemory);
        scripts->maxmemory = test_copy(value, strlen(value));
    }
    reply_clear(&before);
    reply_clear(&done);
    return NULL;
}

static char *scripts_plant(lock_form *form, lkc_text name, const char *suffix, const char *type) {
    static const struct {
        const char *type, *command;
    } plants[] = {
        {"string", "SET %b value"},   {"hash", "HSET %b field value"}, {"set", "SADD %b member"},
        {"zset", "ZADD %b 1 member"}, {"list", "RPUSH %b element"},    {"none", NULL},
    };
    scripts_form *scripts = (scripts_form *)form;
    size_t plant = 0, length;
    while (plant < sizeof plants / sizeof *plants && strcmp(plants[plant].type, type) != 0)
        plant++;
    if (plant == sizeof plants / sizeof *plants)
        return test_print("cannot plant a %s", type);
    char *tail = test_print("%s%s", *suffix ? ":" : "", suffix);
    char *key = make_key(name, tail, &length);
    free(tail);
    script_link_append(scripts->link, "DEL %b", key, length);
    reply done = {0};
    script_link_read(scripts->link, &done);
    if (plants[plant].command) {
        script_link_append(scripts->link, plants[plant].command, key, length);
        reply_clear(&done);
        script_link_read(scripts->link, &done);
        scripts->planted =
            test_grow(scripts->planted, scripts->planted_count, sizeof *scripts->planted);
        scripts->planted[scripts->planted_count++] = test_copy(key, length);
    }
    free(key);
    if (done.type == REPLY_ERROR)
        return text_of(&done);
    reply_clear(&done);
    return NULL;
}

static void forget_changes(scripts_form *scripts) {
    for (size_t i = scripts->option_count; i-- > 0;) {
        reply done = {0};
        changed_option *changed = &scripts->options[i];
        script_link_append(scripts->link, "CONFIG SET %s %s", changed->option, changed->before);
        script_link_read(scripts->link, &done);
        reply_clear(&done);
        free(changed->option);
        free(changed->before);
    }
    for (size_t i = 0; i < scripts->planted_count; i++)
        free(scripts->planted[i]);
    free(scripts->options);
    free(scripts->planted);
    free(scripts->maxmemory);
    scripts->options = NULL;
    scripts->planted = NULL;
    scripts->maxmemory = NULL;
    scripts->option_count = scripts->planted_count = 0;
}

static void scripts_reset(lock_form *form) {
    scripts_form *scripts = (scripts_form *)form;
    forget_changes(scripts);
    reply done = {0};
    script_link_append(scripts->link, "FLUSHALL");
    script_link_read(scripts->link, &done);
    reply_clear(&done);
}

static void scripts_free(lock_form *form) {
    scripts_form *scripts = (scripts_form *)form;
    forget_changes(scripts);
    script_link_close(scripts->link);
    free(scripts->look_sha1);
    free(scripts);
}

lock_form *form_scripts_new(const test_server *server) {
    static const form_methods methods = {
        .run = scripts_run,
        .look = scripts_look,
        .reset = scripts_reset,
        .configure = scripts_configure,
        .plant = scripts_plant,
        .free = scripts_free,
    };
    script_link *link = script_link_open(test_server_socket(server));
    if (!link)
        return NULL;
    scripts_form *scripts = test_alloc(1, sizeof *scripts);
    scripts->base.methods = &methods;
    scripts->base.name = test_print("scripts on %s", test_server_program(server));
    scripts->link = link;
    reply loaded = {0};
    script_link_append(link, "SCRIPT LOAD %s", look_script);
    script_link_read(link, &loaded);
    scripts->look_sha1 = test_copy(loaded.text, loaded.length);
    reply_clear(&loaded);
    return &scripts->base;
}
