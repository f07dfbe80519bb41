/* See form.h. */
#include "engine/form.h"

#include "lk_scripts.h"
#include "net/fault.h"
#include "net/resp.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof lki_scripts / sizeof *lki_scripts == LKI_SCRIPTS, "one script for each id");

/* ------------------------------------------------------------------------------ commands */

enum { KEYS = 4 }; /* keys of one lock */

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

static void add_keys(lki_bytes *out, lki_key key) {
    static const char letters[KEYS] = {0, 'd', 'r', 'w'};
    char text[LKI_KEY_MOST];
    for (size_t i = 0; i < KEYS; i++)
        lki_resp_word(out, text, lki_key_print(key, letters[i], text));
}

/* Starts a command: EVALSHA sha1 numkeys, or EVAL text numkeys. The keys and arguments follow. */
static lki_sent add_head(lki_form *form, lki_bytes *out, lki_script_id id, size_t locks,
                         size_t arguments) {
    const lki_script *script = &lki_scripts[id];
    lki_sent sent = {.script = id, .with_text = form->lacks[id]};
    form->lacks[id] = false;
    lki_resp_command(out, 3 + locks * KEYS + arguments);
    if (sent.with_text) {
        lki_resp_text(out, "EVAL");
        lki_resp_word(out, script->text, script->length);
    } else {
        lki_resp_text(out, "EVALSHA");
        lki_resp_text(out, script->sha1);
    }
    lki_resp_number(out, locks * KEYS);
    return sent;
}

static lki_sent begin(lki_form *form, lki_bytes *out, lki_script_id id, lki_key key,
                      size_t arguments) {
    lki_sent sent = add_head(form, out, id, 1, arguments);
    add_keys(out, key);
    return sent;
}

lki_sent lki_form_acquire(lki_form *form, lki_bytes *out, lki_key key,
                          const lki_acquire_arguments *given) {
    char req[LKI_DIGITS_ROOM], fence[LKI_DIGITS_ROOM], lease[LKI_DIGITS_ROOM],
        floor[LKI_DIGITS_ROOM];
    const char *const arguments[] = {
        given->handle,
        lki_print_number(req, given->req),
        lki_print_number(fence, given->fence),
        mode_text(given->mode),
        given->wait ? "1" : "0",
        lki_print_number(lease, (uint64_t)given->lease_ms),
        lki_policy_text(given->policy),
        lki_print_number(floor, given->floor),
        given->owner,
        given->group,
        given->who,
    };
    lki_sent sent = begin(form, out, LKI_SCRIPT_ACQUIRE, key, 1);
    lki_resp_joined(out, arguments, sizeof arguments / sizeof *arguments); /* SPEC 11.5 */
    return sent;
}

lki_sent lki_form_release(lki_form *form, lki_bytes *out, lki_key key, const char *handle,
                          uint64_t req, uint64_t fence, lk_mode mode) {
    lki_sent sent = begin(form, out, LKI_SCRIPT_RELEASE, key, 4);
    lki_resp_text(out, handle);
    lki_resp_number(out, req);
    lki_resp_number(out, fence);
    lki_resp_text(out, mode_text(mode));
    return sent;
}

lki_sent lki_form_convert(lki_form *form, lki_bytes *out, lki_key key, const char *handle,
                          uint64_t req, uint64_t fence) {
    lki_sent sent = begin(form, out, LKI_SCRIPT_CONVERT, key, 3);
    lki_resp_text(out, handle);
    lki_resp_number(out, req);
    lki_resp_number(out, fence);
    return sent;
}

lki_sent lki_form_cancel(lki_form *form, lki_bytes *out, lki_key key, const char *handle,
                         uint64_t req, uint64_t target) {
    lki_sent sent = begin(form, out, LKI_SCRIPT_CANCEL, key, 3);
    lki_resp_text(out, handle);
    lki_resp_number(out, req);
    lki_resp_number(out, target);
    return sent;
}

lki_sent lki_form_renew(lki_form *form, lki_bytes *out, const lki_renew_entry *entries,
                        size_t count) {
    assert(count >= 1 && count <= LKI_RENEW_MOST);
    lki_sent sent = add_head(form, out, LKI_SCRIPT_RENEW, count, 4 * count);
    for (size_t i = 0; i < count; i++)
        add_keys(out, entries[i].key);
    for (size_t i = 0; i < count; i++) {
        lki_resp_text(out, entries[i].handle);
        lki_resp_number(out, entries[i].fence);
        lki_resp_number(out, entries[i].req);
        lki_resp_number(out, (uint64_t)entries[i].lease_ms);
    }
    return sent;
}

lki_sent lki_form_inspect(lki_form *form, lki_bytes *out, lki_key key, uint64_t limit) {
    lki_sent sent = begin(form, out, LKI_SCRIPT_INSPECT, key, 1);
    lki_resp_number(out, limit);
    return sent;
}

lki_sent lki_form_force(lki_form *form, lki_bytes *out, lki_key key, const char *owner) {
    lki_sent sent = begin(form, out, LKI_SCRIPT_FORCE, key, 1);
    lki_resp_text(out, owner);
    return sent;
}

/* ------------------------------------------------------------------------------ error replies */

/* Errors of the scripts. Errors of the server are in net/fault.c. */
static const struct {
    const char *start;
    lki_refusal refusal;
} refusals[] = {
    {"LKTYPE",
     {LKI_REFUSED_FINAL, LK_INVALID,
      "a key of this name belongs to another program; choose another name or prefix"}},
    {"LKDEPTH",
     {LKI_REFUSED_TOO_DEEP, LK_INVALID, "the handle has too many nested holds; unlock some"}},
    {"LKARG floor:",
     {LKI_REFUSED_FINAL, LK_UNAVAILABLE,
      "the clock of the server went back by more than a day; set it right"}},
};

static bool begins_with(const char *text, const char *start) {
    size_t length = strlen(start);
    return strncmp(text, start, length) == 0 && (text[length] == ' ' || !text[length]);
}

lki_refusal lki_refusal_read(const char *error) {
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (begins_with(error, refusals[i].start))
            return refusals[i].refusal;
    lki_fault fault = lki_fault_read(error);
    return (lki_refusal){fault.is_passing ? LKI_REFUSED_LATER : LKI_REFUSED_FINAL, fault.status,
                         fault.advice};
}

/* NOSCRIPT although the text was sent: try again, but later, to avoid a busy loop. */
lki_refusal lki_form_refused(lki_form *form, lki_sent sent, const char *error_reply) {
    if (sent.script == LKI_SCRIPTS || !begins_with(error_reply, "NOSCRIPT"))
        return lki_refusal_read(error_reply);
    form->lacks[sent.script] = true;
    return (lki_refusal){sent.with_text ? LKI_REFUSED_LATER : LKI_REFUSED_RESEND, LK_INTERNAL,
                         "the server lacks a script"};
}
