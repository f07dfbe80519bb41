/* See form.h. */
#include "engine/form.h"

#include "engine/pack.h"
#include "lk_scripts.h"
#include "net/fault.h"
#include "net/resp.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof lki_scripts / sizeof *lki_scripts == LKI_SCRIPTS, "one script for each id");

/* ------------------------------------------------------------------------------ commands */

/* What lki_pack_code() writes for a policy and a mode is the value of its enum (SPEC 11.5). */
static_assert(LK_READ == 0 && LK_WRITE == 1, "the codes of modes");
static_assert(LK_FAIR == 0 && LK_PHASE_FAIR == 1 && LK_PREFER_WRITER == 2 && LK_PREFER_READER == 3,
              "the codes of policies");

enum { NUMBER_SIZE = 8, ACQUIRE_NUMBERS = 5, ACQUIRE_CODES = 2, ACQUIRE_TEXTS = 4 };
static_assert(LKI_HANDLE_LENGTH + LKI_OWNER_MOST + LKI_GROUP_MOST + LKI_WHO_MOST + ACQUIRE_TEXTS +
                      ACQUIRE_NUMBERS * NUMBER_SIZE + ACQUIRE_CODES <=
                  LKI_PACK_MOST,
              "room for the arguments of acquire");

const char *lki_policy_text(lk_policy policy) {
    static const char *const texts[] = {
        [LK_FAIR] = "fair",
        [LK_PHASE_FAIR] = "phase-fair",
        [LK_PREFER_WRITER] = "prefer-writer",
        [LK_PREFER_READER] = "prefer-reader",
    };
    return texts[policy];
}

static size_t key_count(lki_key key) {
    return key.is_wide ? 2 : 1;
}

static void add_keys(lki_bytes *out, lki_key key) {
    char text[LKI_KEY_MOST];
    lki_resp_word(out, text, lki_key_print(key, text));
    if (key.is_wide)
        lki_resp_word(out, text, lki_key_print_index(key, text));
}

static void add_arguments(lki_bytes *out, const lki_pack *pack) {
    lki_resp_word(out, pack->bytes, pack->length);
}

/* Starts a command: EVALSHA sha1 numkeys, or EVAL text numkeys. The keys and arguments follow. */
static lki_sent add_head(lki_form *form, lki_bytes *out, lki_script_id id, size_t keys,
                         size_t arguments) {
    const lki_script *script = &lki_scripts[id];
    lki_sent sent = {.script = id, .with_text = form->lacks[id], .keys = keys};
    form->lacks[id] = false;
    lki_resp_command(out, 3 + keys + arguments);
    if (sent.with_text) {
        lki_resp_text(out, "EVAL");
        lki_resp_word(out, script->text, script->length);
    } else {
        lki_resp_text(out, "EVALSHA");
        lki_resp_text(out, script->sha1);
    }
    lki_resp_number(out, keys);
    return sent;
}

/* Writes the whole command of an operation on one lock. */
static lki_sent add_command(lki_form *form, lki_bytes *out, lki_script_id id, lki_key key,
                            const lki_pack *arguments) {
    lki_sent sent = add_head(form, out, id, key_count(key), 1);
    sent.is_wide = key.is_wide;
    add_keys(out, key);
    add_arguments(out, arguments);
    return sent;
}

lki_sent lki_form_acquire(lki_form *form, lki_bytes *out, lki_key key,
                          const lki_acquire_arguments *given) {
    lki_pack pack;
    pack.length = 0;
    lki_pack_text(&pack, given->handle);
    lki_pack_number(&pack, given->req);
    lki_pack_number(&pack, given->fence);
    lki_pack_code(&pack, given->mode);
    lki_pack_number(&pack, given->wait);
    lki_pack_number(&pack, (uint64_t)given->lease_ms);
    lki_pack_code(&pack, given->policy);
    lki_pack_number(&pack, given->floor);
    lki_pack_text(&pack, given->owner);
    lki_pack_text(&pack, given->group);
    lki_pack_text(&pack, given->who);
    return add_command(form, out, LKI_SCRIPT_ACQUIRE, key, &pack);
}

lki_sent lki_form_release(lki_form *form, lki_bytes *out, lki_key key,
                          const lki_release_arguments *given) {
    lki_pack pack;
    pack.length = 0;
    lki_pack_text(&pack, given->handle);
    lki_pack_number(&pack, given->req);
    lki_pack_number(&pack, given->fence);
    lki_pack_code(&pack, given->mode);
    lki_pack_number(&pack, given->told);
    return add_command(form, out, LKI_SCRIPT_RELEASE, key, &pack);
}

