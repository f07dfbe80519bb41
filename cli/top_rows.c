/* The rows of `top`: which locks, their rates of grants, their order. Knows no screen. */
#include "show.h"
#include "top.h"
#include "watch_events.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double average_over_ms = 5000;

typedef struct {
    top_row *rows;
    size_t count, at;
} counting;

/* Events come in the order of the rows. A lock that is free now has no row. */
static void count_grant(const watch_event *event, void *arg) {
    counting *self = arg;
    if (event->kind != EVENT_GRANTED && event->kind != EVENT_UPGRADED && event->kind != EVENT_FENCE)
        return;
    while (self->at < self->count && strcmp(self->rows[self->at].info->name, event->lock) < 0)
        self->at++;
    if (self->at < self->count && strcmp(self->rows[self->at].info->name, event->lock) == 0)
        self->rows[self->at].grants++;
}

static int compare_row_name(const void *name, const void *row) {
    return strcmp(name, ((const top_row *)row)->info->name);
}

static double grants_before(const top *self, const char *name) {
    const top_row *row =
        self->row_count ? bsearch(name, self->rows, self->row_count, sizeof *row, compare_row_name)
                        : NULL;
    return row ? row->grants : 0;
}

/* Turns the grants since the last snapshot into an exponential moving average per second. */
static void average(const top *self, top_row *rows, const snapshot *seen) {
    double elapsed_ms = (double)(seen->taken_ms - self->seen->taken_ms);
    if (elapsed_ms < 1)
        elapsed_ms = 1;
    double weight = 1 - exp(-elapsed_ms / average_over_ms);
    for (size_t i = 0; i < seen->count; i++) {
        double before = grants_before(self, rows[i].info->name);
        rows[i].grants = before + (rows[i].grants * 1000 / elapsed_ms - before) * weight;
    }
}

bool top_take(top *self, snapshot *seen) {
    top_row *rows = calloc(seen->count + 1, sizeof *rows);
    size_t *shown = calloc(seen->count + 1, sizeof *shown);
    if (!rows || !shown) {
        free(rows);
        free(shown);
        return false;
    }
    for (size_t i = 0; i < seen->count; i++)
        rows[i] = (top_row){.info = seen->locks[i],
                            .oldest_wait_ms = show_oldest_wait_ms(seen->locks[i])};
    counting grants = {.rows = rows, .count = seen->count};
    if (self->seen) {
        watch_compare(self->seen, seen, count_grant, &grants);
        average(self, rows, seen);
    }
    top_free(self);
    self->seen = seen;
    self->rows = rows;
    self->shown = shown;
    self->row_count = seen->count;
    top_arrange(self);
    return true;
}

void top_free(top *self) {
    snapshot_free(self->seen);
    free(self->rows);
    free(self->shown);
    self->seen = NULL;
    self->rows = NULL;
    self->shown = NULL;
    self->row_count = self->shown_count = 0;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_rows(const void *one, const void *other, void *arg) {
    const top *self = arg;
    const top_row *a = &self->rows[*(const size_t *)one], *b = &self->rows[*(const size_t *)other];
    int order = 0;
    if (self->order == TOP_BY_WAITING)
        order = COMPARE(b->oldest_wait_ms, a->oldest_wait_ms);
    if (self->order == TOP_BY_WAITING && order == 0)
        order = COMPARE(b->info->waiter_total, a->info->waiter_total);
    if (self->order == TOP_BY_HOLDERS)
        order = COMPARE(b->info->holder_total, a->info->holder_total);
    if (self->order == TOP_BY_GRANTS)
        order = COMPARE(b->grants, a->grants);
    return order ? order : strcmp(a->info->name, b->info->name);
}

/* A filter without *, ? or [ matches any part of the name. */
static bool matches_filter(const top *self, const char *name) {
    if (strpbrk(self->filter, "*?["))
        return fnmatch(self->filter, name, 0) == 0;
    return strstr(name, self->filter) != NULL;
}

static void find_cursor(top *self) {
    for (size_t i = 0; i < self->shown_count; i++)
        if (strcmp(self->rows[self->shown[i]].info->name, self->selected) == 0) {
            self->cursor = i;
            return;
        }
    top_move(self, 0);
}

void top_arrange(top *self) {
    self->shown_count = 0;
    for (size_t i = 0; i < self->row_count; i++)
        if (matches_filter(self, self->rows[i].info->name))
            self->shown[self->shown_count++] = i;
    if (self->shown_count)
        qsort_r(self->shown, self->shown_count, sizeof *self->shown, compare_rows, self);
    if (self->view != TOP_DETAIL && self->view != TOP_HELP)
        find_cursor(self);
}

void top_move(top *self, int64_t by) {
    int64_t to = (int64_t)self->cursor + by, last = (int64_t)self->shown_count - 1;
    to = to > last ? last : to;
    self->cursor = to < 0 ? 0 : (size_t)to;
    if (self->shown_count)
        snprintf(self->selected, sizeof self->selected, "%s",
                 self->rows[self->shown[self->cursor]].info->name);
    else
        self->selected[0] = '\0';
}
