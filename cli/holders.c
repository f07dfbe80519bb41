/* See holders.h. */
#include "holders.h"

#include "duration.h"
#include "exits.h"
#include "say.h"
#include "show.h"
#include "table.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------ selecting */

static int take_pid(const char *value, int64_t *pid) {
    char *end;
    long long number = strtoll(value, &end, 10);
    if (*end || *value < '0' || *value > '9' || number > INT32_MAX)
        return say_usage("--pid %s is not a process number", value);
    *pid = number;
    return 0;
}

int holder_filter_take_option(holder_filter *filter, const option *row, const char *value) {
    const char **texts[] = {&filter->host, &filter->app, &filter->owner, &filter->mode};
    static const char *const names[] = {"host", "app", "owner", "mode"};
    bool is_text = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (option_is(row, names[i])) {
            *texts[i] = value;
            is_text = true;
        }
    bool is_pid = option_is(row, "pid"), is_time = option_is(row, "held-for");
    filter->given = filter->given || is_text || is_pid || is_time;
    if (is_pid)
        return take_pid(value, &filter->pid);
    if (is_time && !duration_read(value, &filter->held_ms))
        return say_usage("--held-for %s is not a time; write 2, 0.5, 500ms, 30s, 5m or 2h", value);
    if (option_is(row, "mode") && strcmp(value, "read") != 0 && strcmp(value, "write") != 0)
        return say_usage("--mode cannot be %s; it can be read, write", value);
    return 0;
}

static const char *mode_of(const lk_holder_info *holder) {
    return holder->writes ? "write" : "read";
}

/* fnmatch() fails on bytes that are not valid in this locale. An equal text still matches. */
static bool matches(const char *pattern, const char *text) {
    return !pattern || strcmp(pattern, text) == 0 || fnmatch(pattern, text, 0) == 0;
}

static bool is_selected(const holder_filter *filter, const lk_holder_info *holder) {
    return matches(filter->host, holder->host) && matches(filter->app, holder->app) &&
           matches(filter->owner, holder->owner) && holder->held_ms >= filter->held_ms &&
           (filter->pid < 0 || filter->pid == holder->pid) &&
           (!filter->mode || strcmp(filter->mode, mode_of(holder)) == 0);
}

/* ------------------------------------------------------------------------------ showing */

typedef struct {
    table *rows; /* NULL: print JSON */
    size_t shown;
    int code;
} output;

static void add_text(table *rows, const char *text) {
    table_add(rows, "%s", *text ? text : "-");
}

static void add_row(table *rows, const lk_info *lock, const lk_holder_info *holder) {
    char held[DURATION_SIZE], left[DURATION_SIZE];
    table_add(rows, "%s", lock->name);
    table_add(rows, "%s", mode_of(holder));
    add_text(rows, holder->app);
    add_text(rows, holder->host);
    table_add(rows, "%" PRId64, holder->pid);
    table_add(rows, "%s", duration_write(holder->held_ms, held));
    table_add(rows, "%s", duration_write(holder->left_ms, left));
    table_add(rows, "%" PRIu64, holder->fence);
    add_text(rows, holder->owner);
}

/* Nobody holds the lock: it is abandoned, or about to be granted to a waiter. */
static void add_free_row(table *rows, const lk_info *lock) {
    static const char *const cells[] = {"-", "-", "-", "-", "-", "-", "-"};
    table_add(rows, "%s", lock->name);
    table_add(rows, "%s", show_state(lock));
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        table_add(rows, "%s", cells[i]);
}

/* So that `jq 'select(.handle)'` finds the holders. */
static void make_null(json_t *fields) {
    for (void *at = json_object_iter(fields); at; at = json_object_iter_next(fields, at))
        json_object_iter_set_new(fields, at, json_null());
}

static int print_object(const lk_info *lock, const lk_holder_info *holder) {
    json_t *object = json_pack("{s:o,s:s}", "name", show_text(lock->name), "mode",
                               holder ? mode_of(holder) : show_mode(lock));
    static const lk_holder_info nobody = {
        .handle = "", .owner = "", .group = "", .app = "", .host = ""};
    json_t *fields = show_holder(holder ? holder : &nobody);
    if (!holder)
        make_null(fields);
    if (object && fields && json_object_update(object, fields) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(fields);
    return show_json(object);
}

static void put(output *out, const lk_info *lock, const lk_holder_info *holder) {
    out->shown++;
    if (!out->rows)
        out->code = print_object(lock, holder);
    else if (holder)
        add_row(out->rows, lock, holder);
    else
        add_free_row(out->rows, lock);
}

static void put_lock(output *out, const lk_info *lock, const holder_filter *filter) {
    for (size_t i = 0; i < lock->holder_count && out->code == 0; i++)
        if (is_selected(filter, &lock->holders[i]))
            put(out, lock, &lock->holders[i]);
    if (!lock->holder_count && !filter->given)
        put(out, lock, NULL);
    size_t unlisted = lock->holder_total - lock->holder_count;
    if (unlisted)
        say_failure(0, "lock \"%s\" has %zu more %s, which the server does not list", lock->name,
                    unlisted, word_for_count(unlisted, "holder", "holders"));
}

int holders_print(const snapshot *seen, const holder_filter *filter, bool json, size_t *shown) {
    static const char *const headings[] = {"LOCK",      "MODE",        "APP",    "HOST",  ">PID",
                                           ">HELD FOR", ">LEASE LEFT", ">FENCE", "OWNER", NULL};
    output out = {.rows = json ? NULL : table_new(headings)};
    if (!json && !out.rows)
        return say_failure(EXIT_BROKEN, "out of memory");
    for (size_t i = 0; i < seen->count && out.code == 0; i++)
        put_lock(&out, seen->locks[i], filter);
    if (out.rows && out.shown)
        table_print(out.rows, stdout);
    table_free(out.rows);
    *shown = out.shown;
    return out.code;
}
