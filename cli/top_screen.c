/* The screen of `top`. Of the state it changes only the scroll positions. */
#include "duration.h"
#include "show.h"
#include "top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#define NCURSES_NOMACROS
#include <curses.h>

enum { ESCAPE_MS = 25, LINE_MOST = 1024, NAME_LEAST = 8, FIRST_LINE = 2 };

static SCREEN *screen;

/* newterm(), because initscr() exits on failure. */
bool top_screen_open(void) {
    screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return false;
    const char *move = tigetstr("cup");
    if (!move || move == (char *)-1) {
        top_screen_close();
        return false;
    }
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(ESCAPE_MS);
    curs_set(0);
    return true;
}

void top_screen_close(void) {
    endwin();
    delscreen(screen);
    screen = NULL;
}

/* ------------------------------------------------------------------------------ text */

static size_t widen(const char *text, wchar_t *wide) {
    size_t count = 0;
    mbstate_t state = {0};
    size_t left = strlen(text);
    while (left && count < LINE_MOST) {
        size_t used = mbrtowc(&wide[count], text, left, &state);
        if (used == 0 || used > left) { /* not a character of this locale */
            memset(&state, 0, sizeof state);
            wide[count] = L'?';
            used = 1;
        }
        if (!iswprint((wint_t)wide[count]) || wcwidth(wide[count]) < 0)
            wide[count] = L'?';
        count++;
        text += used;
        left -= used;
    }
    return count;
}

/* Fills exactly `width` columns: pads with blanks, or cuts the text and ends it with '~'. */
static void put(int y, int x, int width, bool right, const char *text) {
    wchar_t wide[LINE_MOST + 1];
    size_t count = widen(text, wide), kept = 0;
    int used = 0;
    while (kept < count && used + wcwidth(wide[kept]) <= width)
        used += wcwidth(wide[kept++]);
    while (kept < count && kept > 0 && wcwidth(wide[kept - 1]) == 0)
        kept--; /* a combining character has no column of its own */
    if (kept < count && kept > 0) {
        used += 1 - wcwidth(wide[kept - 1]);
        wide[kept - 1] = L'~';
    }
    if (width <= 0)
        return;
    mvhline(y, x, ' ', width);
    mvaddnwstr(y, right ? x + width - used : x, wide, (int)kept);
}

static void put_line(int y, const char *text) {
    put(y, 0, COLS, false, text);
}

/* ------------------------------------------------------------------------------ the list */

typedef struct {
    const char *name, *mode, *holders, *waiters, *grants, *oldest;
} cells;

/* The columns after the name are as wide as their headings, and two columns apart. */
static void put_cells(int y, const cells *row) {
    const struct {
        const char *text;
        int width;
        bool right;
    } columns[] = {{row->mode, 9, false},
                   {row->holders, 7, true},
                   {row->waiters, 7, true},
                   {row->grants, 8, true},
                   {row->oldest, 11, true}};
    int behind = 0, x;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        behind += columns[i].width + 2;
    x = COLS - behind > NAME_LEAST ? COLS - behind : NAME_LEAST;
    put_line(y, "");
    put(y, 0, x < COLS ? x : COLS, false, row->name);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (x + 2 + columns[i].width > COLS)
            return; /* a narrow screen shows fewer cells */
        put(y, x + 2, columns[i].width, columns[i].right, columns[i].text);
        x += columns[i].width + 2;
    }
}

static void put_row(int y, const top_row *row) {
    char holders[24], waiters[24], grants[24], oldest[DURATION_SIZE];
    const lk_info *info = row->info;
    snprintf(holders, sizeof holders, "%zu", info->holder_total);
    snprintf(waiters, sizeof waiters, "%zu", info->waiter_total);
    snprintf(grants, sizeof grants, "%.1f", row->grants);
    cells texts = {.name = info->name,
                   .mode = show_state(info),
                   .holders = holders,
                   .waiters = waiters,
                   .grants = grants,
                   .oldest =
                       info->waiter_total ? duration_write(row->oldest_wait_ms, oldest) : "-"};
    put_cells(y, &texts);
}

