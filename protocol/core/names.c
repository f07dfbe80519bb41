/* See names.h. */
#include "names.h"
#include "memory.h"

#include <assert.h>

/* Every name has room for a handle, so that a spare one usually fits the next. */
enum { ROOM_LEAST = LKI_HANDLE_PACKED };

static int compare(const void *key, const lki_node *node) {
    const lki_name_key *a = key;
    const lki_name *b = LKI_NODE_OWNER(node, const lki_name, node);
    if (a->is_handle != b->is_handle)
        return a->is_handle ? 1 : -1;
    if (a->length != b->length)
        return a->length - b->length;
    return memcmp(a->bytes, b->bytes, a->length);
}

static lki_name_key key_of(const lki_name *name) {
    return (lki_name_key){name->bytes, name->length, name->is_handle};
}

static size_t size_of(size_t room) {
    return offsetof(lki_name, bytes) + room;
}

static void pack(const lki_handle *handle, char packed[LKI_HANDLE_PACKED]) {
    memcpy(packed, handle->client, sizeof handle->client);
    for (size_t i = sizeof handle->client; i < LKI_HANDLE_PACKED; i++)
        packed[i] =
            (char)(unsigned char)(handle->number >> (8 * (LKI_HANDLE_PACKED - 1 - i)) & 255);
}

static lki_handle unpack(const char *packed) {
    lki_handle handle = {.number = 0};
    memcpy(handle.client, packed, sizeof handle.client);
    for (size_t i = sizeof handle.client; i < LKI_HANDLE_PACKED; i++)
        handle.number = handle.number << 8 | (unsigned char)packed[i];
    return handle;
}

lki_name_key lki_owner_key(lki_text owner, const lki_handle *handle,
                           char packed[LKI_HANDLE_PACKED]) {
    lki_handle named;
    if (owner.length == 0)
        pack(handle, packed);
    else if (lki_handle_parse(owner, &named))
        pack(&named, packed);
    else
        return (lki_name_key){owner.bytes, (uint8_t)owner.length, false};
    return (lki_name_key){packed, LKI_HANDLE_PACKED, true};
}

lki_name_key lki_group_key(lki_text group) {
    return (lki_name_key){group.length ? group.bytes : "", (uint8_t)group.length, false};
}

void lki_names_init(lki_names *names) {
    *names = (lki_names){.tree.compare = compare};
}

static void give_memory(lki_lock *lock, lki_name *name) {
    if (name)
        lki_memory_give(lock, name, size_of(name->room));
}

void lki_names_free(lki_lock *lock, lki_names *names) {
    assert(!names->tree.root);
    give_memory(lock, names->spare);
    names->spare = NULL;
}

lki_name *lki_names_find(const lki_names *names, const lki_name_key *key) {
    lki_node *node = lki_tree_find(&names->tree, key);
    return node ? LKI_NODE_OWNER(node, lki_name, node) : NULL;
}

static lki_name *name_new(lki_lock *lock, lki_names *names, uint8_t length) {
    lki_name *name = names->spare;
    if (name && name->room >= length) {
        names->spare = NULL;
        return name;
    }
    uint8_t room = length > ROOM_LEAST ? length : ROOM_LEAST;
    name = lki_memory_take(lock, size_of(room));
    if (name)
        name->room = room;
    return name;
}

lki_name *lki_names_take(lki_lock *lock, lki_names *names, const lki_name_key *key) {
    lki_name *name = lki_names_find(names, key);
    if (name)
        return lki_name_share(name);
    name = name_new(lock, names, key->length);
    if (!name)
        return NULL;
    name->references = 1;
    name->count = 0;
    name->length = key->length;
    name->is_handle = key->is_handle;
    memcpy(name->bytes, key->bytes, key->length);
    lki_tree_insert(&names->tree, key, &name->node);
    return name;
}

lki_name *lki_name_share(lki_name *name) {
    name->references++;
    return name;
}

void lki_names_give(lki_lock *lock, lki_names *names, lki_name *name) {
    if (--name->references > 0)
        return;
    assert(name->count == 0);
    lki_name_key key = key_of(name);
    lki_tree_erase(&names->tree, &key, &name->node);
    if (names->spare && names->spare->room >= name->room) {
        give_memory(lock, name);
    } else { /* The roomier one is kept, as with records. */
        give_memory(lock, names->spare);
        names->spare = name;
    }
}

lki_text lki_name_text(const lki_name *name, char room[LKI_HANDLE_LENGTH + 1]) {
    if (!name->is_handle)
        return (lki_text){name->bytes, name->length};
    lki_handle handle = unpack(name->bytes);
    lki_handle_print(&handle, room);
    return (lki_text){room, LKI_HANDLE_LENGTH};
}
