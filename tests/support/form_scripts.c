/*
 * The form of the lock that is protocol/lua in a server, in the test flavour: its scripts read the
 * time from a key that is set before each operation. See form.h.
 */
#include "form_private.h"
#include "lk_scripts_indexed.h"
#include "lk_scripts_test.h"
#include "packed.h"
#include "script_link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "lk";
static const char clock_key[] = "lk-test-clock";
static const char *const suffixes[] = {"", ":i"}; /* SPEC 11.1 */
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
    const lki_script *scripts; /* of one flavour */
    script_link *link;
    char *look_sha1;
    changed_option *options;
    size_t option_count;
    char *maxmemory; /* as configured, or NULL */
    char **planted;
    size_t planted_count;
    bool tampered; /* by scripts_plant: the keys need not fit together */
    reply looked;  /* the last answer of look_script */
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

static bool is_second(const reply *key) {
    return key->length > 2 && memcmp(key->text + key->length - 2, suffixes[1], 2) == 0;
}

/* What is left. */

/* What the answer of look_script has for each key. */
enum { LOOK_KEY, LOOK_EXPIRES_MS, LOOK_FIELDS };

static bool is_alive(const reply *looked, uint64_t now_us) {
    return (uint64_t)looked[LOOK_EXPIRES_MS].integer * 1000 > now_us;
}

/* The first key of the lock that has this second key; NULL: there is none. */
static const reply *first_of(const reply *look, const reply *second) {
    for (size_t i = 0; i + LOOK_FIELDS <= look->count; i += LOOK_FIELDS) {
        const reply *key = &look->elements[i + LOOK_KEY];
        if (key->length + 2 == second->length && memcmp(key->text, second->text, key->length) == 0)
            return key;
    }
    return NULL;
}

/* SPEC 11.2: the second key never outlives the first one. */
static void check_second(form_result *result, const reply *first, const reply *second) {
    if (!first || second[LOOK_EXPIRES_MS].integer > first[LOOK_EXPIRES_MS].integer)
        form_fault(result, test_print("the key %s outlives the first key of its lock",
                                      second[LOOK_KEY].text));
}

static form_rest *find_rest(const form_result *result, lkc_text name) {
    for (size_t i = 0; i < result->rest_count; i++)
        if (result->rests[i].length == name.length &&
            memcmp(result->rests[i].name, name.bytes, name.length) == 0)
            return &result->rests[i];
    return NULL;
}

/* The first keys come before the second ones. */
static void note_key(const scripts_form *scripts, form_result *result, uint64_t now_us,
                     const reply *look, const reply *looked) {
    const reply *key = &looked[LOOK_KEY];
    lkc_text name;
    if (!name_of_key(key->text, key->length, &name)) {
        form_fault(result, test_print("a key that is no lock's: %s", key->text));
        return;
    }
    if (looked[LOOK_EXPIRES_MS].integer < 0) {
        form_fault(result, test_print("the key %s never expires", key->text));
        return;
    }
    if (!is_alive(looked, now_us))
        return;
    if (!is_second(key)) {
        form_rest_add(result, name, (uint64_t)looked[LOOK_EXPIRES_MS].integer);
        return;
    }
    form_rest *rest = find_rest(result, name);
    if (rest)
        rest->key_count++;
    else
        form_rest_add(result, name, (uint64_t)looked[LOOK_EXPIRES_MS].integer);
    if (!scripts->tampered)
        check_second(result, first_of(look, key), looked);
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
    for (int second = 0; second <= 1; second++) {
        for (size_t i = 0; i + LOOK_FIELDS <= look->count; i += LOOK_FIELDS) {
            const reply *key = &look->elements[i + LOOK_KEY];
            if (is_second(key) == second && !reply_is(key, clock_key) && !is_planted(scripts, key))
                note_key(scripts, result, now_us, look, key);
        }
    }
}

static bool is_change_of(const script_change *change, const char *key, size_t length) {
    return change->length == length && memcmp(change->key, key, length) == 0;
}

