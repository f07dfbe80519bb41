/* See table.h. */
#include "table.h"

#include "colour.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { COLUMNS_MOST = 16, GAP = 2, WIDEST = 512 /* bytes: the longest lock name */ };

struct table {
    const char *const *headings;
    size_t columns, count, room;
    char **cells;
};

table *table_new(const char *const *headings) {
    table *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->headings = headings;
    while (headings[made->columns] && made->columns < COLUMNS_MOST)
        made->columns++;
    return made;
}

void table_free(table *self) {
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++)
        free(self->cells[i]);
    free(self->cells);
    free(self);
}

/* The length in bytes of the UTF-8 character at c; 0 if there is none. */
static size_t utf8_length(const unsigned char *c) {
    size_t length = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < length; i++)
        if (c[i] < 0x80 || c[i] > 0xbf)
            return 0;
    return *c > 0xf4 ? 0 : length;
}

/* U+0080 to U+009F are control characters too. Invalid UTF-8 may be one in another encoding. */
void text_sanitize(char *text) {
    unsigned char *c = (unsigned char *)text;
    while (*c) {
        size_t length = utf8_length(c);
        bool is_control = *c < ' ' || *c == 0x7f || (c[0] == 0xc2 && c[1] <= 0x9f);
        if (length == 0 || is_control)
            memset(c, '?', length ? length : 1);
        c += length ? length : 1;
    }
}

static bool make_room(table *self) {
    if (self->count < self->room)
        return true;
    size_t room = self->room ? 2 * self->room : 64;
    char **cells = realloc(self->cells, room * sizeof *cells);
    if (!cells)
        return false;
    self->cells = cells;
    self->room = room;
    return true;
}

void table_add(table *self, const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0 || !make_room(self)) {
        if (length >= 0)
            free(text);
        return;
    }
    text_sanitize(text);
    self->cells[self->count++] = text;
}

size_t text_width(const char *text) {
    wchar_t wide[WIDEST + 1];
    size_t length = mbstowcs(wide, text, WIDEST);
    if (length == (size_t)-1)
        return strlen(text);
    wide[length] = L'\0';
    int width = wcswidth(wide, length);
    return width < 0 ? strlen(text) : (size_t)width;
}

static bool is_number(const table *self, size_t column) {
    return self->headings[column][0] == '>';
}

static const char *heading(const table *self, size_t column) {
    return self->headings[column] + is_number(self, column);
}

static void print_padding(size_t width, FILE *out) {
    fprintf(out, "%*s", (int)width, "");
}

static void print_cell(const table *self, size_t column, const char *text, size_t width,
                       FILE *out) {
    size_t padding = width - text_width(text);
    bool last = column + 1 == self->columns;
    if (is_number(self, column))
        print_padding(padding, out);
    fputs(text, out);
    if (!last)
        print_padding((is_number(self, column) ? 0 : padding) + GAP, out);
}

void table_print(const table *self, FILE *out) {
    size_t widths[COLUMNS_MOST];
    for (size_t c = 0; c < self->columns; c++) {
        widths[c] = text_width(heading(self, c));
        for (size_t i = c; i < self->count; i += self->columns)
            if (text_width(self->cells[i]) > widths[c])
                widths[c] = text_width(self->cells[i]);
    }
    fputs(colour(out, COLOUR_BOLD), out);
    for (size_t c = 0; c < self->columns; c++)
        print_cell(self, c, heading(self, c), widths[c], out);
    fprintf(out, "%s\n", colour(out, COLOUR_NONE));
    for (size_t i = 0; i < self->count; i++) {
        print_cell(self, i % self->columns, self->cells[i], widths[i % self->columns], out);
        if (i % self->columns == self->columns - 1)
            fputc('\n', out);
    }
}