lki_sent lki_form_convert(lki_form *form, lki_bytes *out, lki_key key, const char *handle,
                          uint64_t req, uint64_t fence) {
    lki_pack pack;
    pack.length = 0;
    lki_pack_text(&pack, handle);
    lki_pack_number(&pack, req);
    lki_pack_number(&pack, fence);
    return add_command(form, out, LKI_SCRIPT_CONVERT, key, &pack);
}

lki_sent lki_form_cancel(lki_form *form, lki_bytes *out, lki_key key, const char *handle,
                         uint64_t req, uint64_t target) {
    lki_pack pack;
    pack.length = 0;
    lki_pack_text(&pack, handle);
    lki_pack_number(&pack, req);
    lki_pack_number(&pack, target);
    return add_command(form, out, LKI_SCRIPT_CANCEL, key, &pack);
}

lki_sent lki_form_renew(lki_form *form, lki_bytes *out, const lki_renew_entry *entries,
                        size_t count) {
    assert(count >= 1 && count <= LKI_RENEW_MOST);
    size_t keys = 0;
    for (size_t i = 0; i < count; i++)
        keys += key_count(entries[i].key);
    lki_sent sent = add_head(form, out, LKI_SCRIPT_RENEW, keys, count);
    sent.is_wide = keys == 2 * count;
    for (size_t i = 0; i < count; i++)
        add_keys(out, entries[i].key);
    for (size_t i = 0; i < count; i++) {
        lki_pack pack;
        pack.length = 0;
        lki_pack_text(&pack, entries[i].handle);
        lki_pack_number(&pack, entries[i].fence);
        lki_pack_number(&pack, entries[i].req);
        lki_pack_number(&pack, (uint64_t)entries[i].lease_ms);
        add_arguments(out, &pack);
    }
    return sent;
}

lki_sent lki_form_inspect(lki_form *form, lki_bytes *out, lki_key key, uint64_t limit) {
    lki_pack pack;
    pack.length = 0;
    lki_pack_number(&pack, limit);
    return add_command(form, out, LKI_SCRIPT_INSPECT, key, &pack);
}

lki_sent lki_form_force(lki_form *form, lki_bytes *out, lki_key key, const char *owner) {
    lki_pack pack;
    pack.length = 0;
    lki_pack_text(&pack, owner);
    return add_command(form, out, LKI_SCRIPT_FORCE, key, &pack);
}

/* ------------------------------------------------------------------------------ error replies */

/* Errors of the scripts. Errors of the server are in net/fault.c. */
static const struct {
    const char *start;
    lki_refusal refusal;
} refusals[] = {
    {"LKTYPE",
     {LKI_REFUSED_FINAL, LK_INVALID,
      "a key of this name belongs to another program; choose another name or prefix", false,
      false}},
    {"LKVERSION",
     {LKI_REFUSED_FINAL, LK_INVALID,
      "programs that share a prefix must use versions of latchkey with the same format of locks",
      false, false}},
    {"LKDEPTH",
     {LKI_REFUSED_TOO_DEEP, LK_INVALID, "the handle has too many nested holds; unlock some", false,
      false}},
    {"LKARG floor:",
     {LKI_REFUSED_FINAL, LK_UNAVAILABLE,
      "the clock of the server went back by more than a day; set it right", false, false}},
    {"LKKEYS", {LKI_REFUSED_RESEND, LK_INTERNAL, "the lock needs both of its keys", true, false}},
};

static bool begins_with(const char *text, const char *start) {
    size_t length = strlen(start);
    return strncmp(text, start, length) == 0 && (text[length] == ' ' || !text[length]);
}

static lki_refusal look_up(const char *error) {
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (begins_with(error, refusals[i].start))
            return refusals[i].refusal;
    lki_fault fault = lki_fault_read(error);
    return (lki_refusal){fault.is_passing ? LKI_REFUSED_LATER : LKI_REFUSED_FINAL, fault.status,
                         fault.advice, false, false};
}

/*
 * LKKEYS although both keys were passed: the server has just removed the index of a lock that is
 * gone. Try again, but later, to avoid a busy loop.
 */
lki_refusal lki_refusal_read(const char *error, bool was_wide) {
    lki_refusal refusal = look_up(error);
    if (refusal.needs_both_keys && was_wide)
        refusal.kind = LKI_REFUSED_LATER;
    return refusal;
}

/* NOSCRIPT although the text was sent: try again, but later, to avoid a busy loop. */
lki_refusal lki_form_refused(lki_form *form, lki_sent sent, const char *error_reply) {
    if (sent.script == LKI_SCRIPTS || !begins_with(error_reply, "NOSCRIPT"))
        return lki_refusal_read(error_reply, sent.is_wide);
    form->lacks[sent.script] = true;
    return (lki_refusal){sent.with_text ? LKI_REFUSED_LATER : LKI_REFUSED_RESEND, LK_INTERNAL,
                         "the server lacks a script", false, false};
}
