/* See show.h. */
#include "show.h"

#include "exits.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *show_mode(const lk_info *info) {
    if (!info->holder_count)
        return "none";
    for (size_t i = 0; i < info->holder_count; i++)
        if (info->holders[i].writes)
            return "write";
    return "read";
}

const char *show_state(const lk_info *info) {
    return info->holder_count ? show_mode(info) : info->abandoned ? "abandoned" : "-";
}

const char *show_policy(const lk_info *info) {
    static const char *const names[] = {[LK_FAIR] = "fair",
                                        [LK_PHASE_FAIR] = "phase-fair",
                                        [LK_PREFER_WRITER] = "prefer-writer",
                                        [LK_PREFER_READER] = "prefer-reader"};
    return names[info->policy];
}

const char *show_wait_mode(const lk_waiter_info *waiter) {
    return waiter->upgrade ? "upgrade" : waiter->mode == LK_WRITE ? "write" : "read";
}

int64_t show_oldest_wait_ms(const lk_info *info) {
    int64_t oldest_ms = 0;
    for (size_t i = 0; i < info->waiter_count; i++)
        if (info->waiters[i].waited_ms > oldest_ms)
            oldest_ms = info->waiters[i].waited_ms;
    return oldest_ms;
}

json_t *show_text(const char *bytes) {
    json_t *made = json_string(bytes);
    char *ascii = made ? NULL : strdup(bytes);
    for (char *c = ascii; c && *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    if (ascii)
        made = json_string(ascii);
    free(ascii);
    return made;
}

json_t *show_summary(const lk_info *info) {
    return json_pack("{s:o,s:s,s:s,s:I,s:b,s:I,s:I,s:I}", "name", show_text(info->name), "mode",
                     show_mode(info), "policy", show_policy(info), "fence", (json_int_t)info->fence,
                     "abandoned", (int)info->abandoned, "holders", (json_int_t)info->holder_total,
                     "waiters", (json_int_t)info->waiter_total, "oldest_wait_ms",
                     (json_int_t)show_oldest_wait_ms(info));
}

json_t *show_holder(const lk_holder_info *one) {
    return json_pack("{s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:s}", "owner",
                     show_text(one->owner), "group", show_text(one->group), "app",
                     show_text(one->app), "host", show_text(one->host), "pid", (json_int_t)one->pid,
                     "reads", (json_int_t)one->reads, "writes", (json_int_t)one->writes, "held_ms",
                     (json_int_t)one->held_ms, "left_ms", (json_int_t)one->left_ms, "fence",
                     (json_int_t)one->fence, "provisional", (int)one->provisional, "handle",
                     one->handle);
}

static json_t *waiter(const lk_waiter_info *one) {
    return json_pack("{s:o,s:o,s:o,s:o,s:I,s:s,s:I,s:I,s:s}", "owner", show_text(one->owner),
                     "group", show_text(one->group), "app", show_text(one->app), "host",
                     show_text(one->host), "pid", (json_int_t)one->pid, "mode", show_wait_mode(one),
                     "waited_ms", (json_int_t)one->waited_ms, "left_ms", (json_int_t)one->left_ms,
                     "handle", one->handle);
}

json_t *show_everything(const lk_info *info) {
    json_t *all = show_summary(info), *holders = json_array(), *waiters = json_array();
    for (size_t i = 0; i < info->holder_count; i++)
        json_array_append_new(holders, show_holder(&info->holders[i]));
    for (size_t i = 0; i < info->waiter_count; i++)
        json_array_append_new(waiters, waiter(&info->waiters[i]));
    json_object_set_new(all, "server", show_text(info->server));
    json_object_set_new(all, "held_by", holders);
    json_object_set_new(all, "waited_for_by", waiters);
    return all;
}

int show_json(json_t *object) {
    char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (!line)
        return say_failure(EXIT_BROKEN, "out of memory");
    puts(line);
    free(line);
    return 0;
}
