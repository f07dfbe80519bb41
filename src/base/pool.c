/* See pool.h. */
#include "base/pool.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MOST = 1024 };

struct lki_pool_piece {
    struct lki_pool_piece *before;
    _Alignas(max_align_t) char bytes[];
};

void *lki_pool_new(lki_pool *pool, size_t size) {
    struct lki_pool_piece *piece = lki_new(sizeof *piece + size);
    if (!piece) {
        pool->failed = true;
        return NULL;
    }
    piece->before = pool->last;
    pool->last = piece;
    return piece->bytes;
}

const char *lki_pool_text(lki_pool *pool, const char *bytes, size_t length) {
    if (length > TEXT_MOST)
        length = TEXT_MOST;
    char *text = lki_pool_new(pool, length + 1);
    if (!text)
        return "";
    memcpy(text, bytes, length);
    lki_text_tame(text);
    return text;
}

const char *lki_pool_print(lki_pool *pool, const char *format, ...) {
    char text[TEXT_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return lki_pool_text(pool, text, strlen(text));
}

void lki_pool_free(lki_pool *pool) {
    while (pool->last) {
        struct lki_pool_piece *piece = pool->last;
        pool->last = piece->before;
        lki_free(piece);
    }
}
