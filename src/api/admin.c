/* lk_inspect, lk_force_release. */
#include "api/enter.h"
#include "base/memory.h"
#include "engine/answer.h"
#include "engine/inspect.h"
#include "session/call.h"

#include <stdio.h>
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

static lki_key key_of(const lki_call *call, const char *prefix, const char *name) {
    return (lki_key){prefix, name, call->is_wide};
}

/* Runs a call about one lock, with the monitor held. */
static lk_status run(lk_client *client, lki_call *call, const char *name, lki_error *error) {
    lki_session *session = &client->session;
    char what[WHAT_MOST], key[LKI_KEY_MOST];
    snprintf(what, sizeof what, "lock \"%s\"", name);
    call->what = what;
    size_t length = lki_key_print(key_of(call, session->settings.prefix, name), key);
    call->has_slot = true;
    call->slot = lki_topology_slot(session->topology, key, length);
    lki_server *server = lki_session_server(session, call->slot, error);
    return server ? lki_call_run(call, server, error) : error->status;
}

/* ------------------------------------------------------------------------------ inspect */

typedef struct {
    lki_call call;
    const char *prefix, *name;
    lk_info *info;
} inspection;

static lki_sent encode_inspect(const lki_call *call, lki_form *form, lki_bytes *out) {
    const inspection *self = (const inspection *)call;
    return lki_form_inspect(form, out, key_of(call, self->prefix, self->name), ROWS_MOST);
}

static lk_status inspect_answered(lki_call *call, const redisReply *reply, lki_error *error) {
    inspection *self = (inspection *)call;
    lki_inspected from = {self->name, call->server->commands.identity.address};
    return lki_inspect_read(reply, &from, &self->info, error);
}

static lk_status inspect(lk_client *client, const char *name, lk_info **out, lki_error *error) {
    inspection *self = lki_call_new(sizeof *self);
    if (!self)
        return lki_error_no_memory(error);
    self->call.encode = encode_inspect;
    self->call.answered = inspect_answered;
    self->prefix = client->session.settings.prefix;
    self->name = name;
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
    const char *prefix, *name;
    const char *owner; /* "": all owners */
} forcing;

static lki_sent encode_force(const lki_call *call, lki_form *form, lki_bytes *out) {
    const forcing *self = (const forcing *)call;
    return lki_form_force(form, out, key_of(call, self->prefix, self->name), self->owner);
}

static lk_status force_answered(lki_call *call, const redisReply *reply, lki_error *error) {
    forcing *self = (forcing *)call;
    lki_answer answer = lki_answer_read(reply);
    if (answer.word != LKI_ANSWER_FORCED)
        return lki_error_set(error, LK_INTERNAL, "the server sent an invalid answer to force");
    if (answer.count)
        return LK_OK;
    if (*self->owner)
        return lki_error_set(error, LK_NOT_HELD, "owner \"%s\" has no hold", self->owner);
    return lki_error_set(error, LK_NOT_HELD, "nobody holds it");
}

static lk_status force(lk_client *client, const char *name, const char *owner, lki_error *error) {
    forcing *self = lki_call_new(sizeof *self);
    if (!self)
        return lki_error_no_memory(error);
    self->call.once = true;
    self->call.encode = encode_force;
    self->call.answered = force_answered;
    self->prefix = client->session.settings.prefix;
    self->name = name;
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
