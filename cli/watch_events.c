/* See watch_events.h. */
#include "watch_events.h"

#include "show.h"

#include <string.h>

enum { ROUNDING_US = 1000 }; /* ages are rounded down to a millisecond */

/* One lock in two snapshots. A free lock has no holders and no waiters. */
typedef struct {
    const lk_info *before, *after;
    int64_t elapsed_ms;
    watch_event_fn *each;
    void *arg;
    bool fence_seen; /* the grant that has the current fence was reported */
} change;

static const lk_holder_info *find_holder(const lk_info *info, const char *handle) {
    for (size_t i = 0; i < info->holder_count; i++)
        if (strcmp(info->holders[i].handle, handle) == 0)
            return &info->holders[i];
    return NULL;
}

static const lk_waiter_info *find_waiter(const lk_info *info, const char *handle) {
    for (size_t i = 0; i < info->waiter_count; i++)
        if (strcmp(info->waiters[i].handle, handle) == 0)
            return &info->waiters[i];
    return NULL;
}

/* Whether a hold or wait of this age began after the earlier snapshot. Then it is a new one. */
static bool is_newer(const change *self, int64_t age_ms) {
    return self->after->server_time_us - age_ms * 1000 - ROUNDING_US >=
           self->before->server_time_us;
}

static bool still_holds(const change *self, const lk_holder_info *one) {
    const lk_holder_info *now = find_holder(self->after, one->handle);
    return now && !is_newer(self, now->held_ms);
}

static bool held_before(const change *self, const lk_holder_info *one) {
    return !is_newer(self, one->held_ms) && find_holder(self->before, one->handle);
}

static bool waited_before(const change *self, const lk_waiter_info *one) {
    return !is_newer(self, one->waited_ms) && find_waiter(self->before, one->handle);
}

static void report_holder(change *self, event_kind kind, const lk_holder_info *one, int64_t held_ms,
                          int64_t waited_ms) {
    watch_event event = {.kind = kind,
                         .lock = self->after->name,
                         .app = one->app,
                         .host = one->host,
                         .pid = one->pid,
                         .mode = one->writes ? "write" : "read",
                         .fence = one->fence,
                         .held_ms = held_ms,
                         .waited_ms = waited_ms};
    self->each(&event, self->arg);
}

static void report_waiter(change *self, event_kind kind, const lk_waiter_info *one,
                          int64_t waited_ms) {
    watch_event event = {.kind = kind,
                         .lock = self->after->name,
                         .app = one->app,
                         .host = one->host,
                         .pid = one->pid,
                         .mode = show_wait_mode(one),
                         .held_ms = -1,
                         .waited_ms = waited_ms};
    self->each(&event, self->arg);
}

/* A normal release of a write clears the mark. So a writer is lost if the mark is there after it. */
static void report_ended_holds(change *self) {
    for (size_t i = 0; i < self->before->holder_count; i++) {
        const lk_holder_info *one = &self->before->holders[i];
        if (still_holds(self, one))
            continue;
        bool lost = one->writes && self->after->abandoned;
        report_holder(self, lost ? EVENT_LOST : EVENT_RELEASED, one,
                      one->held_ms + self->elapsed_ms, -1);
    }
}

static void report_left_waits(change *self) {
    for (size_t i = 0; i < self->before->waiter_count; i++) {
        const lk_waiter_info *one = &self->before->waiters[i];
        const lk_waiter_info *now = find_waiter(self->after, one->handle);
        bool waits = now && !is_newer(self, now->waited_ms);
        const lk_holder_info *holder = find_holder(self->after, one->handle);
        bool got_it = holder && (!one->upgrade || holder->writes);
        if (!waits && !got_it)
            report_waiter(self, EVENT_LEFT, one, one->waited_ms + self->elapsed_ms);
    }
}

/* Below 0: no snapshot shows its wait. */
static int64_t waited_for(const change *self, const lk_holder_info *one) {
    const lk_waiter_info *waiter = find_waiter(self->before, one->handle);
    if (!waiter)
        return -1;
    int64_t waited_ms = waiter->waited_ms + self->elapsed_ms;
    if (!waiter->upgrade)
        waited_ms -= one->held_ms;
    return waited_ms < waiter->waited_ms ? waiter->waited_ms : waited_ms;
}

static void report_grants(change *self) {
    for (size_t i = 0; i < self->after->holder_count; i++) {
        const lk_holder_info *one = &self->after->holders[i];
        const lk_holder_info *past = find_holder(self->before, one->handle);
        event_kind kind = EVENT_GRANTED;
        if (held_before(self, one)) {
            if (!past->writes == !one->writes)
                continue;
            kind = one->writes ? EVENT_UPGRADED : EVENT_DOWNGRADED;
        }
        if (kind != EVENT_DOWNGRADED && one->fence == self->after->fence)
            self->fence_seen = true;
        report_holder(self, kind, one, one->held_ms,
                      kind == EVENT_DOWNGRADED ? -1 : waited_for(self, one));
    }
}

static void report_waits(change *self) {
    for (size_t i = 0; i < self->after->waiter_count; i++) {
        const lk_waiter_info *one = &self->after->waiters[i];
        if (!waited_before(self, one))
            report_waiter(self, EVENT_WAITING, one, one->waited_ms);
    }
}

static void report_fence(change *self) {
    if (self->fence_seen || self->after->fence <= self->before->fence)
        return;
    watch_event event = {.kind = EVENT_FENCE,
                         .lock = self->after->name,
                         .fence = self->after->fence,
                         .fence_before = self->before->fence,
                         .held_ms = -1,
                         .waited_ms = -1};
    self->each(&event, self->arg);
}

/* A list that the server has cut cannot be compared. */
static void compare_lock(change *self) {
    bool holders = self->before->holder_total == self->before->holder_count &&
                   self->after->holder_total == self->after->holder_count;
    bool waiters = self->before->waiter_total == self->before->waiter_count &&
                   self->after->waiter_total == self->after->waiter_count;
    if (holders)
        report_ended_holds(self);
    if (holders && waiters)
        report_left_waits(self);
    if (holders)
        report_grants(self);
    if (waiters)
        report_waits(self);
    if (holders)
        report_fence(self);
}

void watch_compare(const snapshot *before, const snapshot *after, watch_event_fn *each, void *arg) {
    size_t b = 0, a = 0;
    while (b < before->count || a < after->count) {
        const lk_info *old = b < before->count ? before->locks[b] : NULL;
        const lk_info *now = a < after->count ? after->locks[a] : NULL;
        int order = !old ? 1 : !now ? -1 : strcmp(old->name, now->name);
        lk_info nobody = {.name = order < 0 ? old->name : now->name};
        change self = {.before = order <= 0 ? old : &nobody,
                       .after = order >= 0 ? now : &nobody,
                       .elapsed_ms = after->taken_ms - before->taken_ms,
                       .each = each,
                       .arg = arg};
        compare_lock(&self);
        b += order <= 0;
        a += order >= 0;
    }
}
