/* See bytes.h. */
#include "base/bytes.h"

#include "base/memory.h"

#include <string.h>

enum { FIRST_ROOM = 1024 };

static bool make_room(lki_bytes *bytes, size_t more) {
    size_t room = bytes->room ? bytes->room : FIRST_ROOM;
    while (room - bytes->length < more)
        room *= 2;
    if (room == bytes->room)
        return true;
    char *data = lki_resize(bytes->data, room);
    if (!data)
        return false;
    bytes->data = data;
    bytes->room = room;
    return true;
}

void lki_bytes_add(lki_bytes *bytes, const void *data, size_t length) {
    if (!length || bytes->failed)
        return;
    if (!make_room(bytes, length)) {
        bytes->failed = true;
        return;
    }
    memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
}

void lki_bytes_cut(lki_bytes *bytes, size_t length) {
    bytes->length = length;
    bytes->failed = false;
}

void lki_bytes_free(lki_bytes *bytes) {
    lki_free(bytes->data);
    *bytes = (lki_bytes){0};
}
