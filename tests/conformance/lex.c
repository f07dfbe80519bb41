/* See lex.h. */
#include "lex.h"

#include "test_memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { REPEAT_MOST = 1000000 };

static bool ends_word(const char *at) {
    return *at == '\0' || isspace((unsigned char)*at) || *at == ',' || *at == '|';
}

static size_t mark_length(const char *at) {
    if ((at[0] == '-' || at[0] == '=') && at[1] == '>')
        return 2;
    return *at == ',' || *at == '|' ? 1 : 0;
}

/* The length of `key=`, or 0. */
static size_t key_length(const char *at) {
    size_t length = 0;
    while (isalpha((unsigned char)at[length]) || at[length] == '_')
        length++;
    return length > 0 && at[length] == '=' ? length + 1 : 0;
}

static const char *read_escape(const char **at, test_text *out) {
    static const char escapes[] = "n\nt\tr\r\\\\\"\"";
    char c = *(*at)++;
    if (c == 'x') {
        char digits[3] = {0};
        for (int i = 0; i < 2; i++) {
            if (!isxdigit((unsigned char)**at))
                return "\\x wants two hexadecimal digits";
            digits[i] = *(*at)++;
        }
        char byte = (char)strtoul(digits, NULL, 16);
        test_text_add(out, &byte, 1);
        return NULL;
    }
    for (const char *e = escapes; *e; e += 2) {
        if (*e == c) {
            test_text_add(out, e + 1, 1);
            return NULL;
        }
    }
    return "unknown escape; there are \\n \\t \\r \\\\ \\\" \\xHH";
}

/* "text", or "text"*count. */
static const char *read_piece(const char **at, test_text *out) {
    size_t start = out->length;
    for ((*at)++; **at != '"';) {
        if (**at == '\0')
            return "the quoted text has no end";
        if (**at == '\\') {
            (*at)++;
            const char *problem = read_escape(at, out);
            if (problem)
                return problem;
        } else {
            test_text_add(out, (*at)++, 1);
        }
    }
    (*at)++;
    if (**at != '*')
        return NULL;
    char *end;
    unsigned long count = strtoul(*at + 1, &end, 10);
    size_t length = out->length - start;
    if (end == *at + 1 || count > REPEAT_MOST || length == 0)
        return "\"text\"*N wants a text and a number up to 1000000";
    *at = end;
    char *piece = test_copy(out->bytes + start, length);
    out->length = start;
    for (unsigned long i = 0; i < count; i++)
        test_text_add(out, piece, length);
    free(piece);
    return NULL;
}

static const char *read_quoted(const char **at, test_text *out) {
    test_text_add(out, "", 0);
    for (;;) {
        const char *problem = read_piece(at, out);
        if (problem)
            return problem;
        if ((*at)[0] != '+' || (*at)[1] != '"')
            break;
        (*at)++;
    }
    return ends_word(*at) ? NULL : "something stands directly behind a quoted text";
}

static const char *read_token(const char **at, token *out) {
    size_t length = mark_length(*at);
    if (length > 0) {
        out->mark = true;
        out->text = test_copy(*at, length);
        out->length = length;
        *at += length;
        return NULL;
    }
    length = key_length(*at);
    if (length > 0) {
        out->key = test_copy(*at, length - 1);
        *at += length;
    }
    if ((*at)[0] == '~' && (*at)[1] == '"') {
        out->begins = true;
        (*at)++;
    }
    test_text text = {0};
    const char *problem = NULL;
    if (**at == '"') {
        out->quoted = true;
        problem = read_quoted(at, &text);
    } else {
        for (length = 0; !ends_word(*at + length) && (*at)[length] != '"'; length++) {}
        test_text_add(&text, *at, length);
        *at += length;
        if (**at == '"')
            problem = "a quote inside a word";
    }
    out->text = text.bytes;
    out->length = text.length;
    return problem;
}

const char *lex_line(const char *line, token_list *tokens) {
    for (;;) {
        while (isspace((unsigned char)*line))
            line++;
        if (*line == '\0' || *line == '#')
            return NULL;
        tokens->items = test_grow(tokens->items, tokens->count, sizeof *tokens->items);
        const char *problem = read_token(&line, &tokens->items[tokens->count++]);
        if (problem)
            return problem;
    }
}

void lex_clear(token_list *tokens) {
    for (size_t i = 0; i < tokens->count; i++) {
        free(tokens->items[i].key);
        free(tokens->items[i].text);
    }
    free(tokens->items);
    *tokens = (token_list){0};
}

bool token_is(const token *one, const char *word) {
    return token_is_plain(one) && !one->quoted && strcmp(one->text, word) == 0;
}

bool token_is_mark(const token *one, const char *mark) {
    return one->mark && strcmp(one->text, mark) == 0;
}

bool token_is_plain(const token *one) {
    return !one->mark && !one->key;
}
