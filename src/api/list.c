/*
 * lk_list: SCAN on every server, until all slots are covered. A scan covers the slots that its server
 * has from its first step to its last. So the locks of a node that fails or gives slots away
 * meanwhile are looked for again, where these slots are now.
 */
#include "api/enter.h"
#include "base/memory.h"
#include "engine/scan.h"
#include "session/call.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *prefix, *pattern;
    size_t start_length; /* of the part of the pattern before its first special character */
    lki_slots covered;
    char **names;
    size_t count, room;

    /* The present scan. Its cursor is good for one process of one server. */
    const lki_server *server; /* NULL: the scan has not begun */
    unsigned life;            /* of that server */
    lki_slots slots;          /* of that server, when the scan began */
    char cursor[LKI_CURSOR_SIZE];
} listing;

/* One SCAN of a listing. */
typedef struct {
    lki_call call;
    listing *whole;
} scan_step;

/* ------------------------------------------------------------------------------ names */

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

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void call_each(listing *self, lk_list_fn *each, void *arg) {
    if (self->count)
        qsort(self->names, self->count, sizeof *self->names, compare);
    for (size_t i = 0; i < self->count; i++) {
        /* SCAN may return a key twice, and so may two scans. */
        if (i && strcmp(self->names[i], self->names[i - 1]) == 0)
            continue;
        if (!each(self->names[i], arg))
            break;
    }
}

/* ------------------------------------------------------------------------------ scans */

static void begin_scan(listing *self, const lki_server *server) {
    self->server = server;
    self->life = server->life;
    self->slots = (lki_slots){0};
    lki_session_add_slots(server->session, server, &self->slots);
    memcpy(self->cursor, "0", 2);
}

/* The call may have found another server than the one that the cursor is of. */
static lki_sent encode_scan(const lki_call *call, lki_form *form, lki_bytes *out) {
    listing *self = ((const scan_step *)call)->whole;
    (void)form; /* the keys of a lock are the same in every form */
    if (self->server != call->server || self->life != call->server->life)
        begin_scan(self, call->server);
    return lki_scan(out, self->prefix, self->cursor, self->pattern, self->start_length);
}

static lk_status scan_answered(lki_call *call, const redisReply *reply, lki_error *error) {
    listing *self = ((scan_step *)call)->whole;
    return lki_scan_read(reply, self->prefix, self->cursor, add_name, self, error);
}

static lk_status scan_once(lki_session *session, unsigned slot, listing *self, lki_error *error) {
    lki_server *server = lki_session_server(session, slot, error);
    if (!server)
        return error->status;
    scan_step *step = lki_call_new(sizeof *step);
    if (!step)
        return lki_error_no_memory(error);
    step->call.what = "list";
    step->call.has_slot = true;
    step->call.slot = slot;
    step->call.encode = encode_scan;
    step->call.answered = scan_answered;
    step->whole = self;
    lk_status status = lki_call_run(&step->call, server, error);
    lki_call_free(&step->call);
    return status;
}

/* Scans the server that has this slot. */
static lk_status scan_owner(lki_session *session, unsigned slot, listing *self, lki_error *error) {
    lk_status status;
    self->server = NULL;
    do
        status = scan_once(session, slot, self, error);
    while (status == LK_OK && strcmp(self->cursor, "0") != 0);
    if (status == LK_OK) {
        lki_slots still = {0};
        lki_session_add_slots(session, self->server, &still);
        lki_slots_add_common(&self->covered, &self->slots, &still);
    }
    return status;
}

/* Increments `calls` for the whole listing, so that lk_close() does not end between two steps. */
static lk_status scan_all(lk_client *client, listing *self) {
    lki_error error;
    unsigned slot;
    lk_status status = lki_enter(client, LKI_MAY_BLOCK);
    if (status != LK_OK)
        return status;
    lki_session *session = &client->session;
    self->prefix = session->settings.prefix;
    session->calls++;
    while (status == LK_OK && (slot = lki_slots_first_missing(&self->covered)) < LKI_SLOTS)
        status = scan_owner(session, slot, self, &error);
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
