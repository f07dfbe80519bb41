/* The text views of `top`: one lock in detail, and the help. Knows no screen. */
#include "show.h"
#include "top.h"

#include <stdlib.h>
#include <string.h>

static void add(top_text *self, const char *text) {
    char *line = strdup(text);
    char **lines = line ? realloc(self->lines, (self->count + 1) * sizeof *lines) : NULL;
    if (!lines) {
        free(line);
        return;
    }
    self->lines = lines;
    self->lines[self->count++] = line;
}

void top_text_free(top_text *self) {
    for (size_t i = 0; i < self->count; i++)
        free(self->lines[i]);
    free(self->lines);
}

top_text top_text_detail(const top *self) {
    top_text made = {0};
    lk_info nobody = {.name = self->selected};
    const lk_info *info = self->seen ? snapshot_find(self->seen, self->selected) : NULL;
    char *page = NULL, *rest, *line;
    size_t size;
    FILE *out = open_memstream(&page, &size);
    if (!out)
        return made;
    show_lock(info ? info : &nobody, out);
    if (fclose(out) == 0)
        for (rest = page; (line = strsep(&rest, "\n")) != NULL;)
            add(&made, line);
    free(page);
    return made;
}

top_text top_text_help(void) {
    static const char *const lines[] = {
        "w  h  n  g        sort by wait, holders, name, grants",
        "/                 filter by a part of the name, or a pattern with *, ?, [a-z]",
        "Esc               in the list: remove the filter",
        "up, down, pages   select a lock",
        "Enter             show its holders and its queue",
        "Esc, backspace    back",
        "q                 quit",
        "",
        "GRANTS/S      grants per second, averaged over about five seconds. The number comes from",
        "              comparing each snapshot with the one before. Grants that are released",
        "              before the next snapshot count as one at most, so the true number may be",
        "              higher. A shorter --interval misses less.",
        "OLDEST WAIT   the longest current wait",
    };
    top_text made = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        add(&made, lines[i]);
    return made;
}
