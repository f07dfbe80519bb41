/* lk_inspect, lk_list, lk_force_release. */
#include "api/enter.h"
#include "base/memory.h"
#include "engine/answer.h"
#include "engine/inspect.h"
#include "session/call.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 1000, WHAT_MOST = LKI_NAME_MOST + 16 };

static lk_status check_name(const char *name) {
    size_t length = name ? strlen(name) : 0;
    if (length >= 1 && length <= LKI_NAME_MOST)
        return LK_OK;
    return name ? lki_fail(LK_INVALID, "the lock's name must be 1 to %d bytes, not %zu",
                           LKI_NAME_MOST, length)
                : lki_fail(LK_INVALID, "the lock's name is NULL");
}

/* Runs a call about one lock; with the monitor held. */
static lk_status run(lk_client *client, lki_call *call, const char *name, lki_error *error) {
    char what[WHAT_MOST];
    snprintf(what, sizeof what, "lock \"%s\"", name);
    call->what = what;
    return lki_call_run(call, lki_session_server(&client->session, name), error);
}

/* ------------------------------------------------------------------------------ inspect */

typedef struct {
    lki_call call;
    lki_place place;
    lk_info *info;
} inspection;

static void encode_inspect(const lki_call *call, lki_bytes *out, bool text) {
    const inspection *self = (const inspection *)call;
    lki_command_inspect(out, self->place, text, ROWS_MOST);
}

static lk_status inspect_answered(lki_call *call, const redisReply *reply, lki_error *error) {
    inspection *self = (inspection *)call;
    return lki_inspect_read(reply, self->place.name, &self->info, error);
}

static lk_status inspect(lk_client *client, const char *name, lk_info **out, lki_error *error) {
    inspection *self = lki_call_new(sizeof *self);
    if (!self)
        return lki_error_no_memory(error);
    self->call.script = LKI_SCRIPT_INSPECT;
    self->call.encode = encode_inspect;
    self->call.answered = inspect_answered;
    self->place = (lki_place){client->session.settings.prefix, name};
    lk_status status = run(client, &self->call, name, error);
    if (status == LK_OK)
        *out = self->info;
    lki_call_free(&self->call);
    return status;
}

lk_status lk_inspect(lk_client *client, const char *name, lk_info **out) {
    lki_error error;
    lk_status status = check_name(name);
    if (status == LK_OK && !out)
        status = lki_fail(LK_INVALID, "out is NULL");
    if (status == LK_OK)
        status = lki_enter(client, LKI_MAY_BLOCK);
    if (status != LK_OK)
        return status;
    status = inspect(client, name, out, &error);
    lki_leave(&client->session);
    return status == LK_OK ? LK_OK : lki_fail_with(&error);
}

void lk_info_free(lk_info *info) {
    lki_free(info);
}

/* ------------------------------------------------------------------------------ force */

typedef struct {
    lki_call call;
    lki_place place;
    const char *owner; /* "": everybody */
} forcing;

static void encode_force(const lki_call *call, lki_bytes *out, bool text) {
    const forcing *self = (const forcing *)call;
    lki_command_force(out, self->place, text, self->owner);
}

static lk_status force_answered(lki_call *call, const redisReply *reply, lki_error *error) {
    forcing *self = (forcing *)call;
    lki_answer answer = lki_answer_read(reply);
    if (answer.word != LKI_ANSWER_FORCED)
        return lki_error_set(error, LK_INTERNAL, "the server's answer to force makes no sense");
    if (answer.count)
        return LK_OK;
    return lki_error_set(error, LK_NOT_HELD, "%s%s",
                         *self->owner ? "no hold of owner " : "nobody holds it", self->owner);
}

static lk_status force(lk_client *client, const char *name, const char *owner, lki_error *error) {
    forcing *self = lki_call_new(sizeof *self);
    if (!self)
        return lki_error_no_memory(error);
    self->call.script = LKI_SCRIPT_FORCE;
    self->call.once = true;
    self->call.encode = encode_force;
    self->call.answered = force_answered;
    self->place = (lki_place){client->session.settings.prefix, name};
    self->owner = owner ? owner : "";
    lk_status status = run(client, &self->call, name, error);
    lki_call_free(&self->call);
    return status;
}

lk_status lk_force_release(lk_client *client, const char *name, const char *owner) {
    lki_error error;
    lk_status status = check_name(name);
    if (status == LK_OK && owner && (!*owner || strlen(owner) > LKI_OWNER_MOST))
        status = lki_fail(LK_INVALID, "owner must be 1 to %d bytes, or NULL for everyone",
                          LKI_OWNER_MOST);
    if (status == LK_OK)
        status = lki_enter(client, LKI_MAY_BLOCK);
    if (status != LK_OK)
        return status;
    status = force(client, name, owner, &error);
    lki_leave(&client->session);
    return status == LK_OK ? LK_OK : lki_fail_with(&error);
}

