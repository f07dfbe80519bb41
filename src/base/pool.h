/*
 * Pieces of memory that are freed together, for a result with many parts. If memory runs out, the
 * pool sets `failed`; whoever fills it checks that once, at the end. A zeroed struct is an empty
 * pool.
 */
#ifndef LKI_POOL_H
#define LKI_POOL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    struct lki_pool_piece *last;
    bool failed;
} lki_pool;

void *lki_pool_new(lki_pool *, size_t size); /* zeroed; NULL: out of memory */

/*
 * A copy of a text of a server: control bytes are replaced, as by lki_text_tame(), and a long text
 * is cut off. "" if memory runs out.
 */
const char *lki_pool_text(lki_pool *, const char *bytes, size_t length);
const char *lki_pool_print(lki_pool *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void lki_pool_free(lki_pool *);

#endif
