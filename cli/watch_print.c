/* See watch_print.h. */
#include "watch_print.h"

#include "colour.h"
#include "duration.h"
#include "show.h"
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LINE_SIZE = 2000, LOCK_WIDTH_LEAST = 16, LOCK_WIDTH_MOST = 48 };

static const struct {
    const char *name; /* also in --json */
    colour_kind colour;
} kinds[] = {
    [EVENT_WATCHING] = {"watching", COLOUR_NONE},  [EVENT_WAITING] = {"waiting", COLOUR_YELLOW},
    [EVENT_LEFT] = {"left", COLOUR_YELLOW},        [EVENT_GRANTED] = {"granted", COLOUR_GREEN},
    [EVENT_UPGRADED] = {"upgraded", COLOUR_GREEN}, [EVENT_DOWNGRADED] = {"downgraded", COLOUR_NONE},
    [EVENT_RELEASED] = {"released", COLOUR_NONE},  [EVENT_LOST] = {"lost", COLOUR_RED},
    [EVENT_FENCE] = {"fence", COLOUR_NONE},        [EVENT_AWAY] = {"away", COLOUR_RED},
    [EVENT_BACK] = {"back", COLOUR_GREEN},
};

/* ------------------------------------------------------------------------------ lines */

static void print_time(void) {
    struct timespec now;
    struct tm parts;
    char text[16];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &parts);
    strftime(text, sizeof text, "%H:%M:%S", &parts);
    printf("%s.%03ld  ", text, now.tv_nsec / 1000000);
}

/* The column grows with the longest name so far, up to a limit, so that lines stay aligned. */
static void print_lock(const char *lock) {
    static size_t column = LOCK_WIDTH_LEAST;
    char name[LINE_SIZE];
    snprintf(name, sizeof name, "%s", lock);
    text_sanitize(name);
    size_t width = text_width(name);
    if (width > column && width <= LOCK_WIDTH_MOST)
        column = width;
    printf("%s%*s  ", name, width < column ? (int)(column - width) : 0, "");
}

static void print_who(const watch_event *event) {
    char who[LINE_SIZE];
    snprintf(who, sizeof who, "%-7s  %s on %s, pid %" PRId64, event->mode,
             *event->app ? event->app : "?", *event->host ? event->host : "?", event->pid);
    text_sanitize(who);
    fputs(who, stdout);
}

static void print_times(const watch_event *event) {
    char text[DURATION_SIZE];
    bool over = event->kind == EVENT_RELEASED || event->kind == EVENT_LOST;
    if (event->waited_ms >= 0)
        printf(", %s %s", event->kind == EVENT_WAITING ? "for" : "waited",
               duration_write(event->waited_ms, text));
    if (event->held_ms >= 0)
        printf(", %s %s", over ? "held" : "holds for", duration_write(event->held_ms, text));
}

static void print_fence(const watch_event *event) {
    if (event->fence_before)
        printf("rose from %" PRIu64 " to %" PRIu64 ": granted and gone between two snapshots",
               event->fence_before, event->fence);
    else
        printf("is %" PRIu64 ": granted and gone between two snapshots", event->fence);
}

void watch_print_line(const watch_event *event) {
    char reason[LINE_SIZE];
    print_time();
    if (event->lock)
        print_lock(event->lock);
    bool coloured = kinds[event->kind].colour != COLOUR_NONE;
    printf("%s%-10s%s  ", coloured ? colour(stdout, kinds[event->kind].colour) : "",
           kinds[event->kind].name, coloured ? colour(stdout, COLOUR_NONE) : "");
    if (event->app) {
        print_who(event);
        print_times(event);
    } else if (event->kind == EVENT_FENCE) {
        print_fence(event);
    } else if (event->reason) {
        snprintf(reason, sizeof reason, "%s", event->reason);
        text_sanitize(reason);
        fputs(reason, stdout);
    } else {
        printf("%zu %s in use", event->count, word_for_count(event->count, "lock", "locks"));
    }
    putchar('\n');
}

/* ------------------------------------------------------------------------------ --json */

static void set_text(json_t *object, const char *name, const char *bytes) {
    json_object_set_new(object, name, show_text(bytes));
}

static void set_number(json_t *object, const char *name, int64_t number) {
    if (number >= 0)
        json_object_set_new(object, name, json_integer(number));
}

static void set_time(json_t *object) {
    struct timespec now;
    struct tm parts;
    char day[40], text[60];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, sizeof text, "%s.%03ldZ", day, now.tv_nsec / 1000000);
    set_text(object, "at", text);
}

void watch_print_json(const watch_event *event) {
    json_t *object = json_object();
    set_text(object, "event", kinds[event->kind].name);
    set_time(object);
    if (event->lock)
        set_text(object, "lock", event->lock);
    if (event->app) {
        set_text(object, "app", event->app);
        set_text(object, "host", event->host);
        set_number(object, "pid", event->pid);
        set_text(object, "mode", event->mode);
        set_number(object, "held_ms", event->held_ms);
        set_number(object, "waited_ms", event->waited_ms);
    }
    if (event->fence)
        set_number(object, "fence", (int64_t)event->fence);
    if (event->fence_before)
        set_number(object, "fence_before", (int64_t)event->fence_before);
    if (event->reason)
        set_text(object, "reason", event->reason);
    if (event->kind == EVENT_WATCHING || event->kind == EVENT_BACK)
        set_number(object, "locks", (int64_t)event->count);
    show_json(object);
}
