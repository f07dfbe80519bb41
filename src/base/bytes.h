/*
 * A buffer of bytes that grows. If memory runs out, the buffer keeps its content and sets `failed`.
 * A zeroed struct is an empty buffer.
 */
#ifndef LKI_BYTES_H
#define LKI_BYTES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char *data;
    size_t length, room; /* bytes used, bytes allocated */
    bool failed;         /* an lki_bytes_add ran out of memory; lki_bytes_cut clears it */
} lki_bytes;

void lki_bytes_add(lki_bytes *, const void *data, size_t length); /* no effect after `failed` */
void lki_bytes_cut(lki_bytes *, size_t length);                   /* shortens it to this length */
void lki_bytes_free(lki_bytes *);

#endif
