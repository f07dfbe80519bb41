/* See timeline.h. */
#include "timeline.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    LABEL_WIDTH = 9,
    COUNT_WIDTH = 4,
    WIDTH_UNKNOWN = 80,
    WIDTH_LEAST = 40, /* for a live picture, whose lines must not wrap */
    WIDTH_MOST = 200,
    COLUMNS_LEAST = 20,
    LINES_DRAWN = ACTORS + 4, /* the legend, an empty line, the rows, the axis, the note */
    DRAIN_US = 1500000        /* from the last request until every actor has had its turn */
};

typedef enum { IDLE, WAITS, READS, WRITES, DIED, RUNS_OUT, TOLD, LOOKS } look;

static const struct {
    const char *ascii, *unicode, *color, *meaning;
} looks[LOOKS] = {
    [IDLE] = {" ", " ", "0", NULL},
    [WAITS] = {".", "·", "2", "waits"},
    [READS] = {"=", "▒", "32", "reads"},
    [WRITES] = {"#", "█", "33", "writes"},
    [DIED] = {"X", "✗", "1;31", "killed"},
    [RUNS_OUT] = {"-", "─", "31", "lease remaining"},
    [TOLD] = {"!", "!", "1;35", "told of the death"},
};

static const look legend[] = {READS, WRITES, WAITS, DIED, RUNS_OUT, TOLD};

/* Leaves out the last column: some terminals wrap when it is written. */
static int usable_width(void) {
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    int width = known ? size.ws_col : WIDTH_UNKNOWN;
    return width > WIDTH_MOST ? WIDTH_MOST : width - 1;
}

void timeline_init(timeline *self, bool plain, int seconds) {
    const char *terminal = getenv("TERM"), *no_color = getenv("NO_COLOR");
    setlocale(LC_CTYPE, "");
    bool live = isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0 &&
                usable_width() >= WIDTH_LEAST;
    *self = (timeline){
        .live = live && !plain,
        .color = live && !plain && !(no_color && *no_color),
        .unicode = !plain && strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .span_us = (int64_t)seconds * 1000000 + DRAIN_US,
    };
}

const char *timeline_tick(const timeline *self, bool fine) {
    static const char *const ticks[2][2][2] = {
        {{"FAILED", "ok"}, {"✗", "✓"}},
        {{"\033[1;31mFAILED\033[0m", "\033[32mok\033[0m"},
         {"\033[1;31m✗\033[0m", "\033[32m✓\033[0m"}},
    };
    return ticks[self->color][self->unicode][fine];
}

static look look_of(const record *shared, const actor *one, const turn *of, int64_t at,
                    int64_t width_us, int64_t now) {
    phase reached = turn_phase(of);
    if (reached == PHASE_ASKED || at < of->granted_us)
        return WAITS;
    if (at < turn_end_us(shared, of, now)) {
        bool first_cell = at - width_us < of->granted_us;
        return of->abandoned && first_cell ? TOLD : one->mode == LK_WRITE ? WRITES : READS;
    }
    if (reached == PHASE_DONE || at >= record_went_on_us(shared, now))
        return IDLE;
    return at - width_us < shared->killed_us ? DIED : RUNS_OUT;
}

static look cell(const record *shared, const actor *one, int64_t at, int64_t width_us,
                 int64_t now) {
    if (at >= now)
        return IDLE;
    for (int t = atomic_load(&one->turn_count) - 1; t >= 0; t--)
        if (at >= one->turns[t].asked_us)
            return look_of(shared, one, &one->turns[t], at, width_us, now);
    return IDLE;
}

static void put(const timeline *self, look which, look *before) {
    if (self->color && which != *before)
        printf("\033[0;%sm", looks[which].color);
    fputs(self->unicode ? looks[which].unicode : looks[which].ascii, stdout);
    *before = which;
}

static void end_line(const timeline *self) {
    fputs(self->color ? "\033[0m" : "", stdout);
    puts(self->live ? "\033[K" : "");
}

/* Draws as much of the legend as fits. */
static void draw_legend(const timeline *self, int width) {
    look before = IDLE;
    int used = 0;
    for (size_t i = 0; i < sizeof legend / sizeof *legend; i++) {
        const char *meaning = looks[legend[i]].meaning;
        used += (int)strlen(meaning) + 4;
        if (used - 2 > width)
            break;
        put(self, legend[i], &before);
        put(self, IDLE, &before);
        printf("%s  ", meaning);
    }
    end_line(self);
    end_line(self);
}

static void draw_row(const timeline *self, const record *shared, const actor *one, int columns,
                     int64_t now) {
    look before = IDLE;
    int turns = 0;
    for (int t = 0; t < atomic_load(&one->turn_count); t++)
        turns += turn_phase(&one->turns[t]) >= PHASE_HELD;
    printf("%-*s", LABEL_WIDTH, one->label);
    int64_t width_us = self->span_us / columns;
    for (int column = 0; column < columns; column++) {
        int64_t at = shared->start_us + width_us * column + width_us / 2;
        put(self, cell(shared, one, at, width_us, now), &before);
    }
    put(self, IDLE, &before);
    printf("%*d", COUNT_WIDTH, turns);
    end_line(self);
}

/* Prints a number at each second, if the number before it leaves room. */
static void draw_axis(const timeline *self, int columns) {
    int used = 0;
    printf("%-*s", LABEL_WIDTH, "seconds");
    for (int second = 0; second * INT64_C(1000000) < self->span_us; second++) {
        int column = (int)(second * INT64_C(1000000) * columns / self->span_us);
        if (column < used || column > columns - 3)
            continue;
        used += printf("%*s%d ", column - used, "", second);
    }
    printf("%*s", columns - used + COUNT_WIDTH, "got");
    end_line(self);
}

void timeline_draw(timeline *self, const record *shared, int64_t now, const char *note) {
    int width = usable_width();
    int columns = width - LABEL_WIDTH - COUNT_WIDTH;
    columns = columns < COLUMNS_LEAST ? COLUMNS_LEAST : columns;
    if (now - shared->start_us > self->span_us)
        self->span_us = now - shared->start_us;
    if (self->live && self->drawn)
        printf("\033[%dA\r", LINES_DRAWN);
    draw_legend(self, width);
    for (int i = 0; i < ACTORS; i++)
        draw_row(self, shared, &shared->actors[i], columns, now);
    draw_axis(self, columns);
    if (self->live) {
        printf("%.*s", width, note);
        end_line(self);
    }
    self->drawn = true;
    fflush(stdout);
}
