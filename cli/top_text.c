/* The views of `top` that are text: one lock in detail, and the help. Knows no screen. */
#include "duration.h"
#include "show.h"
#include "table.h"
#include "top.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 2, 3))) static void add(top_text *self, const char *format, ...) {
    char *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&line, format, arguments);
    va_end(arguments);
    char **lines = length < 0 ? NULL : realloc(self->lines, (self->count + 1) * sizeof *lines);
    if (!lines) {
        if (length >= 0)
            free(line);
        return;
    }
    text_tame(line);
    self->lines = lines;
    self->lines[self->count++] = line;
}

void top_text_free(top_text *self) {
    for (size_t i = 0; i < self->count; i++)
        free(self->lines[i]);
    free(self->lines);
}

static void add_holders(top_text *self, const lk_info *info) {
    add(self, "%-20s  %-20s  %8s  %5s  %6s  %8s  %10s  %16s  %s", "HELD BY", "HOST", "PID", "READS",
        "WRITES", "FOR", "LEASE LEFT", "FENCE", "GROUP");
    for (size_t i = 0; i < info->holder_count; i++) {
        const lk_holder_info *one = &info->holders[i];
        char held[DURATION_SIZE], left[DURATION_SIZE];
        add(self, "%-20s  %-20s  %8" PRId64 "  %5u  %6u  %8s  %10s  %16" PRIu64 "  %s", one->app,
            one->host, one->pid, one->reads, one->writes, duration_write(one->held_ms, held),
            duration_write(one->left_ms, left), one->fence, *one->group ? one->group : "-");
    }
    if (info->holder_total > info->holder_count)
        add(self, "and %zu more", info->holder_total - info->holder_count);
}

static void add_waiters(top_text *self, const lk_info *info) {
    add(self, "%-20s  %-20s  %8s  %-7s  %8s  %s", "WAITS", "HOST", "PID", "FOR A", "SINCE",
        "GROUP");
    for (size_t i = 0; i < info->waiter_count; i++) {
        const lk_waiter_info *one = &info->waiters[i];
        char waited[DURATION_SIZE];
        add(self, "%-20s  %-20s  %8" PRId64 "  %-7s  %8s  %s", one->app, one->host, one->pid,
            one->upgrade            ? "upgrade"
            : one->mode == LK_WRITE ? "write"
                                    : "read",
            duration_write(one->waited_ms, waited), *one->group ? one->group : "-");
    }
    if (info->waiter_total > info->waiter_count)
        add(self, "and %zu more", info->waiter_total - info->waiter_count);
}

top_text top_text_detail(const top *self) {
    static const char *const policies[] = {"fair", "phase-fair", "prefer-writer", "prefer-reader"};
    top_text made = {0};
    const lk_info *info = self->seen ? snapshot_find(self->seen, self->selected) : NULL;
    add(&made, "lock     %s", self->selected);
    if (!info) {
        add(&made, "state    free");
        return made;
    }
    add(&made, "state    %s, %zu hold it, %zu wait",
        info->holder_total ? show_mode(info) : "nobody holds it", info->holder_total,
        info->waiter_total);
    add(&made, "policy   %s", policies[info->policy]);
    add(&made, "fence    %" PRIu64, info->fence);
    if (info->abandoned)
        add(&made, "abandoned: a writer was lost, and none has ended in good order since");
    if (info->holder_count) {
        add(&made, "%s", "");
        add_holders(&made, info);
    }
    if (info->waiter_count) {
        add(&made, "%s", "");
        add_waiters(&made, info);
    }
    return made;
}

top_text top_text_help(void) {
    static const char *const lines[] = {
        "w  h  n  g        sort by waiting, holders, name, grants",
        "/                 filter: a part of the name, or a pattern with *, ?, [a-z]",
        "Esc               in the list: no filter any more",
        "up, down, pages   choose a lock",
        "Enter             its holders and its queue",
        "Esc, backspace    back",
        "q                 quit",
        "",
        "GRANTS/S      grants a second that were seen by comparing each look with the one before,",
        "              averaged over the last five seconds or so. What is granted and given back",
        "              between two looks is not seen (one is counted where the lock's fence tells",
        "              of it): there may be more. A shorter --interval sees more.",
        "OLDEST WAIT   how long the one who has waited longest has",
    };
    top_text made = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        add(&made, "%s", lines[i]);
    return made;
}