/* ------------------------------------------------------------------------------ list */

typedef struct {
    const char *prefix, *pattern;
    size_t start_length; /* of the pattern that is no pattern */
    char cursor[24];
    char **names;
    size_t count, room;
} listing;

typedef struct {
    lki_call call;
    listing *whole;
} scan_step;

static void encode_scan(const lki_call *call, lki_bytes *out, bool text) {
    const listing *self = ((const scan_step *)call)->whole;
    (void)text;
    lki_command_scan(out, self->prefix, self->cursor, self->pattern, self->start_length);
}

static bool add_name(listing *self, const char *name, size_t length) {
    char text[LKI_NAME_MOST + 1];
    memcpy(text, name, length);
    text[length] = 0;
    if (self->pattern && fnmatch(self->pattern, text, 0) != 0)
        return true;
    if (self->count == self->room) {
        size_t room = self->room ? 2 * self->room : 64;
        char **names = lki_resize(self->names, room * sizeof *names);
        if (!names)
            return false;
        self->names = names;
        self->room = room;
    }
    self->names[self->count] = lki_copy(text);
    return self->names[self->count] && ++self->count;
}

static bool is_scan_reply(const redisReply *reply) {
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           reply->element[0]->len < sizeof((listing *)0)->cursor &&
           strspn(reply->element[0]->str, "0123456789") == (size_t)reply->element[0]->len &&
           reply->element[1]->type == REDIS_REPLY_ARRAY;
}

static lk_status scan_answered(lki_call *call, const redisReply *reply, lki_error *error) {
    listing *self = ((scan_step *)call)->whole;
    if (!is_scan_reply(reply))
        return lki_error_set(error, LK_INTERNAL, "the server's answer to SCAN makes no sense");
    const redisReply *keys = reply->element[1];
    for (size_t i = 0; i < keys->elements; i++) {
        size_t length;
        const redisReply *key = keys->element[i];
        const char *name = key->type == REDIS_REPLY_STRING
                               ? lki_key_name(self->prefix, key->str, key->len, &length)
                               : NULL;
        if (name && !add_name(self, name, length))
            return lki_error_no_memory(error);
    }
    memcpy(self->cursor, reply->element[0]->str, reply->element[0]->len + 1);
    return LK_OK;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void tell(listing *self, lk_list_fn *each, void *arg) {
    if (self->count)
        qsort(self->names, self->count, sizeof *self->names, compare);
    for (size_t i = 0; i < self->count; i++) {
        /* SCAN may show a key twice. */
        if (i && strcmp(self->names[i], self->names[i - 1]) == 0)
            continue;
        if (!each(self->names[i], arg))
            break;
    }
}

static lk_status scan_once(lk_client *client, listing *self, lki_error *error) {
    scan_step *step = lki_call_new(sizeof *step);
    if (!step)
        return lki_error_no_memory(error);
    step->call.what = "list";
    step->call.script = -1;
    step->call.encode = encode_scan;
    step->call.answered = scan_answered;
    step->whole = self;
    lk_status status = lki_call_run(&step->call, lki_session_server(&client->session, ""), error);
    lki_call_free(&step->call);
    return status;
}

/* One call after the other; nobody ends the client in between. */
static lk_status scan_all(lk_client *client, listing *self) {
    lki_error error;
    lk_status status = lki_enter(client, LKI_MAY_BLOCK);
    if (status != LK_OK)
        return status;
    self->prefix = client->session.settings.prefix;
    client->session.calls++;
    do {
        status = scan_once(client, self, &error);
    } while (status == LK_OK && strcmp(self->cursor, "0") != 0);
    client->session.calls--;
    pthread_cond_broadcast(&client->session.ended);
    lki_leave(&client->session);
    return status == LK_OK ? LK_OK : lki_fail_with(&error);
}

lk_status lk_list(lk_client *client, const char *pattern, lk_list_fn *each, void *arg) {
    listing self = {.pattern = pattern, .cursor = "0"};
    if (!each)
        return lki_fail(LK_INVALID, "each is NULL");
    if (pattern && strlen(pattern) > LKI_NAME_MOST)
        return lki_fail(LK_INVALID, "the pattern must be at most %d bytes", LKI_NAME_MOST);
    self.start_length = pattern ? strcspn(pattern, "*?[\\") : 0;
    lk_status status = scan_all(client, &self);
    if (status == LK_OK)
        tell(&self, each, arg);
    for (size_t i = 0; i < self.count; i++)
        lki_free(self.names[i]);
    lki_free(self.names);
    return status;
}
