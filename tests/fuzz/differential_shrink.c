/* See differential_shrink.h. */
#include "differential_shrink.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LONG_AFTER_US UINT64_C(93600000000) /* a day of lease, an hour of mark, and one more */

char *shrink_play(form_pair *pair, const step_list *list, size_t *played) {
    uint64_t latest_us = 0;
    char *text = NULL;
    size_t count = 0;
    form_pair_reset(pair);
    while (count < list->count && !text) {
        const step *one = &list->steps[count++];
        text = form_pair_run(pair, one);
        if (one->now_us > latest_us)
            latest_us = one->now_us;
    }
    if (!text)
        text = form_pair_empty(pair, latest_us + LONG_AFTER_US);
    *played = count;
    return text;
}

static uint64_t clock_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

/* What is behind the failing step has no part in it. */
static void cut(step_list *list, size_t count) {
    while (list->count > count)
        step_clear(&list->steps[--list->count]);
}

/* The list without `length` steps; it shares the others with it. */
static step_list without(const step_list *list, size_t first, size_t length) {
    step_list rest = {test_alloc(list->count, sizeof *rest.steps), list->count - length};
    memcpy(rest.steps, list->steps, first * sizeof *rest.steps);
    memcpy(rest.steps + first, list->steps + first + length,
           (rest.count - first) * sizeof *rest.steps);
    return rest;
}

/* Whether it still failed without these steps; they are gone then. */
static bool try_without(form_pair *pair, step_list *list, size_t first, size_t length,
                        char **text) {
    size_t played;
    step_list rest = without(list, first, length);
    char *failure = shrink_play(pair, &rest, &played);
    if (!failure) {
        free(rest.steps);
        return false;
    }
    free(*text);
    *text = failure;
    for (size_t i = first; i < first + length; i++)
        step_clear(&list->steps[i]);
    free(list->steps);
    *list = rest;
    cut(list, played);
    return true;
}

char *shrink_run(form_pair *pair, step_list *list, unsigned most_s) {
    uint64_t end_s = clock_s() + most_s;
    size_t played;
    char *text = shrink_play(pair, list, &played);
    if (!text)
        return test_print("played again, it did not fail\n");
    cut(list, played);
    size_t length = list->count / 2;
    while (length > 0 && clock_s() < end_s) {
        bool removed = false;
        for (size_t first = 0; first + length <= list->count && clock_s() < end_s;) {
            if (try_without(pair, list, first, length, &text))
                removed = true;
            else
                first += length;
        }
        if (length > 1 || !removed)
            length /= 2;
    }
    return text;
}
