/* Bytes that grow. When memory runs out they stay as they are and remember it. */
#ifndef LKI_BYTES_H
#define LKI_BYTES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char *data;
    size_t length, room;
    bool failed; /* something could not be added; cleared by lki_bytes_cut */
} lki_bytes;

void lki_bytes_add(lki_bytes *, const void *data, size_t length);
void lki_bytes_cut(lki_bytes *, size_t length); /* back to this length */
void lki_bytes_free(lki_bytes *);

#endif