/* The test flavour deletes a key that would have expired by its clock: clock_test.lua. */
static bool is_of_clock(const scripts_form *scripts, uint64_t now_us, const script_change *change) {
    const reply *look = &scripts->looked;
    for (size_t i = 0; i + LOOK_FIELDS <= look->count; i += LOOK_FIELDS) {
        const reply *looked = &look->elements[i];
        if (is_change_of(change, looked[LOOK_KEY].text, looked[LOOK_KEY].length))
            return !is_alive(looked, now_us);
    }
    return false;
}

/*
 * SPEC 11.7: no script writes a key again that it has deleted or emptied. The clock may have
 * deleted a key before the script's own first change of it.
 */
static void check_changes(const scripts_form *scripts, uint64_t now_us, form_result *result) {
    size_t count;
    const script_change *changes = script_link_changes(scripts->link, &count);
    for (size_t i = 0; i < count; i++) {
        bool clock_may = true, gone = false;
        for (size_t j = 0; j < i; j++) {
            if (!is_change_of(&changes[i], changes[j].key, changes[j].length))
                continue;
            gone = changes[j].gone && !(clock_may && is_of_clock(scripts, now_us, &changes[j]));
            clock_may = false;
            if (gone)
                break;
        }
        if (gone && !changes[i].gone)
            form_fault(result, test_print("a script wrote the key %s again that it had deleted",
                                          changes[i].key));
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

/*
 * Packs the arguments, for renew those of each entry by themselves. If their number is wrong, they
 * go out as they are.
 */
static size_t pack_arguments(const form_call *call, lkc_text **out) {
    size_t each = packed_count(call->op), entries = 1;
    if (strcmp(call->op, "renew") == 0)
        entries = call->keys ? call->argument_count / each : call->name_count;
    bool right = call->argument_count == each * entries;
    size_t count = right ? entries : call->argument_count;
    *out = test_alloc(count, sizeof **out);
    for (size_t i = 0; i < count; i++) {
        const lkc_text *raw = &call->arguments[i];
        const char *bytes = raw->length ? raw->bytes : "";
        if (right)
            (*out)[i] = packed_arguments(call->op, &call->arguments[i * each]);
        else
            (*out)[i] = (lkc_text){test_copy(bytes, raw->length), raw->length};
    }
    return count;
}

static void append_call(scripts_form *scripts, const form_call *call, size_t keys_of_lock,
                        const char *command, const char *script) {
    size_t keys = call->keys ? call->key_count : call->name_count * keys_of_lock;
    lkc_text *arguments;
    size_t argument_count = pack_arguments(call, &arguments);
    size_t count = 3 + keys + argument_count;
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
            made[i] = make_key(call->names[i / keys_of_lock], suffixes[i % keys_of_lock], &length);
            words[3 + i] = (lkc_text){made[i], length};
        }
    }
    for (size_t i = 0; i < argument_count; i++)
        words[3 + keys + i] = arguments[i];
    script_link_append_words(scripts->link, words, count);
    for (size_t i = 0; i < argument_count; i++)
        free((char *)arguments[i].bytes);
    free(arguments);
    for (size_t i = 0; i < keys; i++)
        free(made[i]);
    free(made);
    free(number);
    free(words);
}

static const lki_script *find_script(const scripts_form *form, const char *op) {
    for (size_t i = 0; i < sizeof lki_test_scripts / sizeof *lki_test_scripts; i++)
        if (strcmp(form->scripts[i].name, op) == 0)
            return &form->scripts[i];
    return NULL;
}

static bool is_error(const reply *answer, const char *code) {
    return answer->type == REPLY_ERROR && strncmp(answer->text, code, strlen(code)) == 0;
}

static void run_once(scripts_form *scripts, uint64_t now_us, const form_call *call,
                     size_t keys_of_lock, const char *command, const char *script,
                     form_result *result) {
    reply look = {0};
    reply_clear(&result->answer);
    append_call(scripts, call, keys_of_lock, command, script);
    append_look(scripts);
    script_link_append_sync(scripts->link);
    script_link_read_answer(scripts->link, &result->answer);
    script_link_read(scripts->link, &look);
    script_link_read_sync(scripts->link, result);
    check_changes(scripts, now_us, result);
    reply_clear(&scripts->looked);
    scripts->looked = look;
}

/*
 * Passes the first key alone, and both when the script asks for it (SPEC 11.1). It may ask once
 * more if the second key is left from a lock that is gone. The entries of a renewal would have to
 * be asked again one by one, so they always have both.
 */
