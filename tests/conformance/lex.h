/* Cuts a line of a scenario file into tokens. Knows nothing of what they mean. */
#ifndef CONFORMANCE_LEX_H
#define CONFORMANCE_LEX_H

#include <stdbool.h>
#include <stddef.h>

/* A word, a quoted text, `key=` before either, or one of the marks -> => | and comma. */
typedef struct {
    bool mark;
    bool quoted;
    bool begins; /* ~"text": only the beginning is meant */
    char *key;   /* NULL: there is none */
    char *text;  /* without quotes, escapes and repetitions resolved; with a NUL behind */
    size_t length;
} token;

typedef struct {
    token *items;
    size_t count;
} token_list;

/* Appends the tokens of `line`. Returns NULL, or what is wrong, which lives as long as the program.
 */
const char *lex_line(const char *line, token_list *);
void lex_clear(token_list *);

bool token_is(const token *, const char *word); /* that word, unquoted and without a key */
bool token_is_mark(const token *, const char *mark);
bool token_is_plain(const token *); /* any word or text without a key */

#endif
