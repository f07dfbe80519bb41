/* See snapshot.h. */
#include "snapshot.h"

#include "duration.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    lk_client *client;
    snapshot *made;
    size_t room;
    lk_status status;
} snapshot_builder;

static bool make_room(snapshot_builder *self) {
    if (self->made->count < self->room)
        return true;
    size_t room = self->room ? 2 * self->room : 64;
    lk_info **locks = realloc(self->made->locks, room * sizeof *locks);
    if (!locks)
        return false;
    self->made->locks = locks;
    self->room = room;
    return true;
}

static bool take_one(const char *name, void *arg) {
    snapshot_builder *self = arg;
    lk_info *info;
    if (!make_room(self)) {
        self->status = LK_NOMEM;
        return false;
    }
    self->status = lk_inspect(self->client, name, &info);
    if (self->status == LK_INVALID) { /* another program uses this key: not a lock */
        self->status = LK_OK;
        return true;
    }
    if (self->status != LK_OK)
        return false;
    if (snapshot_is_free(info)) /* it has become free since it was listed */
        lk_info_free(info);
    else
        self->made->locks[self->made->count++] = info;
    return true;
}

lk_status snapshot_take(lk_client *client, const char *pattern, snapshot **out) {
    snapshot_builder self = {.client = client, .made = calloc(1, sizeof *self.made)};
    if (!self.made)
        return LK_NOMEM;
    lk_status status = lk_list(client, pattern, take_one, &self);
    if (status == LK_OK)
        status = self.status;
    if (status != LK_OK) {
        snapshot_free(self.made);
        return status;
    }
    self.made->taken_ms = monotonic_ms();
    *out = self.made;
    return LK_OK;
}

const char *snapshot_error(lk_status status) {
    return status == LK_NOMEM ? lk_status_text(LK_NOMEM) : lk_last_error();
}

bool snapshot_is_free(const lk_info *info) {
    return !info->holder_total && !info->waiter_total && !info->abandoned;
}

void snapshot_free(snapshot *self) {
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++)
        lk_info_free(self->locks[i]);
    free(self->locks);
    free(self);
}

static int compare_name(const void *name, const void *lock) {
    return strcmp(name, (*(lk_info *const *)lock)->name);
}

const lk_info *snapshot_find(const snapshot *self, const char *name) {
    lk_info **found =
        self->count ? bsearch(name, self->locks, self->count, sizeof *self->locks, compare_name)
                    : NULL;
    return found ? *found : NULL;
}
