/* lk_inspect, lk_list, lk_force_release. */
#include "api/enter.h"
#include "base/memory.h"
#include "engine/answer.h"
#include "engine/inspect.h"
#include "engine/scan.h"
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

/* ------------------------------------------------------------------------------ list */

typedef struct {
    const char *prefix, *pattern;
    size_t start_length; /* of the part of the pattern before its first special character */
    char cursor[LKI_CURSOR_SIZE];
    char **names;
    size_t count, room;
} listing;

/* One SCAN of a listing. */
typedef struct {
    lki_call call;
    listing *whole;
} scan_step;

static lki_sent encode_scan(const lki_call *call, lki_form *form, lki_bytes *out) {
    const listing *self = ((const scan_step *)call)->whole;
    (void)form; /* the keys of a lock are the same in every form */
    return lki_scan(out, self->prefix, self->cursor, self->pattern, self->start_length);
}

static lk_status add_name(void *arg, const char *name, lki_error *error) {
    listing *self = arg;
    if (self->pattern && fnmatch(self->pattern, name, 0) != 0)
        return LK_OK;
    if (self->count == self->room) {
        size_t room = self->room ? 2 * self->room : 64;
        char **names = lki_resize(self->names, room * sizeof *names);
        if (!names)
            return lki_error_no_memory(error);
        self->names = names;
        self->room = room;
    }
    self->names[self->count] = lki_copy(name);
    if (!self->names[self->count])
        return lki_error_no_memory(error);
    self->count++;
    return LK_OK;
}

static lk_status scan_answered(lki_call *call, const redisReply *reply, lki_error *error) {
    listing *self = ((scan_step *)call)->whole;
    return lki_scan_read(reply, self->prefix, self->cursor, add_name, self, error);
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void call_each(listing *self, lk_list_fn *each, void *arg) {
    if (self->count)
        qsort(self->names, self->count, sizeof *self->names, compare);
    for (size_t i = 0; i < self->count; i++) {
        /* SCAN may return a key twice. */
        if (i && strcmp(self->names[i], self->names[i - 1]) == 0)
            continue;
        if (!each(self->names[i], arg))
            break;
    }
}

static lk_status scan_once(lki_server *server, listing *self, lki_error *error) {
    scan_step *step = lki_call_new(sizeof *step);
    if (!step)
        return lki_error_no_memory(error);
    step->call.what = "list";
    step->call.encode = encode_scan;
    step->call.answered = scan_answered;
    step->whole = self;
    lk_status status = lki_call_run(&step->call, server, error);
    lki_call_free(&step->call);
    return status;
}

/* All locks of the server with this index. */
static lk_status scan_server(lki_session *session, size_t index, listing *self, lki_error *error) {
    lki_server *server = lki_session_server_at(session, index, error);
    lk_status status = server ? LK_OK : error->status;
    memcpy(self->cursor, "0", 2);
    while (status == LK_OK) {
        status = scan_once(server, self, error);
        if (strcmp(self->cursor, "0") == 0)
            break;
    }
    return status;
}

/* Increments `calls` for the whole listing, so that lk_close() does not end between two steps. */
static lk_status scan_all(lk_client *client, listing *self) {
    lki_error error;
    lk_status status = lki_enter(client, LKI_MAY_BLOCK);
    if (status != LK_OK)
        return status;
    lki_session *session = &client->session;
    self->prefix = session->settings.prefix;
    session->calls++;
    for (size_t i = lki_session_next(session, 0); status == LK_OK && i != SIZE_MAX;
         i = lki_session_next(session, i + 1))
        status = scan_server(session, i, self, &error);
    session->calls--;
    pthread_cond_broadcast(&session->ended);
    lki_leave(session);
    return status == LK_OK ? LK_OK : lki_fail_with(&error);
}

lk_status lk_list(lk_client *client, const char *pattern, lk_list_fn *each, void *arg) {
    listing self = {.pattern = pattern};
    if (!each)
        return lki_fail(LK_INVALID, "each is NULL");
    if (pattern && strlen(pattern) > LKI_NAME_MOST)
        return lki_fail(LK_INVALID, "the pattern must be at most %d bytes", LKI_NAME_MOST);
    self.start_length = pattern ? strcspn(pattern, "*?[\\") : 0;
    lk_status status = scan_all(client, &self);
    if (status == LK_OK)
        call_each(&self, each, arg);
    for (size_t i = 0; i < self.count; i++)
        lki_free(self.names[i]);
    lki_free(self.names);
    return status;
}
