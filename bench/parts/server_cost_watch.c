/* See server_cost_watch.h. */
#include "server_cost_watch.h"

#include <assert.h>
#include <stdlib.h>

void watch_measure(stopwatch *watch, cost_series *series) {
    assert(watch->count < MARKS_MOST);
    watch->measured[watch->count] = series;
    link_look(watch->link, &watch->marks[watch->count++]);
}

void watch_end(stopwatch *watch) {
    watch_measure(watch, NULL);
    link_flush(watch->link);
    for (size_t i = 0; i + 1 < watch->count; i++) {
        cost_series *series = watch->measured[i];
        if (!series)
            continue;
        server_account ran;
        account_between(&watch->marks[i], &watch->marks[i + 1], &ran);
        account_row row = account_of(&ran, series->command ? series->command : "evalsha");
        series->turns = test_grow(series->turns, series->turn_count, sizeof *series->turns);
        series->turns[series->turn_count++] = (double)row.usec / (double)row.calls;
    }
    watch->count = 0;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double series_median(cost_series *series) {
    size_t count = series->turn_count;
    assert(count > 0);
    qsort(series->turns, count, sizeof *series->turns, compare);
    return (series->turns[(count - 1) / 2] + series->turns[count / 2]) / 2;
}

void series_clear(cost_series *series) {
    free(series->turns);
    series->turns = NULL;
    series->turn_count = 0;
}
