/* See command.h. */
#include "engine/command.h"

#include "lk_scripts.h"
#include "net/resp.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof lki_scripts / sizeof *lki_scripts == LKI_SCRIPTS, "a script each");

enum { KEYS = 4, KEY_MOST = LKI_PREFIX_MOST + LKI_NAME_MOST + 8 };

const char *lki_policy_text(lk_policy policy) {
    static const char *const texts[] = {
        [LK_FAIR] = "fair",
        [LK_PHASE_FAIR] = "phase-fair",
        [LK_PREFER_WRITER] = "prefer-writer",
        [LK_PREFER_READER] = "prefer-reader",
    };
    return texts[policy];
}

static const char *mode_text(lk_mode mode) {
    return mode == LK_WRITE ? "write" : "read";
}

/* SPEC 11.1: a percent sign keeps a name's first brace out of the hash tag's end. */
static bool is_escaped(const char *name) {
    return *name == '}' || *name == '%';
}

static size_t copy_to(char *out, const char *text) {
    size_t length = strlen(text);
    memcpy(out, text, length);
    return length;
}

static void add_keys(lki_bytes *out, lki_place place) {
    static const char suffixes[KEYS] = {0, 'd', 'r', 'w'};
    char key[KEY_MOST];
    size_t length = copy_to(key, place.prefix);
    length += copy_to(key + length, is_escaped(place.name) ? ":{%" : ":{");
    length += copy_to(key + length, place.name);
    key[length++] = '}';
    key[length] = ':';
    for (size_t i = 0; i < KEYS; i++) {
        key[length + 1] = suffixes[i];
        lki_resp_word(out, key, length + (suffixes[i] ? 2 : 0));
    }
}

/* The head of a command: EVALSHA sha keys, or EVAL text keys. */
static void add_head(lki_bytes *out, lki_script_id id, bool text, size_t locks, size_t arguments) {
    const lki_script *script = &lki_scripts[id];
    lki_resp_command(out, 3 + locks * KEYS + arguments);
    if (text) {
        lki_resp_text(out, "EVAL");
        lki_resp_word(out, script->text, script->length);
    } else {
        lki_resp_text(out, "EVALSHA");
        lki_resp_text(out, script->sha1);
    }
    lki_resp_number(out, locks * KEYS);
}

static void begin(lki_bytes *out, lki_script_id id, bool text, lki_place place, size_t arguments) {
    add_head(out, id, text, 1, arguments);
    add_keys(out, place);
}

void lki_command_acquire(lki_bytes *out, lki_place place, bool text,
                         const lki_acquire_words *words) {
    char req[LKI_DIGITS_ROOM], fence[LKI_DIGITS_ROOM], lease[LKI_DIGITS_ROOM],
        floor[LKI_DIGITS_ROOM];
    const char *const arguments[] = {
        words->handle,
        lki_print_number(req, words->req),
        lki_print_number(fence, words->fence),
        mode_text(words->mode),
        words->wait ? "1" : "0",
        lki_print_number(lease, (uint64_t)words->lease_ms),
        lki_policy_text(words->policy),
        lki_print_number(floor, words->floor),
        words->owner,
        words->group,
        words->who,
    };
    begin(out, LKI_SCRIPT_ACQUIRE, text, place, 1);
    lki_resp_joined(out, arguments, sizeof arguments / sizeof *arguments); /* SPEC 11.5 */
}

void lki_command_release(lki_bytes *out, lki_place place, bool text, const char *handle,
                         uint64_t req, uint64_t fence, lk_mode mode) {
    begin(out, LKI_SCRIPT_RELEASE, text, place, 4);
    lki_resp_text(out, handle);
    lki_resp_number(out, req);
    lki_resp_number(out, fence);
    lki_resp_text(out, mode_text(mode));
}

void lki_command_convert(lki_bytes *out, lki_place place, bool text, const char *handle,
                         uint64_t req, uint64_t fence) {
    begin(out, LKI_SCRIPT_CONVERT, text, place, 3);
    lki_resp_text(out, handle);
    lki_resp_number(out, req);
    lki_resp_number(out, fence);
}

void lki_command_cancel(lki_bytes *out, lki_place place, bool text, const char *handle,
                        uint64_t req, uint64_t target) {
    begin(out, LKI_SCRIPT_CANCEL, text, place, 3);
    lki_resp_text(out, handle);
    lki_resp_number(out, req);
    lki_resp_number(out, target);
}

void lki_command_renew(lki_bytes *out, bool text, const lki_renew_words *entries, size_t count) {
    assert(count >= 1 && count <= LKI_RENEW_MOST);
    add_head(out, LKI_SCRIPT_RENEW, text, count, 4 * count);
    for (size_t i = 0; i < count; i++)
        add_keys(out, entries[i].place);
    for (size_t i = 0; i < count; i++) {
        lki_resp_text(out, entries[i].handle);
        lki_resp_number(out, entries[i].fence);
        lki_resp_number(out, entries[i].req);
        lki_resp_number(out, (uint64_t)entries[i].lease_ms);
    }
}

void lki_command_inspect(lki_bytes *out, lki_place place, bool text, uint64_t limit) {
    begin(out, LKI_SCRIPT_INSPECT, text, place, 1);
    lki_resp_number(out, limit);
}

void lki_command_force(lki_bytes *out, lki_place place, bool text, const char *owner) {
    begin(out, LKI_SCRIPT_FORCE, text, place, 1);
    lki_resp_text(out, owner);
}

static size_t add_literally(char *out, const char *text, size_t length) {
    size_t made = 0;
    for (size_t i = 0; i < length; i++) {
        if (strchr("*?[]\\", text[i]))
            out[made++] = '\\';
        out[made++] = text[i];
    }
    return made;
}

void lki_command_scan(lki_bytes *out, const char *prefix, const char *cursor, const char *start,
                      size_t start_length) {
    char pattern[2 * KEY_MOST];
    size_t length = add_literally(pattern, prefix, strlen(prefix));
    length += copy_to(pattern + length, ":{");
    /* Names that are escaped would not be found by a start that is not; so no start then. */
    if (start_length && !is_escaped(start))
        length += add_literally(pattern + length, start, start_length);
    length += copy_to(pattern + length, "*}");
    lki_resp_command(out, 6);
    lki_resp_text(out, "SCAN");
    lki_resp_text(out, cursor);
    lki_resp_text(out, "MATCH");
    lki_resp_word(out, pattern, length);
    lki_resp_text(out, "COUNT");
    lki_resp_text(out, "500");
}

const char *lki_key_name(const char *prefix, const char *key, size_t key_length, size_t *length) {
    size_t head = strlen(prefix);
    if (key_length < head + 4 || memcmp(key, prefix, head) != 0 ||
        memcmp(key + head, ":{", 2) != 0 || key[key_length - 1] != '}')
        return NULL;
    const char *name = key + head + 2;
    size_t name_length = key_length - head - 3;
    if (*name == '%') {
        name++;
        name_length--;
        if (!name_length || !is_escaped(name))
            return NULL;
    } else if (is_escaped(name)) {
        return NULL;
    }
    if (name_length > LKI_NAME_MOST || memchr(name, 0, name_length))
        return NULL;
    *length = name_length;
    return name;
}