static void draw_list(top *self) {
    static const cells headings = {"LOCK", "MODE", "HOLDERS", "WAITERS", "GRANTS/S", "OLDEST WAIT"};
    if (self->cursor < self->first)
        self->first = self->cursor;
    if (self->page && self->cursor >= self->first + self->page)
        self->first = self->cursor - self->page + 1;
    if (self->first + self->page > self->shown_count)
        self->first = self->shown_count > self->page ? self->shown_count - self->page : 0;
    attron(A_REVERSE);
    put_cells(1, &headings);
    attroff(A_REVERSE);
    for (size_t i = 0; i < self->page && self->first + i < self->shown_count; i++) {
        size_t at = self->first + i;
        if (at == self->cursor)
            attron(A_BOLD | A_UNDERLINE);
        put_row(FIRST_LINE + (int)i, &self->rows[self->shown[at]]);
        attroff(A_BOLD | A_UNDERLINE);
    }
    if (!self->shown_count && self->page)
        put_line(FIRST_LINE, !self->seen       ? "loading…"
                             : self->row_count ? "no lock matches the filter"
                                               : "no lock is in use");
}

/* ------------------------------------------------------------------------------ the rest */

static void draw_text(top *self) {
    top_text text = self->view == TOP_HELP ? top_text_help() : top_text_detail(self);
    size_t most = text.count > self->page ? text.count - self->page : 0;
    if (self->scroll > most)
        self->scroll = most;
    for (size_t i = 0; i < self->page && self->scroll + i < text.count; i++)
        put_line(FIRST_LINE + (int)i, text.lines[self->scroll + i]);
    top_text_free(&text);
}

static void draw_title(const top *self) {
    static const char *const orders[] = {"waiting", "holders", "name", "grants"};
    char line[400];
    size_t holders = 0, waiters = 0;
    for (size_t i = 0; i < self->row_count; i++) {
        holders += self->rows[i].info->holder_total;
        waiters += self->rows[i].info->waiter_total;
    }
    snprintf(line, sizeof line, "latchkey top: %zu %s, %zu %s, %zu %s, by %s%s%s", self->row_count,
             word_for_count(self->row_count, "lock", "locks"), holders,
             word_for_count(holders, "holder", "holders"), waiters,
             word_for_count(waiters, "waiter", "waiters"), orders[self->order],
             *self->filter ? ", filter: " : "", self->filter);
    put_line(0, line);
}

static void draw_status(const top *self) {
    static const char *const keys[] = {
        [TOP_LIST] = "q quit   ? help   w h n g sort   / filter   Enter detail",
        [TOP_DETAIL] = "q quit   ? help   Esc back",
        [TOP_HELP] = "q quit   Esc back",
    };
    char line[TOP_STATUS_SIZE + 100], since[DURATION_SIZE];
    if (self->view == TOP_FILTER) {
        snprintf(line, sizeof line, "/%s_", self->filter);
        put_line(LINES - 1, line);
    } else if (*self->status) {
        snprintf(line, sizeof line, "away for %s: %s",
                 duration_write(monotonic_ms() - self->looked_ms, since), self->status);
        attron(A_REVERSE);
        put_line(LINES - 1, line);
        attroff(A_REVERSE);
    } else {
        put_line(LINES - 1, keys[self->view]);
    }
}

void top_screen_draw(top *self) {
    self->page = LINES > FIRST_LINE + 1 ? (size_t)(LINES - FIRST_LINE - 1) : 0;
    erase();
    draw_title(self);
    if (LINES > 1 && (self->view == TOP_LIST || self->view == TOP_FILTER))
        draw_list(self);
    else if (LINES > 1)
        draw_text(self);
    if (LINES > 1)
        draw_status(self);
    refresh();
}