static void scripts_run(lock_form *form, uint64_t now_us, const form_call *call,
                        form_result *result) {
    scripts_form *scripts = (scripts_form *)form;
    const lki_script *script = find_script(scripts, call->op);
    if (!script) {
        form_fault(result, test_print("there is no operation %s", call->op));
        return;
    }
    size_t keys_of_lock = strcmp(call->op, "renew") == 0 ? KEYS_OF_LOCK : 1;
    set_clock(scripts, now_us);
    clock_was_set(scripts, result);
    run_once(scripts, now_us, call, keys_of_lock, "EVALSHA", script->sha1, result);
    if (is_error(&result->answer, "NOSCRIPT "))
        run_once(scripts, now_us, call, keys_of_lock, "EVAL", script->text, result);
    for (int again = 0; again < 2 && is_error(&result->answer, "LKKEYS ") && !call->keys; again++) {
        if (again > 0 && !scripts->tampered)
            form_fault(result, test_print("a second key was left from a lock that is gone"));
        run_once(scripts, now_us, call, KEYS_OF_LOCK, "EVALSHA", script->sha1, result);
    }
    note_keys(scripts, result, now_us, &scripts->looked);
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

/* What the test does to the keys is not a change of a script. */
static void skip_changes(scripts_form *scripts) {
    form_result nothing = {0};
    script_link_append_sync(scripts->link);
    script_link_read_sync(scripts->link, &nothing);
    form_result_clear(&nothing);
}

static char *scripts_plant(lock_form *form, lkc_text name, const char *suffix, const char *type) {
    static const struct {
        const char *type, *command, *words[2];
    } plants[] = {
        {"string", "SET", {"value"}},
        {"hash", "HSET", {"field", "value"}},
        {"set", "SADD", {"member"}},
        {"zset", "ZADD", {"1", "member"}},
        {"list", "RPUSH", {"element"}},
        {"earlier-string", "SET", {"aw00 2500000000000000 2500000030000000 2500000000000000 0"}},
        {"earlier-hash", "HSET", {"fence", "2500000000000000"}},
        {"other-version", "SET", {"lk9 and more"}},
        {"none", NULL, {0}},
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
    scripts->tampered = true;
    if (plants[plant].command) {
        const char *const *words = plants[plant].words;
        lkc_text command[] = {
            {plants[plant].command, strlen(plants[plant].command)},
            {key, length},
            {words[0], strlen(words[0])},
            {words[1], words[1] ? strlen(words[1]) : 0},
        };
        script_link_append_words(scripts->link, command, words[1] ? 4 : 3);
        reply_clear(&done);
        script_link_read(scripts->link, &done);
        scripts->planted =
            test_grow(scripts->planted, scripts->planted_count, sizeof *scripts->planted);
        scripts->planted[scripts->planted_count++] = test_copy(key, length);
    }
    free(key);
    skip_changes(scripts);
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
    scripts->tampered = false;
}

static void scripts_reset(lock_form *form) {
    scripts_form *scripts = (scripts_form *)form;
    forget_changes(scripts);
    reply done = {0};
    script_link_append(scripts->link, "FLUSHALL");
    script_link_read(scripts->link, &done);
    reply_clear(&done);
    reply_clear(&scripts->looked);
}

static void scripts_free(lock_form *form) {
    scripts_form *scripts = (scripts_form *)form;
    forget_changes(scripts);
    script_link_close(scripts->link);
    reply_clear(&scripts->looked);
    free(scripts->look_sha1);
    free(scripts);
}

lock_form *form_scripts_new(const test_server *server, bool indexed) {
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
    scripts->base.indexed = indexed;
    scripts->base.name =
        test_print("%sscripts on %s", indexed ? "indexed " : "", test_server_program(server));
    scripts->scripts = indexed ? lki_indexed_scripts : lki_test_scripts;
    scripts->link = link;
    reply loaded = {0};
    script_link_append(link, "SCRIPT LOAD %s", look_script);
    script_link_read(link, &loaded);
    scripts->look_sha1 = test_copy(loaded.text, loaded.length);
    reply_clear(&loaded);
    return &scripts->base;
}
