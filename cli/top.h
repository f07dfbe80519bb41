/* The state of `top`, which its parts share: keys change it, and the screen shows it. */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "command.h"
#include "snapshot.h"

#include <wchar.h>

enum { TOP_NAME_SIZE = 513, TOP_FILTER_SIZE = 128, TOP_STATUS_SIZE = 700 };

typedef enum { TOP_BY_WAITING, TOP_BY_HOLDERS, TOP_BY_NAME, TOP_BY_GRANTS } top_order;

/*
 *   LIST --Enter--> DETAIL     LIST, DETAIL --?--> HELP     LIST --/--> FILTER
 *   Esc, backspace: DETAIL, HELP --> LIST; Esc, Enter: FILTER --> LIST
 */
typedef enum { TOP_LIST, TOP_DETAIL, TOP_HELP, TOP_FILTER } top_view;

typedef struct {
    const lk_info *info; /* of top.seen */
    int64_t oldest_wait_ms;
    double grants; /* per second; see the help */
} top_row;

/* Lines of text, which may be more than the screen has. */
typedef struct {
    char **lines;
    size_t count;
} top_text;

typedef struct {
    snapshot *seen; /* NULL until the first snapshot */
    top_row *rows;  /* one for each lock of `seen`, sorted by name */
    size_t *shown;  /* the indices of the rows that match the filter, in the order of the screen */
    size_t row_count, shown_count;
    top_order order;
    top_view view;
    char filter[TOP_FILTER_SIZE], filter_before[TOP_FILTER_SIZE];
    char selected[TOP_NAME_SIZE]; /* the cursor stays on this lock when the order changes */
    size_t cursor, first;         /* indices into `shown`; `first` is on the first line */
    size_t page;                  /* the number of lines for rows or text */
    size_t scroll;                /* the first line of the text in DETAIL and HELP */
    char status[TOP_STATUS_SIZE]; /* why the last snapshot failed; "" if it did not */
    int64_t looked_ms;
} top;

/* top.c; top_exec.c or top_main.c */
extern const command top_command;
int top_run(int count, char **words);

/* top_rows.c: takes ownership of the snapshot. False: no memory, and nothing has changed. */
bool top_take(top *, snapshot *);
void top_arrange(top *); /* after a change of order, filter or rows */
void top_move(top *, int64_t by);
void top_free(top *);

/* top_keys.c: false: quit. `typed` is from get_wch(); is_key: a key code, not a character. */
bool top_key(top *, wint_t typed, bool is_key);

/* top_text.c: the lines of DETAIL and HELP. Without memory, lines are missing. */
top_text top_text_detail(const top *);
top_text top_text_help(void);
void top_text_free(top_text *);

/* top_screen.c */
bool top_screen_open(void); /* false: the terminal is not capable of it */
void top_screen_close(void);
void top_screen_draw(top *);

#endif
