/* Keys of `top`: change its state. Draws nothing. */
#include "top.h"

#include <stdlib.h>
#include <string.h>

#define NCURSES_NOMACROS
#include <curses.h>

enum { KEY_ESC = 27, KEY_RUBOUT = 127, CONTROL_H = 8 };

static bool is_back(wint_t typed, bool is_key) {
    return is_key ? typed == KEY_BACKSPACE : typed == KEY_RUBOUT || typed == CONTROL_H;
}

static bool is_enter(wint_t typed, bool is_key) {
    return is_key ? typed == KEY_ENTER : typed == '\r' || typed == '\n';
}

/* The number of lines that a key moves by; 0: not a movement key. */
static int64_t steps(const top *self, wint_t typed, bool is_key) {
    static const int64_t all = INT32_MAX;
    int64_t page = self->page ? (int64_t)self->page : 1;
    if (!is_key)
        return 0;
    switch (typed) {
    case KEY_UP:
        return -1;
    case KEY_DOWN:
        return 1;
    case KEY_PPAGE:
        return -page;
    case KEY_NPAGE:
        return page;
    case KEY_HOME:
        return -all;
    case KEY_END:
        return all;
    default:
        return 0;
    }
}

/* ------------------------------------------------------------------------------ the filter */

static void erase_last(char *text) {
    size_t length = strlen(text);
    while (length && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
        length--; /* a byte inside a UTF-8 character */
    text[length ? length - 1 : 0] = '\0';
}

static void add_typed(char *text, wint_t typed) {
    char bytes[16];
    mbstate_t state = {0};
    size_t length = wcrtomb(bytes, (wchar_t)typed, &state), at = strlen(text);
    if (length == (size_t)-1 || length > sizeof bytes || at + length >= TOP_FILTER_SIZE)
        return;
    memcpy(text + at, bytes, length);
    text[at + length] = '\0';
}

static void filter_key(top *self, wint_t typed, bool is_key) {
    if (is_enter(typed, is_key)) {
        self->view = TOP_LIST;
    } else if (!is_key && typed == KEY_ESC) {
        memcpy(self->filter, self->filter_before, sizeof self->filter);
        self->view = TOP_LIST;
    } else if (is_back(typed, is_key)) {
        erase_last(self->filter);
    } else if (!is_key && typed >= ' ') {
        add_typed(self->filter, typed);
    }
    top_arrange(self);
}

/* ------------------------------------------------------------------------------ the views */

static void open_view(top *self, top_view view) {
    self->view = view;
    self->scroll = 0;
}

static void text_key(top *self, wint_t typed, bool is_key) {
    int64_t to = (int64_t)self->scroll + steps(self, typed, is_key);
    self->scroll = to < 0 ? 0 : (size_t)to; /* top_screen_draw() limits it to the end of the text */
    if (is_back(typed, is_key) || (!is_key && typed == KEY_ESC)) {
        self->view = TOP_LIST;
        top_arrange(self);
    }
}

static void sort_by(top *self, top_order order) {
    self->order = order;
    top_arrange(self);
}

static void list_letter(top *self, wint_t typed) {
    switch (typed) {
    case 'w':
        sort_by(self, TOP_BY_WAITING);
        break;
    case 'h':
        sort_by(self, TOP_BY_HOLDERS);
        break;
    case 'n':
        sort_by(self, TOP_BY_NAME);
        break;
    case 'g':
        sort_by(self, TOP_BY_GRANTS);
        break;
    case '/':
        memcpy(self->filter_before, self->filter, sizeof self->filter);
        self->filter[0] = '\0';
        open_view(self, TOP_FILTER);
        top_arrange(self);
        break;
    case KEY_ESC:
        self->filter[0] = '\0';
        top_arrange(self);
        break;
    }
}

static void list_key(top *self, wint_t typed, bool is_key) {
    if (is_enter(typed, is_key)) {
        if (self->shown_count)
            open_view(self, TOP_DETAIL);
    } else if (is_key) {
        top_move(self, steps(self, typed, is_key));
    } else {
        list_letter(self, typed);
    }
}

bool top_key(top *self, wint_t typed, bool is_key) {
    if (is_key && typed == KEY_RESIZE)
        return true; /* the screen is drawn again after each key */
    if (self->view == TOP_FILTER) {
        filter_key(self, typed, is_key);
        return true;
    }
    if (!is_key && (typed == 'q' || typed == 'Q'))
        return false;
    if (!is_key && typed == '?')
        open_view(self, TOP_HELP);
    else if (self->view == TOP_LIST)
        list_key(self, typed, is_key);
    else
        text_key(self, typed, is_key);
    return true;
}
