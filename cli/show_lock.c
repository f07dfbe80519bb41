/* See show.h: one lock as text, for `inspect` and for the detail view of `top`. */
#include "show.h"

#include "colour.h"
#include "duration.h"
#include "snapshot.h"
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_text(const char *label, colour_kind with, const char *bytes, FILE *out) {
    char *text = strdup(bytes);
    if (text)
        text_sanitize(text);
    fprintf(out, "%-9s%s%s%s\n", label, colour(out, with), text ? text : "?",
            colour(out, COLOUR_NONE));
    free(text);
}

/* In `top`, a lock that nobody uses any more has not been inspected. */
static void print_server(const lk_info *info, FILE *out) {
    if (info->server)
        print_text("server", COLOUR_NONE, info->server, out);
}

static void print_head(const lk_info *info, FILE *out) {
    print_text("lock", COLOUR_BOLD, info->name, out);
    if (snapshot_is_free(info)) {
        fprintf(out, "state    free\n");
        print_server(info, out);
        return;
    }
    if (info->holder_total)
        fprintf(out, "state    %s, %zu %s it", show_mode(info), info->holder_total,
                word_for_count(info->holder_total, "holds", "hold"));
    else
        fprintf(out, "state    nobody holds it");
    fprintf(out, ", %zu %s\n", info->waiter_total,
            word_for_count(info->waiter_total, "waits", "wait"));
    fprintf(out, "policy   %s\nfence    %" PRIu64 "\n", show_policy(info), info->fence);
    print_server(info, out);
    if (info->abandoned)
        fprintf(out,
                "%sabandoned: a writer was lost, and no writer has released the lock since%s\n",
                colour(out, COLOUR_YELLOW), colour(out, COLOUR_NONE));
}

static void add_text(table *rows, const char *text) {
    table_add(rows, "%s", *text ? text : "-");
}

static void add_who(table *rows, const char *app, const char *host, int64_t pid) {
    add_text(rows, app);
    add_text(rows, host);
    table_add(rows, "%" PRId64, pid);
}

/* Frees the table. The server does not list all holders or waiters if there are very many. */
static void print_table(table *rows, size_t shown, size_t total, FILE *out) {
    fputc('\n', out);
    if (rows)
        table_print(rows, out);
    if (total > shown)
        fprintf(out, "and %zu more\n", total - shown);
    table_free(rows);
}

static void print_holders(const lk_info *info, FILE *out) {
    static const char *const headings[] = {"HELD BY", "HOST",  ">PID",        ">READS",
                                           ">WRITES", ">FOR",  ">LEASE LEFT", ">FENCE",
                                           "GROUP",   "OWNER", NULL};
    table *rows = table_new(headings);
    for (size_t i = 0; rows && i < info->holder_count; i++) {
        const lk_holder_info *one = &info->holders[i];
        char held[DURATION_SIZE], left[DURATION_SIZE];
        add_who(rows, one->app, one->host, one->pid);
        table_add(rows, "%u", one->reads);
        table_add(rows, "%u", one->writes);
        table_add(rows, "%s", duration_write(one->held_ms, held));
        table_add(rows, "%s", duration_write(one->left_ms, left));
        table_add(rows, "%" PRIu64, one->fence);
        add_text(rows, one->group);
        add_text(rows, one->owner);
    }
    print_table(rows, info->holder_count, info->holder_total, out);
}

static void print_waiters(const lk_info *info, FILE *out) {
    static const char *const headings[] = {">",      "WAITS", "HOST",  ">PID", "FOR A",
                                           ">SINCE", "GROUP", "OWNER", NULL};
    table *rows = table_new(headings);
    for (size_t i = 0; rows && i < info->waiter_count; i++) {
        const lk_waiter_info *one = &info->waiters[i];
        char waited[DURATION_SIZE];
        table_add(rows, "%zu", i + 1);
        add_who(rows, one->app, one->host, one->pid);
        table_add(rows, "%s", show_wait_mode(one));
        table_add(rows, "%s", duration_write(one->waited_ms, waited));
        add_text(rows, one->group);
        add_text(rows, one->owner);
    }
    print_table(rows, info->waiter_count, info->waiter_total, out);
}

void show_lock(const lk_info *info, FILE *out) {
    print_head(info, out);
    if (info->holder_count)
        print_holders(info, out);
    if (info->waiter_count)
        print_waiters(info, out);
}
