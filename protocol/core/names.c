/* The texts of handles, and the interned names of names.h. */
#include "names.h"
#include "lock.h"

#include <assert.h>

/* Handles: <client>-<number>, in lower-case hexadecimal digits (SPEC 1.2). */

enum { NUMBER_LENGTH = LKC_HANDLE_LENGTH - LKC_CLIENT_LENGTH - 1 };

static const char digits[] = "0123456789abcdef";

/* -1: not a digit. */
static int digit_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool lkc_handle_parse(lkc_text text, lkc_handle *out) {
    if (text.length != LKC_HANDLE_LENGTH || text.bytes[LKC_CLIENT_LENGTH] != '-')
        return false;
    lkc_handle handle = {.number = 0};
    for (size_t i = 0; i < LKC_CLIENT_LENGTH; i += 2) {
        int high = digit_value(text.bytes[i]), low = digit_value(text.bytes[i + 1]);
        if (high < 0 || low < 0)
            return false;
        handle.client[i / 2] = (unsigned char)(high * 16 + low);
    }
    for (size_t i = LKC_CLIENT_LENGTH + 1; i < LKC_HANDLE_LENGTH; i++) {
        int value = digit_value(text.bytes[i]);
        if (value < 0)
            return false;
        handle.number = handle.number * 16 + (unsigned)value;
    }
    *out = handle;
    return true;
}

void lkc_handle_print(const lkc_handle *handle, char out[LKC_HANDLE_LENGTH + 1]) {
    for (size_t i = 0; i < sizeof handle->client; i++) {
        *out++ = digits[handle->client[i] / 16];
        *out++ = digits[handle->client[i] % 16];
    }
    *out++ = '-';
    for (int i = NUMBER_LENGTH - 1; i >= 0; i--)
        *out++ = digits[handle->number >> (4 * i) & 15];
    *out = '\0';
}

/* Names. */

/* Every name has room for a handle, so the spare name usually fits the next owner. */
enum { ROOM_LEAST = LKC_HANDLE_PACKED };

static int compare(const void *key, const lkc_node *node) {
    const lkc_name_key *a = key;
    const lkc_name *b = LKC_NODE_OWNER(node, const lkc_name, node);
    if (a->is_handle != b->is_handle)
        return a->is_handle ? 1 : -1;
    if (a->length != b->length)
        return a->length - b->length;
    return memcmp(a->bytes, b->bytes, a->length);
}

static lkc_name_key key_of(const lkc_name *name) {
    return (lkc_name_key){name->bytes, name->length, name->is_handle};
}

static size_t size_of(size_t room) {
    return offsetof(lkc_name, bytes) + room;
}

static void pack(const lkc_handle *handle, char packed[LKC_HANDLE_PACKED]) {
    memcpy(packed, handle->client, sizeof handle->client);
    for (size_t i = sizeof handle->client; i < LKC_HANDLE_PACKED; i++)
        packed[i] =
            (char)(unsigned char)(handle->number >> (8 * (LKC_HANDLE_PACKED - 1 - i)) & 255);
}

static lkc_handle unpack(const char *packed) {
    lkc_handle handle = {.number = 0};
    memcpy(handle.client, packed, sizeof handle.client);
    for (size_t i = sizeof handle.client; i < LKC_HANDLE_PACKED; i++)
        handle.number = handle.number << 8 | (unsigned char)packed[i];
    return handle;
}

lkc_name_key lkc_owner_key(lkc_text owner, const lkc_handle *handle,
                           char packed[LKC_HANDLE_PACKED]) {
    lkc_handle named;
    if (owner.length == 0)
        pack(handle, packed);
    else if (lkc_handle_parse(owner, &named))
        pack(&named, packed);
    else
        return (lkc_name_key){owner.bytes, (uint8_t)owner.length, false};
    return (lkc_name_key){packed, LKC_HANDLE_PACKED, true};
}

lkc_name_key lkc_group_key(lkc_text group) {
    return (lkc_name_key){group.length ? group.bytes : "", (uint8_t)group.length, false};
}

void lkc_names_init(lkc_names *names) {
    *names = (lkc_names){.tree.compare = compare};
}

static void give_memory(lkc_lock *lock, lkc_name *name) {
    if (name)
        lkc_memory_give(lock, name, size_of(name->room));
}

void lkc_names_free(lkc_lock *lock, lkc_names *names) {
    assert(!names->tree.root);
    give_memory(lock, names->spare);
    names->spare = NULL;
}

lkc_name *lkc_names_find(const lkc_names *names, const lkc_name_key *key) {
    lkc_node *node = lkc_tree_find(&names->tree, key);
    return node ? LKC_NODE_OWNER(node, lkc_name, node) : NULL;
}

static lkc_name *name_new(lkc_lock *lock, lkc_names *names, uint8_t length) {
    lkc_name *name = names->spare;
    if (name && name->room >= length) {
        names->spare = NULL;
        return name;
    }
    uint8_t room = length > ROOM_LEAST ? length : ROOM_LEAST;
    name = lkc_memory_take(lock, size_of(room));
    if (name)
        name->room = room;
    return name;
}

lkc_name *lkc_names_take(lkc_lock *lock, lkc_names *names, const lkc_name_key *key) {
    lkc_name *name = lkc_names_find(names, key);
    if (name)
        return lkc_name_share(name);
    name = name_new(lock, names, key->length);
    if (!name)
        return NULL;
    name->references = 1;
    name->count = 0;
    name->length = key->length;
    name->is_handle = key->is_handle;
    memcpy(name->bytes, key->bytes, key->length);
    lkc_tree_insert(&names->tree, key, &name->node);
    return name;
}

lkc_name *lkc_name_share(lkc_name *name) {
    name->references++;
    return name;
}

void lkc_names_give(lkc_lock *lock, lkc_names *names, lkc_name *name) {
    if (--name->references > 0)
        return;
    assert(name->count == 0);
    lkc_name_key key = key_of(name);
    lkc_tree_erase(&names->tree, &key, &name->node);
    if (names->spare && names->spare->room >= name->room) {
        give_memory(lock, name);
    } else { /* The one with more room is kept, as with records. */
        give_memory(lock, names->spare);
        names->spare = name;
    }
}

lkc_text lkc_name_text(const lkc_name *name, char room[LKC_HANDLE_LENGTH + 1]) {
    if (!name->is_handle)
        return (lkc_text){name->bytes, name->length};
    lkc_handle handle = unpack(name->bytes);
    lkc_handle_print(&handle, room);
    return (lkc_text){room, LKC_HANDLE_LENGTH};
}
